// A checkpoint of Hugging Face's layout to a pair of GGUF files: text model and vision file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/status.h"

namespace clasp::convert {

// The names of types that can be asked for: "f32", "f16", "bf16", "q8_0", "q4_0", "q4_k".
std::vector<std::string_view> output_type_names();

struct ConvertProgress {
    std::string_view step;  // "checking", "writing"
    std::uint64_t done = 0;
    std::uint64_t total = 0;  // bytes
    std::string_view tensor = {};
};

struct ConvertOptions {
    std::string folder;
    std::string prefix;  // PREFIX.gguf, PREFIX-mmproj.gguf
    std::string type = "f16";
    std::string mmproj_type = "f16";
    std::string tokenizer_from = {};
    std::string vision_tower = {};
    bool force = false;  // replaces files that are there
    bool verify = true;  // checksums that came with the checkpoint
    std::size_t n_threads = 0;
    std::function<bool(const ConvertProgress&)> on_progress = {};  // false: stop
};

struct ConvertInput {
    std::string name;
    std::uint64_t bytes = 0;
    std::string sha256;  // empty when it was not computed
};

struct ConvertOutput {
    std::string path;
    std::string architecture;
    std::string type;
    std::uint64_t bytes = 0;
    std::size_t n_tensors = 0;
    std::string sha256;
};

struct ConvertReport {
    std::string family;
    std::vector<ConvertInput> inputs;
    ConvertOutput text;
    ConvertOutput vision;
    std::vector<std::string> notes;
};

std::string text_output_path(const std::string& prefix);
std::string vision_output_path(const std::string& prefix);

// Either both files are there in the end or, after any error, neither of them is new. Memory is some hundred
// MB, whatever the checkpoint's size.
Result<ConvertReport> convert(const ConvertOptions& options);

}  // namespace clasp::convert
