// Writes a text model of the shape of LLaVA-1.5's or InternVL's with random weights, for measurements.
//   clasp_make_text_model OUT.gguf VOCABULARY.gguf [--type q4_0|q8_0|q4_K|f16|f32] [--shape
//   7b|13b|qwen2-0.5b]
//                         [--layers N]
// A vocabulary is in the source tree of llama.cpp:
//   $(scripts/build-llama --locate)/source/models/ggml-vocab-llama-spm.gguf
#include <cstdio>
#include <cstdlib>
#include <string>

#include "support/random_llama.h"

namespace {

int usage(const std::string& problem) {
    std::fprintf(stderr,
                 "%s\nusage: clasp_make_text_model OUT.gguf VOCABULARY.gguf [--type q4_0|q8_0|q4_K|f16|f32]"
                 " [--shape 7b|13b|qwen2-0.5b] [--layers N]\n",
                 problem.c_str());
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
    clasp::test::RandomLlama spec = {.n_layers = 32,
                                     .width = 4096,
                                     .n_heads = 32,
                                     .n_kv_heads = 32,
                                     .ffn_width = 11008,
                                     .context_length = 4096};
    spec.type = GGML_TYPE_Q4_0;
    spec.vocabulary_file = argv[2];
    for (int i = 3; i < argc; i += 2) {
        const std::string option = argv[i];
        const std::string value = argv[i + 1];
        if (option == "--type") {
            if (!find_type(value, spec.type)) return usage("no such type: " + value);
        } else if (option == "--shape" && value == "13b") {
            spec.n_layers = 40;
            spec.width = 5120;
            spec.n_heads = spec.n_kv_heads = 40;
            spec.ffn_width = 13824;
        } else if (option == "--shape" && value == "qwen2-0.5b") {  // of InternVL 2, 2.5 and 3 with 1B
            spec.architecture = "qwen2";
            spec.has_qkv_biases = true;
            spec.has_own_head = false;
            spec.n_layers = 24;
            spec.width = 896;
            spec.n_heads = 14;
            spec.n_kv_heads = 2;
            spec.ffn_width = 4864;
            spec.context_length = 32768;
        } else if (option == "--layers" && std::atoi(value.c_str()) > 0) {
            spec.n_layers = std::atoi(value.c_str());
        } else if (option != "--shape" || value != "7b") {
            return usage("unknown option: " + option + " " + value);
        }
    }
    if (!clasp::test::write_random_llama(argv[1], spec)) {
        std::fprintf(stderr, "%s could not be written\n", argv[1]);
        return 1;
    }
    return 0;
}
