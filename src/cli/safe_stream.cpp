#include "cli/safe_stream.h"

#include <algorithm>
#include <limits>

#include "base/text.h"

namespace clasp::cli {

namespace {

constexpr std::size_t kMostPending = 4096;

// Bytes at the end that begin a character without ending it.
std::size_t unfinished_tail(std::string_view text) {
    constexpr std::size_t kLongestCharacter = 4;
    for (std::size_t n = 1; n < kLongestCharacter && n <= text.size(); ++n) {
        const auto byte = static_cast<unsigned char>(text[text.size() - n]);
        if ((byte & 0xC0U) == 0x80U) continue;  // inside a character
        const std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
        return length > n ? n : 0;
    }
    return 0;
}

}  // namespace

SafeBuffer::~SafeBuffer() {
    drain(true);
}

SafeBuffer::int_type SafeBuffer::overflow(int_type character) {
    if (traits_type::eq_int_type(character, traits_type::eof())) return traits_type::not_eof(character);
    const char c = traits_type::to_char_type(character);
    return xsputn(&c, 1) == 1 ? character : traits_type::eof();
}

std::streamsize SafeBuffer::xsputn(const char* text, std::streamsize n) {
    pending_.append(text, static_cast<std::size_t>(n));
    if (pending_.size() > kMostPending && !drain(false)) return 0;
    return n;
}

int SafeBuffer::sync() {
    const bool is_written = drain(false);
    target_.flush();
    return is_written && target_ ? 0 : -1;
}

bool SafeBuffer::drain(bool is_end) {
    const std::size_t held = is_end ? 0 : unfinished_tail(pending_);
    const std::string_view ready = std::string_view(pending_).substr(0, pending_.size() - held);
    target_ << base::printable(ready, std::numeric_limits<std::size_t>::max(), base::Lines::Keep);
    pending_.erase(0, ready.size());
    return static_cast<bool>(target_);
}

}  // namespace clasp::cli
