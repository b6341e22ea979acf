// Writes a vision file with random weights in the format of LLaVA or InternVL, for measurements and as a seed
// for fuzzing.
//   clasp_make_mmproj OUT.gguf [SHAPE] [f16|f32|q8_0|q4_0] [outlier channels]
// SHAPE: llava-7b, llava-7b-3, next-7b, next-small, next-tiny, internvl-300m, internvl-small, internvl-tiny,
// internvl-6b-tiny, small or tiny.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "support/random_mmproj.h"

namespace {

using clasp::test::MmprojSpec;

// For seeds: as few bytes as a tower can have.
void make_tiny(MmprojSpec& spec) {
    spec.width = 32;
    spec.n_heads = 2;
    spec.ffn_width = 64;
    spec.n_blocks = 1;
    spec.projector_width = 32;
    spec.output_width = 32;
}

bool set_shape(const std::string& name, MmprojSpec& spec) {
    if (name == "llava-7b") {
        spec = clasp::test::llava_7b_mmproj();
    } else if (name == "llava-7b-3") {
        spec = clasp::test::llava_7b_mmproj();
        spec.n_blocks = 3;
    } else if (name == "next-7b") {
        spec = clasp::test::tiled(clasp::test::llava_7b_mmproj());
    } else if (name == "next-small") {  // LLaVA-NeXT's tokens from a narrow tower
        spec.image_size = 336;
        spec.output_width = 4096;
        spec.n_blocks = 23;
        spec = clasp::test::tiled(spec);
    } else if (name == "internvl-300m" ||
               name == "internvl-small") {  // the latter: its tokens, a narrow tower
        spec = clasp::test::internvl_mmproj();
        spec.image_size = 448;
        spec.n_blocks = 24;
        spec.output_width = 896;
        if (name == "internvl-300m") {
            spec.width = 1024;
            spec.n_heads = 16;
            spec.ffn_width = 4096;
            spec.projector_width = 896;
        }
    } else if (name == "internvl-tiny" || name == "internvl-6b-tiny") {
        spec = name == "internvl-tiny"
                   ? clasp::test::internvl_mmproj({.max_tiles = 4})
                   : clasp::test::internvl_mmproj(
                         {.has_norm_bias = false, .has_qkv_bias = false, .qk_norm_width = 32});
        spec.image_size = 8;
        spec.patch_size = 2;
        make_tiny(spec);
    } else if (name == "tiny" || name == "next-tiny") {
        spec.image_size = 4;
        spec.patch_size = 2;
        make_tiny(spec);
        if (name == "next-tiny") spec = clasp::test::tiled(spec);
    } else {
        return name == "small";
    }
    return true;
}

bool set_type(const std::string& name, MmprojSpec& spec) {
    for (const ggml_type type : {GGML_TYPE_F16, GGML_TYPE_F32, GGML_TYPE_Q8_0, GGML_TYPE_Q4_0}) {
        if (name == ggml_type_name(type)) {
            spec.matrix_type = type;
            return true;
        }
    }
    return false;
}

}  // namespace

int main(int argc, char** argv) {
    MmprojSpec spec;
    const std::string shape = argc > 2 ? argv[2] : "llava-7b";
    const std::string type = argc > 3 ? argv[3] : "f16";
    if (argc < 2 || argc > 5 || !set_shape(shape, spec) || !set_type(type, spec)) {
        std::fprintf(stderr,
                     "usage: %s OUT.gguf [llava-7b|llava-7b-3|next-7b|next-small|next-tiny|small|tiny] "
                     "[f16|f32|q8_0|q4_0] "
                     "[outlier channels]\n",
                     argv[0]);
        return 2;
    }
    if (argc > 4) spec.outlier_channels = static_cast<std::size_t>(std::atoi(argv[4]));
    std::ofstream out(argv[1], std::ios::binary);
    clasp::test::write_random_mmproj(spec, out);
    out.flush();
    if (!out) {
        std::fprintf(stderr, "cannot write %s\n", argv[1]);
        return 1;
    }
    return 0;
}
