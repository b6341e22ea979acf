// A small text model and vision file of one of Qwen's families, for tests of whole requests.
#pragma once

#include <string>

#include "support/random_llama.h"
#include "support/random_qwen_mmproj.h"

namespace clasp::test {

// What chat templates and pictures are marked with.
inline std::vector<std::string> qwen_marks() {
    return {"<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>"};
}

// In rows that every quantised type can have.
inline RandomLlama qwen_text(QwenKind kind, ggml_type type = GGML_TYPE_F32) {
    RandomLlama spec = widened(random_architecture(kind == QwenKind::Qwen3 ? "qwen3vl" : "qwen2vl"), type);
    spec.n_layers = 8;
    spec.control_tokens = qwen_marks();
    spec.adds_space = false;
    return spec;
}

// As deep as real towers are: profiles name their layers.
inline QwenMmprojSpec qwen_vision(QwenKind kind, const RandomLlama& text) {
    QwenMmprojSpec spec;
    spec.kind = kind;
    spec.n_blocks = 32;
    spec.window_pattern = 8;
    spec.output_width = static_cast<std::size_t>(text.width);
    if (kind == QwenKind::Qwen3) {
        spec.n_blocks = 24;
        spec.patch_size = 16;
        spec.deepstack = {5, 11};
    }
    return spec;
}

}  // namespace clasp::test
