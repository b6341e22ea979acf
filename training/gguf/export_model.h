// A trained model as the two files that llama.cpp's users know: text model and mmproj.
#pragma once

#include "gguf/writer.h"
#include "model/model.h"
#include "text/bpe.h"

namespace clasp::training {

// The chat template stored in the text model: Vicuna's turns without a system sentence.
extern const char* const kChatTemplate;

// Names of the pair in its folder.
inline constexpr const char* kTextFile = "clasp-tiny.gguf";
inline constexpr const char* kMmprojFile = "clasp-tiny-mmproj.gguf";

GgufWriter text_file(const Model& model, const Vocabulary& vocabulary);
GgufWriter mmproj_file(const Model& model);

// Rounds every weight that the files store in half precision, so that the trainer's own forward pass
// computes with the exported numbers.
void round_to_exported(Model& model);

}  // namespace clasp::training
