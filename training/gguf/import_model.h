// An exported pair of files as a model again, so that the trainer's own forward pass can be asked about
// the files that users have.
#pragma once

#include <memory>
#include <string>

#include "clasp/status.h"
#include "gguf/export_model.h"
#include "model/model.h"
#include "text/bpe.h"

namespace clasp::training {

struct ImportedModel {
    Vocabulary vocabulary;
    std::unique_ptr<Model> model;  // its auxiliary heads are untrained: the files do not hold them
};

// The pair of this name in this folder. Files that an export of the result would not write again, byte for
// byte, are refused: they hold a key that the forward pass here does not follow.
Result<ImportedModel> import_model(const std::string& folder, const std::string& name = kStillName);

}  // namespace clasp::training
