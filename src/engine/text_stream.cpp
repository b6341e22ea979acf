#include "engine/text_stream.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace clasp::engine {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kSpaces = " \t\r\n";

struct Character {
    std::size_t length;  // bytes; of a bad one, those to replace together
    enum { Whole, Partial, Bad } state;
};

// The character at the front of non-empty bytes. The ranges leave out overlong forms, surrogates and
// numbers above U+10FFFF.
Character front(std::string_view bytes) {
    const auto at = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
    const std::uint8_t first = at(0);
    if (first < 0x80) return {1, Character::Whole};
    if (first < 0xC2 || first > 0xF4) return {1, Character::Bad};
    const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    for (std::size_t i = 1; i < length; ++i) {
        if (i == bytes.size()) return {i, Character::Partial};
        const bool is_second = i == 1;
        const std::uint8_t low = is_second && first == 0xE0 ? 0xA0 : is_second && first == 0xF0 ? 0x90 : 0x80;
        const std::uint8_t high = is_second && first == 0xED   ? 0x9F
                                  : is_second && first == 0xF4 ? 0x8F
                                                               : 0xBF;
        if (at(i) < low || at(i) > high) return {i, Character::Bad};
    }
    return {length, Character::Whole};
}

}  // namespace

std::string TextStream::push(std::string_view bytes) {
    bytes_ += bytes;
    std::string text;
    std::size_t done = 0;
    while (done < bytes_.size()) {
        const std::string_view rest = std::string_view(bytes_).substr(done);
        const Character character = front(rest);
        if (character.state == Character::Partial) break;
        text += character.state == Character::Whole ? rest.substr(0, character.length) : kReplacement;
        done += character.length;
    }
    bytes_.erase(0, done);
    return release(until_stop(std::move(text)));
}

std::string TextStream::finish() {
    const bool is_cut = !bytes_.empty();
    bytes_.clear();
    std::string text = until_stop(is_cut ? std::string(kReplacement) : std::string());
    text += std::exchange(held_, {});
    text = release(std::move(text));
    space_.clear();
    return text;
}

std::string TextStream::until_stop(std::string text) {
    if (has_stopped_) return {};
    if (stops_.empty()) return text;
    text.insert(0, std::exchange(held_, {}));
    // The one that is complete first, so that it does not matter how the text was cut into tokens.
    std::size_t begin = 0;
    std::size_t end = std::string::npos;
    for (const std::string& stop : stops_) {
        const std::size_t at = text.find(stop);
        if (at == std::string::npos || at + stop.size() > end) continue;
        if (at + stop.size() < end || at < begin) {
            begin = at;
            stop_text_ = stop;
        }
        end = at + stop.size();
    }
    if (end != std::string::npos) {
        has_stopped_ = true;
        text.resize(begin);
        return text;
    }
    // The longest end of the text that begins a stop text.
    std::size_t n_held = 0;
    for (const std::string& stop : stops_) {
        for (std::size_t n = std::min(stop.size() - 1, text.size()); n > n_held; --n) {
            if (text.ends_with(std::string_view(stop).substr(0, n))) n_held = n;
        }
    }
    held_ = text.substr(text.size() - n_held);
    text.resize(text.size() - n_held);
    return text;
}

std::string TextStream::release(std::string text) {
    if (keeps_space_) return text;
    text.insert(0, std::exchange(space_, {}));
    const std::size_t last = text.find_last_not_of(kSpaces);
    const std::size_t end = last == std::string::npos ? 0 : last + 1;
    space_ = text.substr(end);
    text.resize(end);
    if (!has_begun_) {
        text.erase(0, text.find_first_not_of(kSpaces));
        if (text.empty()) space_.clear();
        has_begun_ = !text.empty();
    }
    return text;
}

}  // namespace clasp::engine
