// Vision layers and prefixes on disk: one folder, which takes so many bytes of them at most. The least
// recently used go first; whatever else is in the folder stays.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "clasp/log.h"

namespace clasp::engine {

// Thread safe. Other processes may use the folder meanwhile.
class KeptFiles {
   public:
    // dir empty: nothing is kept. max_bytes: of all vision layers and prefixes there; 0: no limit.
    KeptFiles(std::string dir, std::size_t max_bytes, LogSink log);

    [[nodiscard]] bool is_off() const { return dir_.empty(); }
    [[nodiscard]] std::string path_of(const std::string& name) const;

    // A file's bytes; nothing when it is not there, or cannot be read, which the log is told.
    [[nodiscard]] std::optional<std::string> read(const std::string& name, std::size_t limit_bytes) const;
    // It was of use: others go before it.
    void touch(const std::string& name) const;
    // A whole file instead of the one before; what does not fit or cannot be written is told to the log.
    void write(const std::string& name, std::string_view bytes);

   private:
    void make_room(std::size_t n_written);

    std::string dir_;
    std::size_t max_bytes_;
    LogSink log_;
    std::mutex mutex_;
    // As the folder was when it was last listed, and what was written since; nothing: never listed.
    std::optional<std::size_t> n_listed_;
    std::size_t n_since_ = 0;
};

}  // namespace clasp::engine
