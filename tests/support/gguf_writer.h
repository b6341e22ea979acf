// Writes GGUF files for tests, independent of ggml's writer and of our reader, so that each is tested
// against the other. Keys and tensors appear in the order of the calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace clasp::test {

class GgufWriter {
   public:
    void u32(std::string_view key, std::uint32_t value) { scalar(key, 4, value); }
    void f32(std::string_view key, float value) { scalar(key, 6, value); }
    void flag(std::string_view key, bool value) { scalar(key, 7, static_cast<std::uint8_t>(value)); }
    void string(std::string_view key, std::string_view value) {
        begin(key, 8);
        put_string(keys_, value);
    }
    void f32_array(std::string_view key, const std::vector<float>& values) { array(key, 6, values); }
    void flag_array(std::string_view key, const std::vector<bool>& values) {
        array(key, 7, std::vector<std::uint8_t>(values.begin(), values.end()));
    }
    void i32_array(std::string_view key, const std::vector<std::int32_t>& values) { array(key, 5, values); }

    // produce() is called once, in order, when the file is written; it must return exactly n_bytes.
    void tensor(std::string_view name, const std::vector<std::int64_t>& shape, std::uint32_t ggml_type,
                std::size_t n_bytes, std::function<std::string()> produce) {
        put_string(table_, name);
        put(table_, static_cast<std::uint32_t>(shape.size()));
        for (const std::int64_t n : shape) put(table_, n);
        put(table_, ggml_type);
        put(table_, static_cast<std::uint64_t>(data_bytes_));
        data_bytes_ += padded(n_bytes);
        tensors_.push_back(std::move(produce));
    }

    void write(std::ostream& out) const {
        std::string head;
        put(head, std::uint32_t{0x46554747});
        put(head, std::uint32_t{3});
        put(head, static_cast<std::uint64_t>(tensors_.size()));
        put(head, n_keys_);
        head += keys_;
        head += table_;
        head.resize(padded(head.size()), '\0');
        out << head;
        for (const auto& produce : tensors_) {
            std::string data = produce();
            data.resize(padded(data.size()), '\0');
            out << data;
        }
    }

    template <typename T>
    static void put(std::string& to, const T& value) {
        to.append(reinterpret_cast<const char*>(&value), sizeof(value));
    }

   private:
    static constexpr std::size_t kAlignment = 32;
    static std::size_t padded(std::size_t n) { return (n + kAlignment - 1) / kAlignment * kAlignment; }
    static void put_string(std::string& to, std::string_view text) {
        put(to, static_cast<std::uint64_t>(text.size()));
        to += text;
    }
    void begin(std::string_view key, std::uint32_t type) {
        put_string(keys_, key);
        put(keys_, type);
        ++n_keys_;
    }
    template <typename T>
    void scalar(std::string_view key, std::uint32_t type, T value) {
        begin(key, type);
        put(keys_, value);
    }
    template <typename T>
    void array(std::string_view key, std::uint32_t type, const std::vector<T>& values) {
        begin(key, 9);
        put(keys_, type);
        put(keys_, static_cast<std::uint64_t>(values.size()));
        for (const T& value : values) put(keys_, value);
    }

    std::uint64_t n_keys_ = 0;
    std::string keys_;
    std::string table_;
    std::size_t data_bytes_ = 0;
    std::vector<std::function<std::string()>> tensors_;
};

}  // namespace clasp::test
