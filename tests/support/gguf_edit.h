// A GGUF file taken apart, to be changed and put together again: for tests of files that are not as they
// should be.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/gguf_reader.h"
#include "support/gguf_writer.h"

namespace clasp::test {

struct EditedKey {
    std::string name;
    std::string value;  // its type and its bytes, as in the file

    template <typename T>
    void set(model::GgufType type, T number) {
        value.clear();
        GgufWriter::put(value, static_cast<std::uint32_t>(type));
        GgufWriter::put(value, number);
    }
    void set_numbers(const std::vector<std::int32_t>& numbers) {
        value.clear();
        GgufWriter::put(value, static_cast<std::uint32_t>(model::GgufType::Array));
        GgufWriter::put(value, static_cast<std::uint32_t>(model::GgufType::I32));
        GgufWriter::put(value, static_cast<std::uint64_t>(numbers.size()));
        for (const std::int32_t number : numbers) GgufWriter::put(value, number);
    }
    void set_text(std::string_view text) {
        value.clear();
        GgufWriter::put(value, static_cast<std::uint32_t>(model::GgufType::String));
        GgufWriter::put(value, static_cast<std::uint64_t>(text.size()));
        value += text;
    }
};

struct EditedTensor {
    std::string name;
    std::vector<std::int64_t> shape;
    std::uint32_t type = 0;
    std::string data;
};

struct EditedGguf {
    std::vector<EditedKey> keys;
    std::vector<EditedTensor> tensors;
    std::size_t alignment = 32;
    std::size_t gap = 0;  // bytes left free before the second tensor, in units of the alignment

    // The bytes must be a sound file.
    static EditedGguf parse(std::string_view bytes) {
        const auto reader = model::GgufReader::parse(std::as_bytes(std::span(bytes.data(), bytes.size())));
        EditedGguf file;
        for (const model::GgufEntry& entry : reader->entries()) {
            EditedKey key{std::string(entry.key), ""};
            if (entry.is_array) {
                GgufWriter::put(key.value, static_cast<std::uint32_t>(model::GgufType::Array));
                GgufWriter::put(key.value, static_cast<std::uint32_t>(entry.element));
                GgufWriter::put(key.value, entry.count);
            } else {
                GgufWriter::put(key.value, static_cast<std::uint32_t>(entry.element));
            }
            key.value.append(reinterpret_cast<const char*>(entry.data.data()), entry.data.size());
            file.keys.push_back(std::move(key));
        }
        for (const model::GgufTensor& tensor : reader->tensors()) {
            file.tensors.push_back(
                {std::string(tensor.name),
                 {tensor.shape.begin(), tensor.shape.begin() + static_cast<std::ptrdiff_t>(tensor.n_dims)},
                 static_cast<std::uint32_t>(tensor.type),
                 std::string(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size())});
        }
        return file;
    }

    // Adds it if it is not there.
    EditedKey& key(std::string_view name) {
        for (EditedKey& key : keys) {
            if (key.name == name) return key;
        }
        keys.push_back({std::string(name), ""});
        return keys.back();
    }
    EditedTensor* tensor(std::string_view name) {
        for (EditedTensor& tensor : tensors) {
            if (tensor.name == name) return &tensor;
        }
        return nullptr;
    }

    [[nodiscard]] std::string bytes() const {
        EditedGguf whole = *this;
        if (alignment != 32) {
            whole.key("general.alignment").set(model::GgufType::U32, static_cast<std::uint32_t>(alignment));
        }
        std::string out;
        GgufWriter::put(out, std::uint32_t{0x46554747});
        GgufWriter::put(out, std::uint32_t{3});
        GgufWriter::put(out, static_cast<std::uint64_t>(whole.tensors.size()));
        GgufWriter::put(out, static_cast<std::uint64_t>(whole.keys.size()));
        for (const EditedKey& key : whole.keys) {
            put_text(out, key.name);
            out += key.value;
        }
        std::string data;
        for (std::size_t i = 0; i < whole.tensors.size(); ++i) {
            const EditedTensor& tensor = whole.tensors[i];
            if (i == 1) data.resize(data.size() + gap * alignment, '\0');
            put_text(out, tensor.name);
            GgufWriter::put(out, static_cast<std::uint32_t>(tensor.shape.size()));
            for (const std::int64_t n : tensor.shape) GgufWriter::put(out, n);
            GgufWriter::put(out, tensor.type);
            GgufWriter::put(out, static_cast<std::uint64_t>(data.size()));
            data += tensor.data;
            data.resize((data.size() + alignment - 1) / alignment * alignment, '\0');
        }
        out.resize((out.size() + alignment - 1) / alignment * alignment, '\0');
        return out + data;
    }

   private:
    static void put_text(std::string& to, std::string_view text) {
        GgufWriter::put(to, static_cast<std::uint64_t>(text.size()));
        to += text;
    }
};

}  // namespace clasp::test
