// Saved state of a training run: everything that an exact continuation needs.
#pragma once

#include <memory>
#include <string>

#include "clasp/status.h"
#include "model/model.h"
#include "text/bpe.h"

namespace clasp::training {

struct RunState {
    std::string phase;           // name of the phase in the recipe
    int phase_step = 0;          // updates done in it
    long step = 0;               // updates done in all
    std::uint64_t pictures = 0;  // pictures seen in all: the index of the next one
    double seconds = 0;          // spent training
};

struct Checkpoint {
    RunState state;
    Vocabulary vocabulary;
    std::unique_ptr<Model> model;
};

// Writes to a temporary name and renames, so that a stop at any moment leaves a whole file.
Status save_checkpoint(const std::string& path, const RunState& state, const Vocabulary& vocabulary,
                       const Model& model);
Result<Checkpoint> load_checkpoint(const std::string& path);

}  // namespace clasp::training
