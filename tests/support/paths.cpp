#include "support/paths.h"

#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace clasp::test {
namespace {

namespace fs = std::filesystem;

// Removed by the process that made it; children that it forks share it.
class ScratchDir {
   public:
    ScratchDir()
        : owner_(::getpid()), path_(std::string(CLASP_SCRATCH_DIR) + "/scratch-" + std::to_string(owner_)) {
        fs::remove_all(path_);  // of a process with this number that crashed
        fs::create_directories(path_);
    }
    ScratchDir(const ScratchDir&) = delete;
    ScratchDir& operator=(const ScratchDir&) = delete;
    ~ScratchDir() {
        if (::getpid() != owner_) return;
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }

    [[nodiscard]] const char* path() const { return path_.c_str(); }

   private:
    pid_t owner_;
    std::string path_;
};

}  // namespace

const char* source_dir() {
    return CLASP_SOURCE_DIR;
}

const char* scratch_dir() {
    static const ScratchDir dir;
    return dir.path();
}

const char* llama_source_dir() {
    return CLASP_LLAMA_SOURCE_DIR;
}

}  // namespace clasp::test
