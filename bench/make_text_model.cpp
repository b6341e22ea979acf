// Writes a text model of the shape of one that people run, with random weights, for measurements.
//   clasp_make_text_model OUT.gguf VOCABULARY.gguf [--type q4_0|q8_0|q4_K|q4_K_M|f16|f32] [--shape NAME]
//                         [--layers N]
// NAME: a row of shapes() below. Vocabularies are in the source tree of llama.cpp, such as
//   $(scripts/build-llama --locate)/source/models/ggml-vocab-llama-spm.gguf
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "support/random_llama.h"

namespace {

using clasp::test::RandomLlama;

struct Shape {
    const char* name;
    RandomLlama spec;
};

// What is of no weight for speed (norm's epsilon, the base of rotations) is left as it is.
const std::vector<Shape>& shapes() {
    static const std::vector<std::string> qwen_marks = {"<|vision_start|>", "<|vision_end|>",
                                                        "<|image_pad|>"};
    static const std::vector<std::string> internvl_marks = {"<img>", "</img>"};
    static const std::vector<Shape> rows = {
        {"7b",
         {.n_layers = 32,
          .width = 4096,
          .n_heads = 32,
          .n_kv_heads = 32,
          .ffn_width = 11008,
          .context_length = 4096}},
        {"13b",
         {.n_layers = 40,
          .width = 5120,
          .n_heads = 40,
          .n_kv_heads = 40,
          .ffn_width = 13824,
          .context_length = 4096}},
        {"qwen2.5-vl-3b",
         {.architecture = "qwen2vl",
          .n_layers = 36,
          .width = 2048,
          .n_heads = 16,
          .n_kv_heads = 2,
          .ffn_width = 11008,
          .context_length = 32768,
          .has_own_head = false,
          .has_qkv_biases = true,
          .rope_sections = {16, 24, 24, 0},
          .control_tokens = qwen_marks}},
        {"qwen2.5-vl-7b",
         {.architecture = "qwen2vl",
          .n_layers = 28,
          .width = 3584,
          .n_heads = 28,
          .n_kv_heads = 4,
          .ffn_width = 18944,
          .context_length = 32768,
          .has_qkv_biases = true,
          .rope_sections = {16, 24, 24, 0},
          .control_tokens = qwen_marks}},
        {"qwen3-vl-4b",
         {.architecture = "qwen3vl",
          .has_qk_norms = true,
          .n_layers = 36,
          .width = 2560,
          .n_heads = 32,
          .n_kv_heads = 8,
          .head_width = 128,
          .ffn_width = 9728,
          .context_length = 32768,
          .has_own_head = false,
          .rope_sections = {24, 20, 20, 0},
          .n_deepstack = 3,
          .control_tokens = qwen_marks}},
        {"internvl3-1b",
         {.architecture = "qwen2",
          .n_layers = 24,
          .width = 896,
          .n_heads = 14,
          .n_kv_heads = 2,
          .ffn_width = 4864,
          .context_length = 32768,
          .has_own_head = false,
          .has_qkv_biases = true,
          .control_tokens = internvl_marks}},
        {"internvl3-2b",
         {.architecture = "qwen2",
          .n_layers = 28,
          .width = 1536,
          .n_heads = 12,
          .n_kv_heads = 2,
          .ffn_width = 8960,
          .context_length = 32768,
          .has_own_head = false,
          .has_qkv_biases = true,
          .control_tokens = internvl_marks}},
    };
    return rows;
}

const Shape* find_shape(const std::string& name) {
    for (const Shape& shape : shapes()) {
        if (name == shape.name) return &shape;
    }
    return nullptr;
}

int usage(const std::string& problem) {
    std::string names;
    for (const Shape& shape : shapes()) names += std::string(names.empty() ? "" : "|") + shape.name;
    std::fprintf(
        stderr,
        "%s\nusage: clasp_make_text_model OUT.gguf VOCABULARY.gguf [--type q4_0|q8_0|q4_K|q4_K_M|f16|f32]"
        " [--shape %s] [--layers N]\n",
        problem.c_str(), names.c_str());
    return 2;
}

bool find_type(const std::string& name, ggml_type& type) {
    for (int i = 0; i < GGML_TYPE_COUNT; ++i) {
        const auto candidate = static_cast<ggml_type>(i);
        if (ggml_type_name(candidate) != nullptr && name == ggml_type_name(candidate)) {
            type = candidate;
            return !ggml_quantize_requires_imatrix(candidate);
        }
    }
    return false;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3 || argc % 2 != 1) return usage("two file names and pairs of options are needed");
    ggml_type type = GGML_TYPE_Q4_0;
    bool has_q6_parts = false;
    RandomLlama spec = shapes().front().spec;
    for (int i = 3; i < argc; i += 2) {
        const std::string option = argv[i];
        const std::string value = argv[i + 1];
        if (option == "--type") {
            has_q6_parts = value == "q4_K_M";
            if (!find_type(has_q6_parts ? "q4_K" : value, type)) return usage("no such type: " + value);
        } else if (option == "--shape") {
            const Shape* shape = find_shape(value);
            if (shape == nullptr) return usage("no such shape: " + value);
            spec = shape->spec;
        } else if (option == "--layers" && std::atoi(value.c_str()) > 0) {
            spec.n_layers = std::atoi(value.c_str());
        } else {
            return usage("unknown option: " + option + " " + value);
        }
    }
    spec.type = type;
    spec.has_q6_parts = has_q6_parts;
    spec.repeats_rows = true;
    spec.vocabulary_file = argv[2];
    if (!clasp::test::write_random_llama(argv[1], spec)) {
        std::fprintf(stderr, "%s could not be written\n", argv[1]);
        return 1;
    }
    return 0;
}
