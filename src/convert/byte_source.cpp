#include "convert/byte_source.h"

#include "base/text.h"

namespace clasp::convert {

Result<std::string> ByteSource::read(std::uint64_t offset, std::size_t count) const {
    if (offset > size() || count > size() - offset) {
        return corrupt("its bytes from " + std::to_string(offset) + " on, " + std::to_string(count) +
                       " of them, are wanted, but it has " + std::to_string(size()));
    }
    CLASP_ASSIGN_OR_RETURN(std::string bytes, read_some(offset, count));
    if (bytes.size() != count) return corrupt("it became shorter while it was read");
    return bytes;
}

Status ByteSource::corrupt(const std::string& reason) const {
    return refused(Code::Corrupt, reason);
}

Status ByteSource::refused(Code code, const std::string& reason) const {
    return {code, base::path_in_quotes(path()) + ": " + reason};
}

std::uint64_t little_endian(std::string_view bytes, std::size_t at, std::size_t n_bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < n_bytes; ++i) {
        value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
    }
    return value;
}

}  // namespace clasp::convert
