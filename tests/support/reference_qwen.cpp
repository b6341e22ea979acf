#include "support/reference_qwen.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "model/gguf_metadata.h"

namespace clasp::test {

// A frame counts twice: both kernels see it.
Matrix ReferenceQwen::embed(std::span<const float> pixels, std::size_t width, std::size_t height) const {
    const std::size_t patch = key("patch_size");
    const std::size_t columns = width / patch;
    Matrix x((height / patch) * columns, key("embedding_length"));
    const std::size_t second = pixels.size() == 6 * width * height ? 3 : 0;  // plane
    for (const char* name : {"v.patch_embd.weight", "v.patch_embd.weight.1"}) {
        const Matrix kernel = tensor(name);  // rows: output, channel, line
        const std::size_t first_plane = std::string_view(name).ends_with(".1") ? second : 0;
        for (std::size_t p = 0; p < x.rows; ++p) {
            for (std::size_t o = 0; o < x.columns; ++o) {
                for (std::size_t i = 0; i < 3 * patch * patch; ++i) {
                    const std::size_t channel = i / (patch * patch);
                    const std::size_t line = i / patch % patch;
                    const std::size_t py = p / columns * patch + line;
                    const std::size_t px = p % columns * patch + i % patch;
                    x.at(p, o) +=
                        kernel.at((o * 3 + channel) * patch + line, i % patch) *
                        static_cast<double>(pixels[((first_plane + channel) * height + py) * width + px]);
                }
            }
        }
    }
    return x;
}

// The table with its corners on those of the picture, linear in between.
void ReferenceQwen::add_positions(Matrix& x, std::size_t columns) const {
    if (!has_tensor("v.position_embd.weight")) return;
    const Matrix bias = tensor("v.patch_embd.bias");
    const Matrix table = tensor("v.position_embd.weight");
    const auto side = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(table.rows))));
    const std::size_t rows = x.rows / columns;
    const auto stretched = [&](std::size_t place, std::size_t n) {
        return static_cast<double>(place) * static_cast<double>(side - 1) / static_cast<double>(n - 1);
    };
    for (std::size_t p = 0; p < x.rows; ++p) {
        const double y = stretched(p / columns, rows);
        const double z = stretched(p % columns, columns);
        for (std::size_t cell = 0; cell < table.rows; ++cell) {
            const double near_y = std::max(0.0, 1.0 - std::abs(y - static_cast<double>(cell / side)));
            const double near_z = std::max(0.0, 1.0 - std::abs(z - static_cast<double>(cell % side)));
            if (near_y * near_z == 0.0) continue;
            for (std::size_t i = 0; i < x.columns; ++i) x.at(p, i) += near_y * near_z * table.at(cell, i);
        }
        for (std::size_t i = 0; i < x.columns; ++i) x.at(p, i) += bias.values[i];
    }
}

// RMS norms have no bias.
Matrix ReferenceQwen::any_norm(const Matrix& x, const std::string& name) const {
    if (has_tensor(name + ".bias")) return norm(x, name);
    const Matrix scale = tensor(name + ".weight");
    const double tiny = epsilon();
    Matrix y(x.rows, x.columns);
    for (std::size_t t = 0; t < x.rows; ++t) {
        double square = 0.0;
        for (std::size_t i = 0; i < x.columns; ++i) square += x.at(t, i) * x.at(t, i);
        const double length = std::sqrt(square / static_cast<double>(x.columns) + tiny);
        for (std::size_t i = 0; i < x.columns; ++i) y.at(t, i) = x.at(t, i) / length * scale.values[i];
    }
    return y;
}

// Entry i of a head turns with entry i + half: the first quarter by the patch's row, the second by its
// column.
void ReferenceQwen::turn(Matrix& x, std::size_t columns) const {
    const std::size_t heads = key("attention.head_count");
    const std::size_t head_width = x.columns / heads;
    const std::size_t half = head_width / 2;
    for (std::size_t t = 0; t < x.rows; ++t) {
        for (std::size_t i = 0; i < half; ++i) {
            const bool is_row = i < half / 2;
            const auto place = static_cast<double>(is_row ? t / columns : t % columns);
            const auto j = static_cast<double>(is_row ? i : i - half / 2);
            const double angle = place * std::pow(10000.0, -2.0 * j / static_cast<double>(half));
            for (std::size_t head = 0; head < heads; ++head) {
                double& a = x.at(t, head * head_width + i);
                double& b = x.at(t, head * head_width + i + half);
                const double turned = a * std::cos(angle) - b * std::sin(angle);
                b = a * std::sin(angle) + b * std::cos(angle);
                a = turned;
            }
        }
    }
}

bool ReferenceQwen::sees(std::size_t block, std::size_t a, std::size_t b, std::size_t columns) const {
    if (!has_key("n_wa_pattern") || (block + 1) % key("n_wa_pattern") == 0) return true;
    const std::size_t side = 112 / key("patch_size");
    return a / columns / side == b / columns / side && a % columns / side == b % columns / side;
}

