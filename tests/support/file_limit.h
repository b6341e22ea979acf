// A disk that is full, without one: no file of this process may grow beyond a number of bytes while the limit
// stands, and a write beyond it fails as on a full disk.
#pragma once

#include <sys/resource.h>

#include <csignal>

namespace clasp::test {

class FileLimit {
   public:
    explicit FileLimit(rlim_t max_bytes) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
        getrlimit(RLIMIT_FSIZE, &old_);
        const rlimit limit = {max_bytes, old_.rlim_max};
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~FileLimit() {
        setrlimit(RLIMIT_FSIZE, &old_);
        std::signal(SIGXFSZ, old_handler_);
    }
    FileLimit(const FileLimit&) = delete;
    FileLimit& operator=(const FileLimit&) = delete;

   private:
    rlimit old_ = {};
    void (*old_handler_)(int);
};

}  // namespace clasp::test
