#include "gguf/writer.h"

#include <cstring>

#include "base/file.h"
#include "base/float_convert.h"
#include "gguf/format.h"

namespace clasp::training {
namespace {

using namespace gguf;

template <typename T>
void append(std::string& out, const T& value) {
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    out.append(bytes, sizeof(T));
}

void append_text(std::string& out, const std::string& text) {
    append<std::uint64_t>(out, text.size());
    out += text;
}

}  // namespace

void GgufWriter::begin_key(const std::string& key, std::uint32_t type) {
    append_text(keys_, key);
    append(keys_, type);
    ++key_count_;
}

void GgufWriter::set(const std::string& key, const std::string& value) {
    begin_key(key, kString);
    append_text(keys_, value);
}

void GgufWriter::set(const std::string& key, std::uint32_t value) {
    begin_key(key, kU32);
    append(keys_, value);
}

void GgufWriter::set(const std::string& key, float value) {
    begin_key(key, kF32);
    append(keys_, value);
}

void GgufWriter::set(const std::string& key, bool value) {
    begin_key(key, kBool);
    append<std::uint8_t>(keys_, value ? 1 : 0);
}

void GgufWriter::set(const std::string& key, const std::vector<std::string>& values) {
    begin_key(key, kArray);
    append<std::uint32_t>(keys_, kString);
    append<std::uint64_t>(keys_, values.size());
    for (const std::string& value : values) append_text(keys_, value);
}

void GgufWriter::set(const std::string& key, const std::vector<std::int32_t>& values) {
    begin_key(key, kArray);
    append<std::uint32_t>(keys_, kI32);
    append<std::uint64_t>(keys_, values.size());
    for (const std::int32_t value : values) append(keys_, value);
}

void GgufWriter::set(const std::string& key, const std::vector<float>& values) {
    begin_key(key, kArray);
    append<std::uint32_t>(keys_, kF32);
    append<std::uint64_t>(keys_, values.size());
    for (const float value : values) append(keys_, value);
}

void GgufWriter::add_tensor(const std::string& name, std::vector<std::uint64_t> shape,
                            std::span<const float> values, Type type) {
    Tensor tensor{name, std::move(shape), type, {}};
    for (const float value : values) {
        if (type == Type::F16)
            append(tensor.bytes, base::float_to_half(value));
        else
            append(tensor.bytes, value);
    }
    tensors_.push_back(std::move(tensor));
}

std::string GgufWriter::bytes() const {
    std::string out = "GGUF";
    append(out, kVersion);
    append<std::uint64_t>(out, tensors_.size());
    append(out, key_count_);
    out += keys_;
    std::uint64_t offset = 0;
    for (const Tensor& tensor : tensors_) {
        append_text(out, tensor.name);
        append<std::uint32_t>(out, static_cast<std::uint32_t>(tensor.shape.size()));
        for (const std::uint64_t extent : tensor.shape) append(out, extent);
        append(out, static_cast<std::uint32_t>(tensor.type));
        append(out, offset);
        offset += padded(tensor.bytes.size());
    }
    out.resize(padded(out.size()), '\0');
    for (const Tensor& tensor : tensors_) {
        out += tensor.bytes;
        out.resize(padded(out.size()), '\0');
    }
    return out;
}

Status GgufWriter::write(const std::string& path) const {
    return base::write_file_atomic(path, bytes());
}

}  // namespace clasp::training
