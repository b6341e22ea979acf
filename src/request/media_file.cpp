#include "request/media_file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <vector>

#include "base/invalid.h"
#include "base/text.h"

namespace clasp::request {

namespace {

using base::invalid;

constexpr std::string_view kScheme = "file://";

class Descriptor {
   public:
    explicit Descriptor(int number) : number_(number) {}
    ~Descriptor() {
        if (number_ >= 0) close(number_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    Descriptor(Descriptor&& other) noexcept : number_(other.number_) { other.number_ = -1; }
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    [[nodiscard]] int number() const { return number_; }

   private:
    int number_;
};

// Without links at all, one folder after the other: for kernels before 5.6.
Descriptor open_by_parts(int folder, const std::string& path, int flags) {
    Descriptor here(dup(folder));
    const std::vector<std::string_view> parts = base::split(path, '/');
    for (std::size_t i = 0; i < parts.size() && here.number() >= 0; ++i) {
        const std::string part(parts[i]);
        const int how = i + 1 < parts.size() ? O_PATH | O_DIRECTORY : flags;
        here = Descriptor(openat(here.number(), part.c_str(), how | O_NOFOLLOW | O_CLOEXEC));
    }
    return here;
}

Descriptor open_below(int folder, const std::string& path, int flags) {
    open_how how{};
    how.flags = static_cast<decltype(how.flags)>(flags | O_CLOEXEC);
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    const long opened = syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how);
    if (opened >= 0) return Descriptor(static_cast<int>(opened));
    // A sandbox may forbid the call with EPERM.
    if (errno != ENOSYS && errno != EPERM) return Descriptor(-1);
    return open_by_parts(folder, path, flags);
}

// The file itself, once it is certain that it is a regular one: to open a device or a pipe has effects.
Descriptor open_regular(int folder, const std::string& path, struct stat& status) {
    const Descriptor looked_at = open_below(folder, path, O_PATH);
    struct stat seen {};
    if (looked_at.number() < 0 || fstat(looked_at.number(), &seen) != 0 || !S_ISREG(seen.st_mode))
        return Descriptor(-1);
    Descriptor file = open_below(folder, path, O_RDONLY | O_NONBLOCK);
    const bool is_same = file.number() >= 0 && fstat(file.number(), &status) == 0 &&
                         status.st_dev == seen.st_dev && status.st_ino == seen.st_ino;
    return is_same ? std::move(file) : Descriptor(-1);
}

Status too_large(std::size_t max_bytes) {
    return {Code::TooLarge, "the picture has more than the limit of " + std::to_string(max_bytes) + " bytes"};
}

}  // namespace

Result<std::string> media_path(std::string_view name, const std::string& folder) {
    if (base::lower(name.substr(0, kScheme.size())) == kScheme) name.remove_prefix(kScheme.size());
    if (name.find('\0') != std::string_view::npos || name.find('\\') != std::string_view::npos ||
        base::lower(std::string(name)).find("%2e") != std::string::npos) {
        return invalid("the path of a picture has no NUL, no backslash and no %2e");
    }
    std::error_code error;
    std::string root = std::filesystem::absolute(folder, error).lexically_normal().string();
    while (root.size() > 1 && root.ends_with('/')) root.pop_back();
    if (!error && name.starts_with(root) && name.substr(root.size()).starts_with('/'))
        name.remove_prefix(root.size());
    std::string path;
    for (const std::string_view part : base::split(name, '/')) {
        if (part.empty() || part == ".") continue;
        if (part == "..") return invalid("the path of a picture has no ..");
        path += (path.empty() ? "" : "/") + std::string(part);
    }
    if (path.empty()) return invalid("the path of a picture is empty");
    return path;
}

Result<std::string> read_media_file(std::string_view name, const std::string& folder, std::size_t max_bytes) {
    CLASP_ASSIGN_OR_RETURN(const std::string path, media_path(name, folder));
    const Status missing(Code::NotFound,
                         "there is no picture " + base::in_quotes(path) + " below --media-path");
    const Descriptor root(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (root.number() < 0) return missing;
    struct stat status {};
    const Descriptor file = open_regular(root.number(), path, status);
    if (file.number() < 0) return missing;
    if (static_cast<std::size_t>(status.st_size) > max_bytes) return too_large(max_bytes);
    std::string bytes;
    std::array<char, 65536> piece{};
    for (;;) {
        const ssize_t n = read(file.number(), piece.data(), piece.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return missing;
        if (n == 0) break;
        bytes.append(piece.data(), static_cast<std::size_t>(n));
        if (bytes.size() > max_bytes) return too_large(max_bytes);
    }
    if (bytes.empty()) return invalid("the picture has no bytes");
    return bytes;
}

}  // namespace clasp::request
