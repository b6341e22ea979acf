#include "nn/frame_attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace clasp::training {
namespace {

constexpr int kMostFrames = 16;

float dot_of(const float* a, const float* b, int count) {
    float sum = 0;
    for (int i = 0; i < count; ++i) sum += a[i] * b[i];
    return sum;
}

void add_scaled(float* to, const float* from, float scale, int count) {
    for (int i = 0; i < count; ++i) to[i] += scale * from[i];
}

// Calls work(first row, distance of rows, column of the head, probabilities) for every place and head.
template <typename Work>
void for_places(const FrameLayout& layout, const AttentionShape& shape, const Work& work) {
    const int matrix = layout.frames * layout.frames;
    std::ptrdiff_t number = 0;
    for (int clip = 0; clip < layout.clips; ++clip)
        for (int place = 0; place < layout.places; ++place)
            for (int head = 0; head < shape.heads; ++head)
                work(clip * layout.frames * layout.places + place, head * shape.head_width(),
                     number++ * matrix);
}

}  // namespace

float* frame_attention(const float* qkv, float* out, const FrameLayout& layout, const AttentionShape& shape,
                       Arena& arena) {
    const int frames = layout.frames;
    const int hw = shape.head_width();
    const float scale = 1.0F / std::sqrt(static_cast<float>(hw));
    const auto d = static_cast<std::ptrdiff_t>(shape.width);
    float* all = arena.take(static_cast<std::size_t>(layout.clips) * static_cast<std::size_t>(layout.places) *
                            static_cast<std::size_t>(shape.heads * frames * frames));
    for_places(layout, shape, [&](int first, int column, std::ptrdiff_t at) {
        const auto row = [&](int frame) {
            return static_cast<std::ptrdiff_t>(first + frame * layout.places);
        };
        for (int i = 0; i < frames; ++i) {
            const float* q = qkv + row(i) * 3 * d + column;
            float* p = all + at + static_cast<std::ptrdiff_t>(i) * frames;
            for (int j = 0; j < frames; ++j) p[j] = scale * dot_of(q, qkv + row(j) * 3 * d + d + column, hw);
            const float top = *std::max_element(p, p + frames);
            float total = 0;
            for (int j = 0; j < frames; ++j) total += p[j] = std::exp(p[j] - top);
            float* o = out + row(i) * d + column;
            std::fill_n(o, hw, 0.0F);
            for (int j = 0; j < frames; ++j) {
                p[j] /= total;
                add_scaled(o, qkv + row(j) * 3 * d + 2 * d + column, p[j], hw);
            }
        }
    });
    return all;
}

void frame_attention_backward(const float* qkv, const float* probabilities, const float* d_out, float* d_qkv,
                              const FrameLayout& layout, const AttentionShape& shape) {
    const int frames = layout.frames;
    const int hw = shape.head_width();
    const float scale = 1.0F / std::sqrt(static_cast<float>(hw));
    const auto d = static_cast<std::ptrdiff_t>(shape.width);
    std::fill_n(d_qkv, static_cast<std::ptrdiff_t>(layout.rows()) * 3 * d, 0.0F);
    for_places(layout, shape, [&](int first, int column, std::ptrdiff_t at) {
        const auto row = [&](int frame) {
            return static_cast<std::ptrdiff_t>(first + frame * layout.places);
        };
        for (int i = 0; i < frames; ++i) {
            const float* p = probabilities + at + static_cast<std::ptrdiff_t>(i) * frames;
            const float* grad = d_out + row(i) * d + column;
            std::array<float, kMostFrames> dp{};
            float mean = 0;
            for (int j = 0; j < frames; ++j) {
                const auto slot = static_cast<std::size_t>(j);
                dp[slot] = dot_of(grad, qkv + row(j) * 3 * d + 2 * d + column, hw);
                mean += dp[slot] * p[j];
                add_scaled(d_qkv + row(j) * 3 * d + 2 * d + column, grad, p[j], hw);
            }
            const float* q = qkv + row(i) * 3 * d + column;
            float* dq = d_qkv + row(i) * 3 * d + column;
            for (int j = 0; j < frames; ++j) {
                const float ds = p[j] * (dp[static_cast<std::size_t>(j)] - mean) * scale;
                add_scaled(dq, qkv + row(j) * 3 * d + d + column, ds, hw);
                add_scaled(d_qkv + row(j) * 3 * d + d + column, q, ds, hw);
            }
        }
    });
}

}  // namespace clasp::training
