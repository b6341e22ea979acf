// The words of a question and of its pictures, as people give them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "clasp/engine.h"
#include "clasp/status.h"
#include "cli/command.h"

namespace clasp::cli {

// Error: no question, a blank one, or pictures and question in the wrong order.
Status check_pictures_and_question(const std::vector<std::string>& pictures, const std::string& question);

// Whether there is a file, or a folder of frames; what is in it is seen when it is asked about. Errors: as
// base::InputFile.
Status check_picture(const std::string& path);

// Error: what is written to `path` would take the place of one of the pictures that are asked about.
Status check_spares_pictures(const std::string& path, const std::vector<std::string>& words);

// Where the pictures come from. Bytes of standard input live here, so keep it as long as the request.
struct Pictures {
    std::vector<ImageSource> sources;
    std::string from_stdin;
};
// "-" is standard input, read up to the limit of a picture file; other words are looked at, not read. Errors:
// as check_picture(), too_large, unavailable, corrupt (nothing came).
Result<std::unique_ptr<Pictures>> read_pictures(const std::vector<std::string>& words,
                                                const Console& console);

}  // namespace clasp::cli
