// The original vision transformers and projectors (CLIP with LLaVA's, InternViT with InternVL's, SigLIP with
// SmolVLM's and Gemma 3's) as plain loops in double precision, read straight from a file: no ggml graph, no
// shared code with the engine beyond the file reader.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/gguf_reader.h"

namespace clasp::test {

// Row-major.
struct Matrix {
    std::size_t rows = 0;
    std::size_t columns = 0;
    std::vector<double> values;

    Matrix() = default;
    Matrix(std::size_t n_rows, std::size_t n_columns)
        : rows(n_rows), columns(n_columns), values(n_rows * n_columns, 0.0) {}
    double& at(std::size_t row, std::size_t column) { return values[row * columns + column]; }
    [[nodiscard]] double at(std::size_t row, std::size_t column) const {
        return values[row * columns + column];
    }
};

struct ReferenceOutput {
    std::vector<Matrix> layers;  // output of every block: the class token first if there is one, then patches
    std::vector<Matrix> class_attention;  // per block: heads x rows; that of the first row
    std::vector<Matrix> keys;             // per block: rows x width
};

class ReferenceVit {
   public:
    // The file must be one that random_mmproj() wrote.
    explicit ReferenceVit(const model::GgufReader& reader) : reader_(reader) {}

    [[nodiscard]] ReferenceOutput encode(std::span<const float> pixels) const;
    // features: patches x width (no class token). Merging projectors take all patches of a square.
    [[nodiscard]] Matrix project(const Matrix& features) const;

   protected:
    [[nodiscard]] Matrix tensor(const std::string& name) const;
    [[nodiscard]] bool has_tensor(const std::string& name) const;
    [[nodiscard]] std::size_t key(const std::string& name) const;
    [[nodiscard]] bool has_key(const std::string& name) const;
    [[nodiscard]] double epsilon() const;
    [[nodiscard]] bool is_gelu() const;
    [[nodiscard]] Matrix linear(const Matrix& x, const std::string& name) const;
    // RMSNorm where there is no bias. A row is normed in parts as long as the weight. The file's epsilon
    // unless another is given.
    [[nodiscard]] Matrix norm(const Matrix& x, const std::string& name,
                              std::optional<double> given = std::nullopt) const;
    [[nodiscard]] Matrix project_pooled(const Matrix& features) const;

   private:
    [[nodiscard]] Matrix shuffled(const Matrix& features) const;

    const model::GgufReader& reader_;
};

double quick_gelu(double x);
double exact_gelu(double x);
double tanh_gelu(double x);
void add(Matrix& x, const Matrix& y);
std::vector<double> softmax(const std::vector<double>& logits);

// The rows of a layer without the class token.
Matrix patches_of(const Matrix& layer);

}  // namespace clasp::test
