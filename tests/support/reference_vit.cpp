#include "support/reference_vit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/gguf_metadata.h"

namespace clasp::test {

namespace {

void scale_columns(Matrix& x, const Matrix& factors) {
    for (std::size_t i = 0; i < x.values.size(); ++i) x.values[i] *= factors.values[i % x.columns];
}

}  // namespace

double quick_gelu(double x) {
    return x / (1.0 + std::exp(-1.702 * x));
}

double exact_gelu(double x) {
    return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0)));
}

double tanh_gelu(double x) {
    return 0.5 * x * (1.0 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

void add(Matrix& x, const Matrix& y) {
    for (std::size_t i = 0; i < x.values.size(); ++i) x.values[i] += y.values[i];
}

std::vector<double> softmax(const std::vector<double>& logits) {
    const double top = *std::max_element(logits.begin(), logits.end());
    std::vector<double> result;
    double sum = 0.0;
    for (const double logit : logits) {
        result.push_back(std::exp(logit - top));
        sum += result.back();
    }
    for (double& value : result) value /= sum;
    return result;
}

Matrix patches_of(const Matrix& layer) {
    Matrix patches(layer.rows - 1, layer.columns);
    std::copy(layer.values.begin() + static_cast<std::ptrdiff_t>(layer.columns), layer.values.end(),
              patches.values.begin());
    return patches;
}

// One row per row of the file; trailing dimensions are folded into the rows.
Matrix ReferenceVit::tensor(const std::string& name) const {
    const model::GgufTensor& tensor = *reader_.find_tensor(name);
    const auto columns = static_cast<std::size_t>(tensor.shape[0]);
    std::size_t rows = 1;
    for (std::size_t i = 1; i < tensor.shape.size(); ++i) rows *= static_cast<std::size_t>(tensor.shape[i]);
    std::vector<float> values(rows * columns);
    const std::size_t row_bytes = tensor.data.size() / rows;
    for (std::size_t row = 0; row < rows; ++row) {
        const std::byte* from = tensor.data.data() + row * row_bytes;
        float* to = values.data() + row * columns;
        if (tensor.type == GGML_TYPE_F32) {
            std::copy_n(reinterpret_cast<const float*>(from), columns, to);
        } else {
            ggml_get_type_traits(tensor.type)->to_float(from, to, tensor.shape[0]);
        }
    }
    Matrix result(rows, columns);
    std::copy(values.begin(), values.end(), result.values.begin());
    return result;
}

std::size_t ReferenceVit::key(const std::string& name) const {
    constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
    return static_cast<std::size_t>(model::read_integer(reader_, "clip.vision." + name, 0, kMax).value());
}

bool ReferenceVit::has_tensor(const std::string& name) const {
    return reader_.find_tensor(name) != nullptr;
}

bool ReferenceVit::has_key(const std::string& name) const {
    return reader_.find("clip.vision." + name) != nullptr;
}

double ReferenceVit::epsilon() const {
    return static_cast<double>(
        model::read_float(reader_, "clip.vision.attention.layer_norm_epsilon", 0.0F, 1.0F).value());
}

bool ReferenceVit::is_gelu() const {
    return model::read_flag(reader_, "clip.use_gelu").value();
}

// y = x W^T + b, without b if there is none.
Matrix ReferenceVit::linear(const Matrix& x, const std::string& name) const {
    const Matrix weight = tensor(name + ".weight");
    const Matrix bias = has_tensor(name + ".bias") ? tensor(name + ".bias") : Matrix(1, weight.rows);
    Matrix y(x.rows, weight.rows);
    for (std::size_t t = 0; t < x.rows; ++t) {
        for (std::size_t o = 0; o < weight.rows; ++o) {
            double sum = bias.values[o];
            for (std::size_t i = 0; i < x.columns; ++i) sum += x.at(t, i) * weight.at(o, i);
            y.at(t, o) = sum;
        }
    }
    return y;
}

Matrix ReferenceVit::norm(const Matrix& x, const std::string& name, std::optional<double> given) const {
    const double tiny = given.value_or(epsilon());
    const Matrix scale = tensor(name + ".weight");
    const bool is_rms = !has_tensor(name + ".bias");
    const Matrix shift = is_rms ? Matrix(1, scale.columns) : tensor(name + ".bias");
    Matrix y(x.rows, x.columns);
    const std::size_t span = scale.columns;
    const auto n = static_cast<double>(span);
    for (std::size_t t = 0; t < x.rows; ++t) {
        for (std::size_t first = 0; first < x.columns; first += span) {
            double mean = 0.0;
            for (std::size_t i = 0; i < span && !is_rms; ++i) mean += x.at(t, first + i) / n;
            double variance = 0.0;
            for (std::size_t i = 0; i < span; ++i) {
                variance += (x.at(t, first + i) - mean) * (x.at(t, first + i) - mean) / n;
            }
            for (std::size_t i = 0; i < span; ++i) {
                y.at(t, first + i) =
                    (x.at(t, first + i) - mean) / std::sqrt(variance + tiny) * scale.values[i] +
                    shift.values[i];
            }
        }
    }
    return y;
}

ReferenceOutput ReferenceVit::encode(std::span<const float> pixels) const {
    const std::size_t size = key("image_size");
    const std::size_t patch = key("patch_size");
    const std::size_t width = key("embedding_length");
    const std::size_t heads = key("attention.head_count");
    const std::size_t side = size / patch;
    const bool is_siglip = !has_tensor("v.class_embd");
    const std::size_t n_prefix = is_siglip ? 0 : 1;
    const std::size_t rows = side * side + n_prefix;
    const std::size_t head_width = width / heads;
    const Matrix kernel = tensor("v.patch_embd.weight");  // rows: output, channel, line
    const Matrix positions = tensor("v.position_embd.weight");
    const auto activate = [&](double value) {
        if (!is_gelu()) return quick_gelu(value);
        return is_siglip ? tanh_gelu(value) : exact_gelu(value);
    };

    Matrix x(rows, width);
    Matrix patch_bias(1, width);
    if (has_tensor("v.patch_embd.bias")) patch_bias = tensor("v.patch_embd.bias");
    if (!is_siglip) {
        const Matrix class_token = tensor("v.class_embd");
        for (std::size_t i = 0; i < width; ++i) x.at(0, i) = class_token.values[i];
    }
    for (std::size_t p = 0; p < side * side; ++p) {
        for (std::size_t o = 0; o < width; ++o) {
            double sum = patch_bias.values[o];
            for (std::size_t c = 0; c < 3; ++c) {
                for (std::size_t line = 0; line < patch; ++line) {
                    for (std::size_t column = 0; column < patch; ++column) {
                        const std::size_t py = p / side * patch + line;
                        const std::size_t px = p % side * patch + column;
                        sum += kernel.at((o * 3 + c) * patch + line, column) *
                               static_cast<double>(pixels[(c * size + py) * size + px]);
                    }
                }
            }
            x.at(p + n_prefix, o) = sum;
        }
    }
    add(x, positions);
    if (has_tensor("v.pre_ln.weight")) x = norm(x, "v.pre_ln");

    ReferenceOutput output;
    for (std::size_t block = 0; block < key("block_count"); ++block) {
        const std::string prefix = "v.blk." + std::to_string(block) + ".";
        const Matrix normed = norm(x, prefix + "ln1");
        Matrix q = linear(normed, prefix + "attn_q");
        Matrix k = linear(normed, prefix + "attn_k");
        if (has_tensor(prefix + "attn_q_norm.weight")) {
            q = norm(q, prefix + "attn_q_norm");
            k = norm(k, prefix + "attn_k_norm");
        }
        const Matrix v = linear(normed, prefix + "attn_v");
        Matrix mixed(rows, width);
        Matrix class_rows(heads, rows);
        for (std::size_t head = 0; head < heads; ++head) {
            for (std::size_t t = 0; t < rows; ++t) {
                std::vector<double> logits(rows, 0.0);
                for (std::size_t s = 0; s < rows; ++s) {
                    for (std::size_t i = head * head_width; i < (head + 1) * head_width; ++i) {
                        logits[s] += q.at(t, i) * k.at(s, i);
                    }
                    logits[s] /= std::sqrt(static_cast<double>(head_width));
                }
                const std::vector<double> weights = softmax(logits);
                for (std::size_t s = 0; s < rows; ++s) {
                    if (t == 0) class_rows.at(head, s) = weights[s];
                    for (std::size_t i = head * head_width; i < (head + 1) * head_width; ++i) {
                        mixed.at(t, i) += weights[s] * v.at(s, i);
                    }
                }
            }
        }
        Matrix attended = linear(mixed, prefix + "attn_out");
        if (has_tensor(prefix + "ls1.weight")) scale_columns(attended, tensor(prefix + "ls1.weight"));
        add(x, attended);
        // Whichever of the two takes the tower's width comes first.
        const bool swapped =
            reader_.find_tensor(prefix + "ffn_down.weight")->shape[0] == static_cast<std::int64_t>(width);
        Matrix hidden = linear(norm(x, prefix + "ln2"), prefix + (swapped ? "ffn_down" : "ffn_up"));
        for (double& value : hidden.values) value = activate(value);
        Matrix fed = linear(hidden, prefix + (swapped ? "ffn_up" : "ffn_down"));
        if (has_tensor(prefix + "ls2.weight")) scale_columns(fed, tensor(prefix + "ls2.weight"));
        add(x, fed);
        output.layers.push_back(x);
        output.class_attention.push_back(class_rows);
        output.keys.push_back(k);
    }
    return output;
}

// Token (r, c) is the channels of the patches of its square, one after the other, row by row.
Matrix ReferenceVit::shuffled(const Matrix& features) const {
    const std::size_t side = key("image_size") / key("patch_size");
    const std::size_t merge = key("projector.scale_factor");
    Matrix tokens(features.rows / (merge * merge), features.columns * merge * merge);
    for (std::size_t y = 0; y < side; ++y) {
        for (std::size_t x = 0; x < side; ++x) {
            const std::size_t token = y / merge * (side / merge) + x / merge;
            const std::size_t part = y % merge * merge + x % merge;
            for (std::size_t i = 0; i < features.columns; ++i) {
                tokens.at(token, part * features.columns + i) = features.at(y * side + x, i);
            }
        }
    }
    return tokens;
}

// Gemma 3: the mean of a square, an RMS norm, a matrix whose rows are the inputs.
Matrix ReferenceVit::project_pooled(const Matrix& features) const {
    const std::size_t merge = key("projector.scale_factor");
    const auto side = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(features.rows))));
    const auto area = static_cast<double>(merge * merge);
    const Matrix normed = norm(features, "v.post_ln");
    Matrix means(features.rows / (merge * merge), features.columns);
    for (std::size_t y = 0; y < side; ++y) {
        for (std::size_t x = 0; x < side; ++x) {
            const std::size_t token = y / merge * (side / merge) + x / merge;
            for (std::size_t i = 0; i < features.columns; ++i) {
                means.at(token, i) += normed.at(y * side + x, i) / area;
            }
        }
    }
    const Matrix scale = tensor("mm.soft_emb_norm.weight");
    const Matrix weight = tensor("mm.input_projection.weight");
    Matrix tokens(means.rows, weight.columns);
    for (std::size_t t = 0; t < means.rows; ++t) {
        double square = 0.0;
        for (std::size_t i = 0; i < means.columns; ++i) square += means.at(t, i) * means.at(t, i);
        const double root = std::sqrt(square / static_cast<double>(means.columns) + epsilon());
        for (std::size_t i = 0; i < means.columns; ++i) {
            const double value = means.at(t, i) / root * scale.values[i];
            for (std::size_t o = 0; o < weight.columns; ++o) tokens.at(t, o) += value * weight.at(i, o);
        }
    }
    return tokens;
}

Matrix ReferenceVit::project(const Matrix& features) const {
    // SmolVLM: a norm, squares, a matrix.
    if (has_tensor("mm.model.fc.weight")) return linear(shuffled(norm(features, "v.post_ln")), "mm.model.fc");
    if (has_tensor("mm.input_projection.weight")) return project_pooled(features);
    const bool is_internvl = has_tensor("mm.model.mlp.0.weight");
    Matrix hidden = is_internvl ? linear(norm(shuffled(features), "mm.model.mlp.0", 1e-5), "mm.model.mlp.1")
                                : linear(features, "mm.0");
    for (double& value : hidden.values) value = exact_gelu(value);
    return linear(hidden, is_internvl ? "mm.model.mlp.3" : "mm.2");
}

}  // namespace clasp::test
