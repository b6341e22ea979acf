#include "convert/gguf_keys.h"

#include <algorithm>
#include <cstring>

#include "base/file.h"

namespace clasp::convert {
namespace {

using model::GgufType;

constexpr std::uint32_t kGgufVersion = 3;

template <typename T>
void put(std::string& out, T value) {
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    out.append(bytes, sizeof(T));
}

void put_type(std::string& out, GgufType type) {
    put(out, static_cast<std::uint32_t>(type));
}

void put_text(std::string& out, std::string_view text) {
    put(out, std::uint64_t{text.size()});
    out += text;
}

void put_array(std::string& out, GgufType type, std::uint64_t count) {
    put_type(out, GgufType::Array);
    put_type(out, type);
    put(out, count);
}

}  // namespace

std::string& GgufKeys::value_of(std::string_view key) {
    const auto known = std::find_if(keys_.begin(), keys_.end(), [&](const Key& k) { return k.name == key; });
    if (known == keys_.end()) return keys_.emplace_back(Key{std::string(key), ""}).value;
    known->value.clear();
    return known->value;
}

void GgufKeys::set_text(std::string_view key, std::string_view value) {
    std::string& out = value_of(key);
    put_type(out, GgufType::String);
    put_text(out, value);
}

void GgufKeys::set_u32(std::string_view key, std::uint64_t value) {
    std::string& out = value_of(key);
    put_type(out, GgufType::U32);
    put(out, static_cast<std::uint32_t>(value));
}

void GgufKeys::set_f32(std::string_view key, double value) {
    std::string& out = value_of(key);
    put_type(out, GgufType::F32);
    put(out, static_cast<float>(value));
}

void GgufKeys::set_flag(std::string_view key, bool value) {
    std::string& out = value_of(key);
    put_type(out, GgufType::Bool);
    put(out, static_cast<std::uint8_t>(value ? 1 : 0));
}

void GgufKeys::set_texts(std::string_view key, std::span<const std::string> values) {
    std::string& out = value_of(key);
    put_array(out, GgufType::String, values.size());
    for (const std::string& value : values) put_text(out, value);
}

void GgufKeys::set_floats(std::string_view key, std::span<const float> values) {
    std::string& out = value_of(key);
    put_array(out, GgufType::F32, values.size());
    for (const float value : values) put(out, value);
}

void GgufKeys::set_integers(std::string_view key, std::span<const std::int32_t> values) {
    std::string& out = value_of(key);
    put_array(out, GgufType::I32, values.size());
    for (const std::int32_t value : values) put(out, value);
}

void GgufKeys::set_copy(const model::GgufEntry& entry) {
    std::string& out = value_of(entry.key);
    if (entry.is_array) {
        put_array(out, entry.element, entry.count);
    } else {
        put_type(out, entry.element);
    }
    out += base::as_text(entry.data);
}

void GgufKeys::append(const GgufKeys& others) {
    for (const Key& key : others.keys_) value_of(key.name) = key.value;
}

std::string GgufKeys::bytes() const {
    std::string out;
    for (const Key& key : keys_) {
        put_text(out, key.name);
        out += key.value;
    }
    return out;
}

std::uint64_t gguf_padding(std::uint64_t n_bytes) {
    return (kGgufAlignment - n_bytes % kGgufAlignment) % kGgufAlignment;
}

std::string gguf_head(const GgufKeys& keys, std::span<const GgufTensorPlace> tensors) {
    std::string out = "GGUF";
    put(out, kGgufVersion);
    put(out, std::uint64_t{tensors.size()});
    put(out, std::uint64_t{keys.size()});
    out += keys.bytes();
    std::uint64_t offset = 0;
    for (const GgufTensorPlace& tensor : tensors) {
        put_text(out, tensor.name);
        put(out, static_cast<std::uint32_t>(tensor.shape.size()));
        for (const std::uint64_t extent : tensor.shape) put(out, extent);
        put(out, static_cast<std::uint32_t>(tensor.type));
        put(out, offset);
        offset += tensor.n_bytes + gguf_padding(tensor.n_bytes);
    }
    out.append(static_cast<std::size_t>(gguf_padding(out.size())), '\0');
    return out;
}

}  // namespace clasp::convert
