#include "nn/muon.h"

#include <algorithm>
#include <cmath>

#include "nn/gemm.h"

namespace clasp::training {
namespace {

constexpr int kIterations = 5;
constexpr float kA = 3.4445F;
constexpr float kB = -4.7750F;
constexpr float kC = 2.0315F;

void scale_to_unit(float* matrix, std::size_t count) {
    float square = 0;
    for (std::size_t i = 0; i < count; ++i) square += matrix[i] * matrix[i];
    const float inverse = 1.0F / (std::sqrt(square) + 1e-7F);
    for (std::size_t i = 0; i < count; ++i) matrix[i] *= inverse;
}

}  // namespace

void orthogonalise(float* matrix, int rows, int columns, MuonWorkspace& workspace) {
    const bool wide = rows <= columns;
    const int n = std::min(rows, columns);
    const std::size_t count = static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
    const std::size_t small = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
    workspace.square.resize(std::max(workspace.square.size(), small));
    workspace.mixed.resize(std::max(workspace.mixed.size(), small));
    workspace.product.resize(std::max(workspace.product.size(), count));
    float* square = workspace.square.data();
    float* mixed = workspace.mixed.data();
    float* product = workspace.product.data();
    scale_to_unit(matrix, count);
    for (int i = 0; i < kIterations; ++i) {
        // X <- aX + (bS + cSS)X with S the smaller Gram matrix; for tall X the factor stands right.
        if (wide)
            gemm_nt(n, n, columns, matrix, columns, matrix, columns, square, n);
        else
            gemm_tn(n, n, rows, matrix, columns, matrix, columns, square, n);
        std::copy_n(square, small, mixed);
        gemm_nn(n, n, n, square, n, square, n, mixed, n, kB, kC);
        std::copy_n(matrix, count, product);
        if (wide)
            gemm_nn(rows, columns, n, mixed, n, product, columns, matrix, columns, kA);
        else
            gemm_nn(rows, columns, n, product, columns, mixed, n, matrix, columns, kA);
    }
}

void muon_update(ParamStore& store, ParamId id, const Muon& options, float scale, MuonWorkspace& workspace) {
    const Param& param = store.info(id);
    float* w = store.value(id);
    float* m = store.first_moments().data() + param.offset;
    const float* g = store.grad(id);
    workspace.update.resize(std::max(workspace.update.size(), param.size()));
    float* update = workspace.update.data();
    for (std::size_t i = 0; i < param.size(); ++i) {
        m[i] = options.momentum * m[i] + g[i] * scale;
        update[i] = g[i] * scale + options.momentum * m[i];
    }
    const int rows = param.rows / param.parts;
    const std::size_t part = param.size() / static_cast<std::size_t>(param.parts);
    const float length =
        options.rate *
        std::sqrt(std::max(1.0F, static_cast<float>(rows) / static_cast<float>(param.columns)));
    const float shrink = 1.0F - options.rate * options.decay;
    for (int p = 0; p < param.parts; ++p) {
        float* u = update + static_cast<std::size_t>(p) * part;
        float* to = w + static_cast<std::size_t>(p) * part;
        orthogonalise(u, rows, param.columns, workspace);
        for (std::size_t i = 0; i < part; ++i) to[i] = to[i] * shrink - length * u[i];
    }
}

}  // namespace clasp::training
