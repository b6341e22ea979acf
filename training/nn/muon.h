// Muon: momentum whose matrix is replaced by the nearest orthogonal one, so that all directions of a
// weight matrix learn equally fast. Used for the matrices inside blocks; AdamW does the rest.
#pragma once

#include <vector>

#include "nn/params.h"

namespace clasp::training {

struct Muon {
    float rate = 1e-2F;  // largest singular value of one update
    float momentum = 0.95F;
    float decay = 0.01F;
};

// Scratch that is reused between updates.
struct MuonWorkspace {
    std::vector<float> update, square, mixed, product;
};

// Makes the matrix (rows x columns, in place) nearly orthogonal: five steps of a quintic iteration
// that pulls all singular values to about 1.
void orthogonalise(float* matrix, int rows, int columns, MuonWorkspace& workspace);

// Updates one parameter whose gradient was scaled by `scale`; param.parts matrices stand under each
// other (queries, keys, values) and are treated one by one.
void muon_update(ParamStore& store, ParamId id, const Muon& options, float scale, MuonWorkspace& workspace);

}  // namespace clasp::training