Matrix ReferenceQwen::attend(std::size_t block, const Matrix& q, const Matrix& k, const Matrix& v,
                             std::size_t columns) const {
    const std::size_t heads = key("attention.head_count");
    const std::size_t head_width = q.columns / heads;
    Matrix mixed(q.rows, q.columns);
    for (std::size_t t = 0; t < q.rows; ++t) {
        std::vector<std::size_t> seen;
        for (std::size_t s = 0; s < q.rows; ++s) {
            if (sees(block, t, s, columns)) seen.push_back(s);
        }
        for (std::size_t head = 0; head < heads; ++head) {
            std::vector<double> logits;
            for (const std::size_t s : seen) {
                double dot = 0.0;
                for (std::size_t i = head * head_width; i < (head + 1) * head_width; ++i) {
                    dot += q.at(t, i) * k.at(s, i);
                }
                logits.push_back(dot / std::sqrt(static_cast<double>(head_width)));
            }
            const std::vector<double> weights = softmax(logits);
            for (std::size_t n = 0; n < seen.size(); ++n) {
                for (std::size_t i = head * head_width; i < (head + 1) * head_width; ++i) {
                    mixed.at(t, i) += weights[n] * v.at(seen[n], i);
                }
            }
        }
    }
    return mixed;
}

Matrix ReferenceQwen::feed_forward(const Matrix& x, const std::string& prefix) const {
    if (has_tensor(prefix + "ffn_gate.weight")) {
        Matrix hidden = linear(x, prefix + "ffn_gate");
        const Matrix up = linear(x, prefix + "ffn_up");
        for (std::size_t i = 0; i < hidden.values.size(); ++i) {
            const double gate = hidden.values[i];
            hidden.values[i] = gate / (1.0 + std::exp(-gate)) * up.values[i];
        }
        return linear(hidden, prefix + "ffn_down");
    }
    const bool is_swapped = tensor(prefix + "ffn_down.weight").columns == x.columns;
    Matrix hidden = linear(x, prefix + (is_swapped ? "ffn_down" : "ffn_up"));
    const bool is_third = has_tensor("v.position_embd.weight");
    for (double& value : hidden.values) value = is_third ? tanh_gelu(value) : quick_gelu(value);
    return linear(hidden, prefix + (is_swapped ? "ffn_up" : "ffn_down"));
}

ReferenceQwen::Layers ReferenceQwen::encode(std::span<const float> pixels, std::size_t width,
                                            std::size_t height) const {
    Layers result;
    result.columns = width / key("patch_size");
    result.rows = height / key("patch_size");
    Matrix x = embed(pixels, width, height);
    add_positions(x, result.columns);
    for (std::size_t block = 0; block < key("block_count"); ++block) {
        const std::string prefix = "v.blk." + std::to_string(block) + ".";
        const Matrix normed = any_norm(x, prefix + "ln1");
        const bool is_fused = has_tensor(prefix + "attn_qkv.weight");
        const Matrix all = is_fused ? linear(normed, prefix + "attn_qkv") : Matrix();
        const auto projected = [&](const char* name, std::size_t which) {
            if (!is_fused) return linear(normed, prefix + name);
            Matrix part(x.rows, x.columns);
            for (std::size_t i = 0; i < part.values.size(); ++i) {
                part.values[i] = all.at(i / x.columns, which * x.columns + i % x.columns);
            }
            return part;
        };
        Matrix q = projected("attn_q", 0);
        Matrix k = projected("attn_k", 1);
        const Matrix v = projected("attn_v", 2);
        turn(q, result.columns);
        turn(k, result.columns);
        add(x, linear(attend(block, q, k, v, result.columns), prefix + "attn_out"));
        add(x, feed_forward(any_norm(x, prefix + "ln2"), prefix));
        result.layers.push_back(x);
        result.keys.push_back(k);
    }
    return result;
}

Matrix ReferenceQwen::merged(const Matrix& patches, std::size_t columns) {
    Matrix groups(patches.rows / 4, 4 * patches.columns);
    for (std::size_t token = 0; token < groups.rows; ++token) {
        const std::size_t y = token / (columns / 2) * 2;
        const std::size_t x = token % (columns / 2) * 2;
        for (std::size_t i = 0; i < groups.columns; ++i) {
            const std::size_t patch = i / patches.columns;
            groups.at(token, i) = patches.at((y + patch / 2) * columns + x + patch % 2, i % patches.columns);
        }
    }
    return groups;
}

// Merged first, then normalised.
Matrix ReferenceQwen::branch(const Matrix& layer, std::size_t block, std::size_t columns) const {
    const std::string prefix = "v.deepstack." + std::to_string(block) + ".";
    Matrix hidden = linear(norm(merged(layer, columns), prefix + "norm"), prefix + "fc1");
    for (double& value : hidden.values) value = exact_gelu(value);
    return linear(hidden, prefix + "fc2");
}

Matrix ReferenceQwen::project(const Matrix& features, std::size_t columns) const {
    return ReferenceVit::project(merged(any_norm(features, "v.post_ln"), columns));
}

}  // namespace clasp::test
