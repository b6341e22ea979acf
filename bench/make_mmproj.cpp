// Writes a vision file with random weights in the format of one of the families, for measurements and as a
// seed for fuzzing.
//   clasp_make_mmproj OUT.gguf [SHAPE] [f16|f32|q8_0|q4_0] [outlier channels]
// SHAPE: llava-7b, llava-13b, llava-7b-3, next-7b, next-small, next-tiny, internvl-300m, internvl3-2b,
// internvl-small, internvl-tiny, internvl-6b-tiny, videollava-7b, videollava-7b-port, videollava-small,
// videollava-tiny, qwen2.5-vl-3b, qwen2.5-vl-7b, qwen3-vl-4b, small or tiny.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>

#include "support/random_mmproj.h"
#include "support/random_qwen_mmproj.h"

namespace {

using clasp::test::MmprojSpec;
using clasp::test::QwenMmprojSpec;

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
    } else if (name == "llava-13b") {
        spec = clasp::test::llava_7b_mmproj();
        spec.projector_width = spec.output_width = 5120;
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
    } else if (name == "internvl-300m" || name == "internvl3-2b" ||
               name == "internvl-small") {  // the last one: its tokens, a narrow tower
        spec = clasp::test::internvl_mmproj();
        spec.image_size = 448;
        spec.n_blocks = 24;
        spec.output_width = 896;
        if (name != "internvl-small") {
            spec.width = 1024;
            spec.n_heads = 16;
            spec.ffn_width = 4096;
            if (name == "internvl3-2b") spec.output_width = 1536;
            spec.projector_width = spec.output_width;
        }
    } else if (name == "internvl-tiny" || name == "internvl-6b-tiny") {
        spec = name == "internvl-tiny"
                   ? clasp::test::internvl_mmproj({.max_tiles = 4})
                   : clasp::test::internvl_mmproj(
                         {.has_norm_bias = false, .has_qkv_bias = false, .qk_norm_width = 32});
        spec.image_size = 8;
        spec.patch_size = 2;
        make_tiny(spec);
    } else if (name == "videollava-7b") {
        spec = clasp::test::videollava_7b_mmproj();
    } else if (name == "videollava-7b-port") {  // without attention over time, one tower for both
        spec = clasp::test::videollava_7b_mmproj(
            {.has_time = false, .is_port = true, .is_language_bind = false, .has_own_tower = false});
    } else if (name == "videollava-small") {  // its tokens from narrow towers
        spec = clasp::test::videollava_mmproj();
        spec.image_size = 224;
        spec.n_blocks = 23;
        spec.output_width = 4096;
    } else if (name == "videollava-tiny") {
        spec = clasp::test::videollava_mmproj({.n_frames = 2, .has_own_tower = false});
        spec.image_size = 4;
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

// The towers of Qwen, which have a format of their own.
std::optional<QwenMmprojSpec> qwen_shape(const std::string& name) {
    QwenMmprojSpec spec;
    spec.n_heads = 16;
    if (name == "qwen2.5-vl-3b" || name == "qwen2.5-vl-7b") {
        spec.image_size = 560;
        spec.width = 1280;
        spec.ffn_width = 3420;
        spec.n_blocks = 32;
        spec.window_pattern = 8;
        spec.output_width = name == "qwen2.5-vl-3b" ? 2048 : 3584;
    } else if (name == "qwen3-vl-4b") {
        spec.kind = clasp::test::QwenKind::Qwen3;
        spec.image_size = 768;
        spec.patch_size = 16;
        spec.width = 1024;
        spec.ffn_width = 4096;
        spec.n_blocks = 24;
        spec.output_width = 2560;
        spec.deepstack = {5, 11, 17};
    } else {
        return std::nullopt;
    }
    return spec;
}

template <typename Spec>
bool set_type(const std::string& name, Spec& spec) {
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
    std::optional<QwenMmprojSpec> qwen = qwen_shape(shape);
    const bool known =
        qwen ? set_type(type, *qwen) : argc > 1 && set_shape(shape, spec) && set_type(type, spec);
    if (argc < 2 || argc > 5 || !known) {
        std::fprintf(stderr,
                     "usage: %s OUT.gguf [SHAPE] [f16|f32|q8_0|q4_0] [outlier channels]\n"
                     "shapes: see the head of bench/make_mmproj.cpp\n",
                     argv[0]);
        return 2;
    }
    if (argc > 4) spec.outlier_channels = static_cast<std::size_t>(std::atoi(argv[4]));
    std::ofstream out(argv[1], std::ios::binary);
    if (qwen) {
        clasp::test::write_random_qwen_mmproj(*qwen, out);
    } else {
        clasp::test::write_random_mmproj(spec, out);
    }
    out.flush();
    if (!out) {
        std::fprintf(stderr, "cannot write %s\n", argv[1]);
        return 1;
    }
    return 0;
}
