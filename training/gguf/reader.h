// Reads what GgufWriter writes: numbers, texts and lists of texts by key, tensors in F32 or F16.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/status.h"

namespace clasp::training {

class GgufReader {
   public:
    // Owns the bytes. An error does not name the file, which the caller knows.
    static Result<GgufReader> parse(std::string bytes);

    const std::string& bytes() const { return bytes_; }

    // The value of a key, or an error that names it.
    Result<std::uint32_t> number(const std::string& key) const;
    Result<std::vector<std::string>> texts(const std::string& key) const;

    // The values of a tensor of this shape (ggml's order), halves widened.
    Result<std::vector<float>> tensor(const std::string& name, const std::vector<std::uint64_t>& shape) const;

   private:
    struct Tensor {
        std::vector<std::uint64_t> shape;
        bool is_half = false;
        std::size_t begin = 0;  // in bytes_
        std::size_t count = 0;  // values
    };

    class Cursor;
    void read_value(Cursor& in, const std::string& key);
    Tensor read_tensor(Cursor& in, std::string& name);

    std::string bytes_;
    std::map<std::string, std::uint32_t> numbers_;
    std::map<std::string, std::vector<std::string>> texts_;
    std::map<std::string, Tensor> tensors_;
};

}  // namespace clasp::training
