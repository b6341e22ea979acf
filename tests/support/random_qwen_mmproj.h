// Vision files in the formats of Qwen2-VL, Qwen2.5-VL and Qwen3-VL with random weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "ggml.h"

namespace clasp::test {

enum class QwenKind : std::uint8_t { Qwen2, Qwen25, Qwen3 };

struct QwenMmprojSpec {
    QwenKind kind = QwenKind::Qwen25;
    std::size_t image_size = 112;
    std::size_t patch_size = 14;
    std::size_t width = 64;
    std::size_t n_heads = 4;
    std::size_t ffn_width = 60;  // no multiple of 8 on purpose: the real 3420 is none either
    std::size_t n_blocks = 4;
    std::size_t window_pattern = 2;  // of Qwen2.5
    std::size_t output_width = 64;
    ggml_type matrix_type = GGML_TYPE_F32;
    bool swapped_ffn_names = false;            // as early files of Qwen2-VL have them
    std::vector<std::size_t> deepstack = {1};  // of Qwen3: blocks with a merger of their own
    bool is_omni = false;  // of Qwen2.5: a file of Qwen2.5-Omni, with a tensor of its tower for sound
    std::uint64_t seed = 1;
};

void write_random_qwen_mmproj(const QwenMmprojSpec& spec, std::ostream& out);
std::string random_qwen_mmproj(const QwenMmprojSpec& spec);

}  // namespace clasp::test
