// Video files through FFmpeg's libraries, which the module of ffmpeg_module.h brings.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "clasp/status.h"
#include "video/byte_source.h"
#include "video/clip.h"
#include "video/ffmpeg_module.h"

namespace clasp::video {

// Loaded once per process, when it is first asked for. Error: unavailable, with what to do about it.
Result<const ClaspFfmpeg*> ffmpeg();

// Where the module is looked for, in this order: the file that CLASP_FFMPEG_MODULE names, beside the program,
// in its folder of libraries, and where it was built.
std::vector<std::string> ffmpeg_places();
const char* built_ffmpeg_module();

// format is one that sniff_video() gives. Errors: unavailable (no module), corrupt, too_large, unsupported (a
// coding that is not decoded), cancelled.
Result<std::unique_ptr<Clip>> open_video(ByteSource source, ClipFormat format, const ClipOptions& options);

}  // namespace clasp::video
