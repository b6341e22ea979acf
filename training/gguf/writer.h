// Writes a GGUF version 3 file: keys, then tensors in F32 or F16.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "clasp/status.h"

namespace clasp::training {

class GgufWriter {
   public:
    void set(const std::string& key, const char* value) { set(key, std::string(value)); }
    void set(const std::string& key, const std::string& value);
    void set(const std::string& key, std::uint32_t value);
    // GGUF's sizes and token numbers are unsigned.
    void set(const std::string& key, int value) { set(key, static_cast<std::uint32_t>(value)); }
    void set(const std::string& key, float value);
    void set(const std::string& key, bool value);
    void set(const std::string& key, const std::vector<std::string>& values);
    void set(const std::string& key, const std::vector<std::int32_t>& values);
    void set(const std::string& key, const std::vector<float>& values);

    enum class Type : std::uint32_t { F32 = 0, F16 = 1 };

    // `shape` in ggml's order: the contiguous dimension first. The values are copied.
    void add_tensor(const std::string& name, std::vector<std::uint64_t> shape, std::span<const float> values,
                    Type type);

    // The whole file.
    std::string bytes() const;
    // Writes to a temporary name and renames.
    Status write(const std::string& path) const;

   private:
    struct Tensor {
        std::string name;
        std::vector<std::uint64_t> shape;
        Type type;
        std::string bytes;
    };

    void begin_key(const std::string& key, std::uint32_t type);

    std::string keys_;  // already in the file's form
    std::uint64_t key_count_ = 0;
    std::vector<Tensor> tensors_;
};

}  // namespace clasp::training
