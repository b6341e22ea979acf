// A trained model as the two files that llama.cpp's users know: text model and mmproj.
#pragma once

#include <string>

#include "clasp/status.h"
#include "model/model.h"
#include "text/bpe.h"

namespace clasp::training {

// The chat template stored in the text model: Vicuna's turns without a system sentence.
extern const char* const kChatTemplate;

Status export_text_model(const Model& model, const Vocabulary& vocabulary, const std::string& path);
Status export_mmproj(const Model& model, const std::string& path);

// Rounds every weight that the files store in half precision, so that the trainer's own forward pass
// computes with the exported numbers.
void round_to_exported(Model& model);

}  // namespace clasp::training
