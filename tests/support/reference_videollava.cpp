#include "support/reference_videollava.h"

#include <cmath>

namespace clasp::test {

namespace {

// Row `query` of a head's attention over the rows of k: their shares.
std::vector<double> shares_of(const Matrix& q, std::size_t query, const Matrix& k, std::size_t first,
                              std::size_t head_width) {
    std::vector<double> logits(k.rows, 0.0);
    for (std::size_t key = 0; key < k.rows; ++key) {
        for (std::size_t i = first; i < first + head_width; ++i) logits[key] += q.at(query, i) * k.at(key, i);
        logits[key] /= std::sqrt(static_cast<double>(head_width));
    }
    return softmax(logits);
}

}  // namespace

Matrix ReferenceVideoLlava::embed_frame(const std::vector<float>& pixels) const {
    const std::size_t size = key("image_size");
    const std::size_t patch = key("patch_size");
    const std::size_t width = key("embedding_length");
    const std::size_t side = size / patch;
    const Matrix kernel = tensor("vv.patch_embd.weight");  // rows: output, channel, line
    const Matrix class_token = tensor("vv.class_embd");
    Matrix x(1 + side * side, width);
    for (std::size_t o = 0; o < width; ++o) {
        x.at(0, o) = class_token.values[o];
        for (std::size_t p = 0; p < side * side; ++p) {
            for (std::size_t c = 0; c < 3; ++c) {
                for (std::size_t line = 0; line < patch; ++line) {
                    for (std::size_t column = 0; column < patch; ++column) {
                        const std::size_t y = p / side * patch + line;
                        const std::size_t at = (c * size + y) * size + p % side * patch + column;
                        x.at(1 + p, o) +=
                            kernel.at((o * 3 + c) * patch + line, column) * static_cast<double>(pixels[at]);
                    }
                }
            }
        }
    }
    add(x, tensor("vv.position_embd.weight"));
    return norm(x, "vv.pre_ln");
}

// A frame's own vector is added to all of its rows; then each place attends to itself in all frames.
void ReferenceVideoLlava::attend_over_time(std::vector<Matrix>& frames, const std::string& block) const {
    const std::size_t heads = key("attention.head_count");
    const Matrix times = tensor(block + "t_embd");
    for (std::size_t f = 0; f < frames.size(); ++f) {
        for (std::size_t row = 0; row < frames[f].rows; ++row) {
            for (std::size_t i = 0; i < frames[f].columns; ++i) frames[f].at(row, i) += times.at(f, i);
        }
    }
    const std::size_t width = times.columns;
    const std::size_t head_width = width / heads;
    for (std::size_t place = 0; place < frames.front().rows; ++place) {
        Matrix rows(frames.size(), width);
        for (std::size_t f = 0; f < frames.size(); ++f) {
            for (std::size_t i = 0; i < width; ++i) rows.at(f, i) = frames[f].at(place, i);
        }
        const Matrix normed = norm(rows, block + "t_ln");
        const Matrix q = linear(normed, block + "t_attn_q");
        const Matrix k = linear(normed, block + "t_attn_k");
        const Matrix v = linear(normed, block + "t_attn_v");
        Matrix mixed(frames.size(), width);
        for (std::size_t head = 0; head < heads; ++head) {
            for (std::size_t f = 0; f < frames.size(); ++f) {
                const auto shares = shares_of(q, f, k, head * head_width, head_width);
                for (std::size_t g = 0; g < frames.size(); ++g) {
                    for (std::size_t i = head * head_width; i < (head + 1) * head_width; ++i) {
                        mixed.at(f, i) += shares[g] * v.at(g, i);
                    }
                }
            }
        }
        const Matrix added = linear(mixed, block + "t_attn_out");
        for (std::size_t f = 0; f < frames.size(); ++f) {
            for (std::size_t i = 0; i < width; ++i) frames[f].at(place, i) += added.at(f, i);
        }
    }
}

void ReferenceVideoLlava::attend_over_places(Matrix& x, const std::string& block,
                                             ReferenceOutput& output) const {
    const std::size_t heads = key("attention.head_count");
    const std::size_t head_width = x.columns / heads;
    const Matrix normed = norm(x, block + "ln1");
    const Matrix q = linear(normed, block + "attn_q");
    const Matrix k = linear(normed, block + "attn_k");
    const Matrix v = linear(normed, block + "attn_v");
    Matrix mixed(x.rows, x.columns);
    Matrix class_rows(heads, x.rows);
    for (std::size_t head = 0; head < heads; ++head) {
        for (std::size_t t = 0; t < x.rows; ++t) {
            const auto shares = shares_of(q, t, k, head * head_width, head_width);
            for (std::size_t s = 0; s < x.rows; ++s) {
                if (t == 0) class_rows.at(head, s) = shares[s];
                for (std::size_t i = head * head_width; i < (head + 1) * head_width; ++i) {
                    mixed.at(t, i) += shares[s] * v.at(s, i);
                }
            }
        }
    }
    add(x, linear(mixed, block + "attn_out"));
    output.class_attention.push_back(class_rows);
    output.keys.push_back(k);
}

void ReferenceVideoLlava::feed(Matrix& x, const std::string& block) const {
    Matrix hidden = linear(norm(x, block + "ln2"), block + "ffn_up");
    for (double& value : hidden.values) value = is_gelu() ? exact_gelu(value) : quick_gelu(value);
    add(x, linear(hidden, block + "ffn_down"));
}

ReferenceClip ReferenceVideoLlava::encode_clip(const std::vector<std::vector<float>>& frames) const {
    std::vector<Matrix> x;
    for (const std::vector<float>& pixels : frames) x.push_back(embed_frame(pixels));
    ReferenceClip clip;
    clip.frames.resize(frames.size());
    for (std::size_t i = 0; i < key("block_count"); ++i) {
        const std::string block = "vv.blk." + std::to_string(i) + ".";
        if (has_tensor(block + "t_embd")) attend_over_time(x, block);
        for (std::size_t f = 0; f < frames.size(); ++f) {
            attend_over_places(x[f], block, clip.frames[f]);
            feed(x[f], block);
            clip.frames[f].layers.push_back(x[f]);
        }
    }
    return clip;
}

}  // namespace clasp::test
