// A file that is there whole or not at all: it is written beside its place and moved there when it is
// finished, so that a reader sees the old file or the new one, never a part, and a full disk leaves nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "clasp/status.h"

namespace clasp::base {

// Whether a finished file must survive a power cut, which takes a disk some milliseconds, or only a failure.
enum class Flush : std::uint8_t { ToDisk, LeaveToSystem };

// Where a link leads, so that the file there is replaced or made and not the link; any other path as it is.
std::string write_target(const std::string& path);

// A link is followed and stays a link; a file that is replaced passes on its permissions. What is no file (a
// pipe, a terminal, /dev/null) is written to directly. Every error is not_found or unavailable, names the
// path and gives the system's reason.
class AtomicFile {
   public:
    static Result<AtomicFile> create(const std::string& path);
    ~AtomicFile();  // removes what was not committed
    AtomicFile(AtomicFile&& other) noexcept;
    AtomicFile& operator=(AtomicFile&&) = delete;
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;

    Status append(std::string_view bytes);
    // Brings the file to its place. Nothing may be appended afterwards.
    Status commit(Flush flush = Flush::ToDisk);

   private:
    AtomicFile(std::string path, std::string target) : path_(std::move(path)), target_(std::move(target)) {}
    [[nodiscard]] Status error(int number) const;
    void discard();

    std::string path_;       // as the caller names it, for messages
    std::string target_;     // what it stands for
    std::string temporary_;  // empty: written to directly
    int file_ = -1;
};

}  // namespace clasp::base
