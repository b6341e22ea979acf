// A trained model as the two files that llama.cpp's users know: text model and mmproj.
#pragma once

#include <string>

#include "gguf/writer.h"
#include "model/model.h"
#include "text/bpe.h"

namespace clasp::training {

// The chat template stored in the text model: Vicuna's turns without a system sentence.
extern const char* const kChatTemplate;

// Names of a pair in its folder: NAME.gguf and NAME-mmproj.gguf.
inline constexpr const char* kStillName = "clasp-tiny";
inline constexpr const char* kVideoName = "clasp-tiny-video";
std::string text_path(const std::string& folder, const std::string& name);
std::string mmproj_path(const std::string& folder, const std::string& name);
// The name under which a model is exported: one for pictures, one for clips.
const char* name_of(const Model& model);

GgufWriter text_file(const Model& model, const Vocabulary& vocabulary);
GgufWriter mmproj_file(const Model& model);

// Rounds every weight that the files store in half precision, so that the trainer's own forward pass
// computes with the exported numbers.
void round_to_exported(Model& model);

}  // namespace clasp::training
