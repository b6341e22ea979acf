#include "video/byte_source.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/sha256.h"

namespace clasp::video {

std::int64_t ByteSource::read(std::uint64_t offset, std::uint8_t* out, std::size_t count) const {
    if (offset >= size()) return 0;
    count = static_cast<std::size_t>(std::min<std::uint64_t>(count, size() - offset));
    if (!file_) {
        std::memcpy(out, bytes_.data() + offset, count);
        return static_cast<std::int64_t>(count);
    }
    std::size_t done = 0;
    while (done < count) {
        const ssize_t n =
            ::pread(file_->descriptor(), out + done, count - done, static_cast<off_t>(offset + done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return -1;
        if (n == 0) break;  // somebody cut the file
        done += static_cast<std::size_t>(n);
    }
    return static_cast<std::int64_t>(done);
}

std::string ByteSource::identity() const {
    if (!file_) return base::sha256_hex(bytes_);
    struct stat about = {};
    std::string text = file_->path() + "\n" + std::to_string(file_->size());
    if (::fstat(file_->descriptor(), &about) == 0) {
        for (const auto number :
             {static_cast<long long>(about.st_dev), static_cast<long long>(about.st_ino),
              static_cast<long long>(about.st_mtim.tv_sec), static_cast<long long>(about.st_mtim.tv_nsec)}) {
            text += "\n" + std::to_string(number);
        }
    }
    return base::sha256_hex(text);
}

}  // namespace clasp::video
