// A small model with random weights of every family that the engine runs, as two files, for tests that hold
// for all of them. A new family is one entry in family_models.cpp.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "clasp/image.h"
#include "ggml.h"
#include "support/random_llama.h"
#include "support/random_mmproj.h"

namespace clasp::test {

struct FamilyModel {
    std::string name;   // of test cases: "Qwen25Vl"
    std::string title;  // as tables of the documents call it: "Qwen2.5-VL"
    RandomLlama text;
    std::string vision;           // the vision file
    PixelSize picture;            // one of a usual shape
    std::size_t n_tokens = 0;     // what it becomes, line breaks left out
    std::size_t n_fixed = 0;      // its line breaks
    bool needs_libmtmd = false;   // which encodes its pictures
    bool is_in_llama_cpp = true;  // false: it has no numbers of this model
};

// In the order of the tables of the documents.
std::vector<std::string> family_names();

// Aborts the test program when there is no such family.
FamilyModel family_model(const std::string& name);

// The parts of some, for tests that want them otherwise. Towers are as deep as profiles name their layers.
MmprojSpec clip_family_vision();                                                 // 8 x 8 tokens
MmprojSpec next_family_vision(const std::string& merge_type = "spatial_unpad");  // tiles of 4 x 4 tokens
MmprojSpec internvl_family_vision();                                             // tiles of 2 x 2 tokens
// 8 x 8 tokens of a picture, and of each of 4 frames with a class row.
MmprojSpec videollava_family_vision(const VideoParts& parts = {.n_frames = 4});
// Tiles of 2 x 2 tokens, up to 4 x 4 of them; one square of 8 x 8 tokens.
MmprojSpec smolvlm_family_vision(std::size_t output_width);
MmprojSpec gemma3_family_vision(std::size_t output_width);
// Of a kind that libmtmd knows and we do not: 8 x 8 tokens where they lie in a square.
MmprojSpec mtmd_family_vision(const std::string& projector_type);
RandomLlama llava_family_text();
RandomLlama internvl_family_text();
RandomLlama smolvlm_family_text(ggml_type type = GGML_TYPE_F32);
// With windows of 16 positions, so that pictures and prompts are longer than they.
RandomLlama gemma3_family_text(ggml_type type = GGML_TYPE_F32);

}  // namespace clasp::test
