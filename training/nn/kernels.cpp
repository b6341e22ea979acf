// Compiled with relaxed floating-point rules so that the loops become vector code; nothing here
// depends on infinities or on the order of additions.
#include "nn/kernels.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace clasp::training {

void layer_norm(const float* x, const float* w, const float* b, float* y, float* stats, int rows, int width,
                float epsilon) {
    for (int r = 0; r < rows; ++r, x += width, y += width) {
        float sum = 0;
        for (int i = 0; i < width; ++i) sum += x[i];
        const float mean = sum / static_cast<float>(width);
        float square = 0;
        for (int i = 0; i < width; ++i) square += (x[i] - mean) * (x[i] - mean);
        const float inverse = 1.0F / std::sqrt(square / static_cast<float>(width) + epsilon);
        for (int i = 0; i < width; ++i) y[i] = (x[i] - mean) * inverse * w[i] + b[i];
        stats[2 * r] = mean;
        stats[2 * r + 1] = inverse;
    }
}

void layer_norm_backward(const float* x, const float* w, const float* stats, const float* dy, float* dx,
                         float* dw, float* db, int rows, int width) {
    for (int r = 0; r < rows; ++r, x += width, dy += width, dx += width) {
        const float mean = stats[2 * r];
        const float inverse = stats[2 * r + 1];
        float sum = 0;
        float dot = 0;
        for (int i = 0; i < width; ++i) {
            const float unit = (x[i] - mean) * inverse;
            const float g = dy[i] * w[i];
            sum += g;
            dot += g * unit;
            dw[i] += dy[i] * unit;
            db[i] += dy[i];
        }
        sum /= static_cast<float>(width);
        dot /= static_cast<float>(width);
        for (int i = 0; i < width; ++i) {
            const float unit = (x[i] - mean) * inverse;
            dx[i] += (dy[i] * w[i] - sum - unit * dot) * inverse;
        }
    }
}

void rms_norm(const float* x, const float* w, float* y, float* stats, int rows, int width, float epsilon) {
    for (int r = 0; r < rows; ++r, x += width, y += width) {
        float square = 0;
        for (int i = 0; i < width; ++i) square += x[i] * x[i];
        const float inverse = 1.0F / std::sqrt(square / static_cast<float>(width) + epsilon);
        for (int i = 0; i < width; ++i) y[i] = x[i] * inverse * w[i];
        stats[r] = inverse;
    }
}

void rms_norm_backward(const float* x, const float* w, const float* stats, const float* dy, float* dx,
                       float* dw, int rows, int width) {
    for (int r = 0; r < rows; ++r, x += width, dy += width, dx += width) {
        const float inverse = stats[r];
        float dot = 0;
        for (int i = 0; i < width; ++i) {
            dot += dy[i] * w[i] * x[i];
            dw[i] += dy[i] * x[i] * inverse;
        }
        const float share = dot * inverse * inverse * inverse / static_cast<float>(width);
        for (int i = 0; i < width; ++i) dx[i] += dy[i] * w[i] * inverse - x[i] * share;
    }
}

void quick_gelu(const float* x, float* y, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) y[i] = x[i] / (1.0F + std::exp(-1.702F * x[i]));
}

void quick_gelu_backward(const float* x, float* dy_to_dx, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const float s = 1.0F / (1.0F + std::exp(-1.702F * x[i]));
        dy_to_dx[i] *= s * (1.0F + 1.702F * x[i] * (1.0F - s));
    }
}

void gelu(const float* x, float* y, std::size_t count) {
    constexpr float kRoot = std::numbers::sqrt2_v<float> / 2;
    for (std::size_t i = 0; i < count; ++i) y[i] = 0.5F * x[i] * (1.0F + std::erf(x[i] * kRoot));
}

void gelu_backward(const float* x, float* dy_to_dx, std::size_t count) {
    constexpr float kRoot = std::numbers::sqrt2_v<float> / 2;
    constexpr float kDensity = 0.3989422804F;
    for (std::size_t i = 0; i < count; ++i) {
        const float below = 0.5F * (1.0F + std::erf(x[i] * kRoot));
        dy_to_dx[i] *= below + x[i] * kDensity * std::exp(-0.5F * x[i] * x[i]);
    }
}

void swiglu(const float* gate_up, float* y, int rows, int width) {
    for (int r = 0; r < rows; ++r, gate_up += 2 * width, y += width) {
        const float* gate = gate_up;
        const float* up = gate_up + width;
        for (int i = 0; i < width; ++i) y[i] = gate[i] / (1.0F + std::exp(-gate[i])) * up[i];
    }
}

void swiglu_backward(const float* gate_up, const float* dy, float* d_gate_up, int rows, int width) {
    for (int r = 0; r < rows; ++r, gate_up += 2 * width, d_gate_up += 2 * width, dy += width) {
        const float* gate = gate_up;
        const float* up = gate_up + width;
        for (int i = 0; i < width; ++i) {
            const float s = 1.0F / (1.0F + std::exp(-gate[i]));
            d_gate_up[i] = dy[i] * up[i] * s * (1.0F + gate[i] * (1.0F - s));
            d_gate_up[width + i] = dy[i] * gate[i] * s;
        }
    }
}

namespace {

// Cosines and sines of every position's angles, one row of `pairs` of each per position; kept
// between calls because all blocks and steps use the same ones.
class AngleTable {
   public:
    void prepare(int positions, int head_width) {
        if (head_width != head_width_) rows_ = 0;
        if (positions <= rows_) return;
        head_width_ = head_width;
        rows_ = positions;
        const int pairs = head_width / 2;
        values_.resize(static_cast<std::size_t>(positions) * static_cast<std::size_t>(head_width));
        for (int p = 0; p < positions; ++p)
            for (int i = 0; i < pairs; ++i) {
                const double exponent = -2.0 * i / head_width;
                const double angle = p * std::pow(10000.0, exponent);
                float* row = values_.data() + static_cast<std::ptrdiff_t>(p) * head_width;
                row[i] = static_cast<float>(std::cos(angle));
                row[pairs + i] = static_cast<float>(std::sin(angle));
            }
    }
    const float* cosines(int position) const {
        return values_.data() + static_cast<std::ptrdiff_t>(position) * head_width_;
    }
    const float* sines(int position) const { return cosines(position) + head_width_ / 2; }

   private:
    int rows_ = 0;
    int head_width_ = 0;
    std::vector<float> values_;
};

}  // namespace

void rotate_pairs(float* qkv, std::span<const int> positions, int width, int head_width, int direction) {
    thread_local AngleTable table;
    table.prepare(1 + *std::max_element(positions.begin(), positions.end()), head_width);
    const int pairs = head_width / 2;
    const auto sign = static_cast<float>(direction);
    for (const int position : positions) {
        const float* cosine = table.cosines(position);
        const float* sine = table.sines(position);
        for (int at = 0; at < 2 * width; at += head_width)
            for (int i = 0; i < pairs; ++i) {
                float* pair = qkv + at + 2 * i;
                const float a = pair[0];
                const float b = pair[1];
                pair[0] = a * cosine[i] - b * sine[i] * sign;
                pair[1] = a * sine[i] * sign + b * cosine[i];
            }
        qkv += 3 * width;
    }
}

void add_bias(float* x, const float* bias, int rows, int width) {
    for (int r = 0; r < rows; ++r, x += width)
        for (int i = 0; i < width; ++i) x[i] += bias[i];
}

void add_bias_backward(const float* dx, float* db, int rows, int width) {
    for (int r = 0; r < rows; ++r, dx += width)
        for (int i = 0; i < width; ++i) db[i] += dx[i];
}

void add(float* x, const float* y, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) x[i] += y[i];
}

void gather_rows(const float* from, std::span<const int> rows, int width, float* to) {
    for (const int row : rows) {
        std::copy_n(from + static_cast<std::ptrdiff_t>(row) * width, width, to);
        to += width;
    }
}

void scatter_rows(const float* from, std::span<const int> rows, int width, float* to) {
    for (const int row : rows) {
        add(to + static_cast<std::ptrdiff_t>(row) * width, from, static_cast<std::size_t>(width));
        from += width;
    }
}

float softmax_loss(float* logits, int classes, int target) {
    float top = logits[0];
    for (int i = 1; i < classes; ++i) top = std::max(top, logits[i]);
    const float shifted = logits[target] - top;
    float sum = 0;
    for (int i = 0; i < classes; ++i) {
        logits[i] = std::exp(logits[i] - top);
        sum += logits[i];
    }
    const float inverse = 1.0F / sum;
    for (int i = 0; i < classes; ++i) logits[i] *= inverse;
    return std::log(sum) - shifted;
}

void softmax_ranges(float* row, int prefix, int begin, int end, int width, float scale) {
    float top = -1e30F;
    for (int i = 0; i < prefix; ++i) top = std::max(top, row[i]);
    for (int i = begin; i < end; ++i) top = std::max(top, row[i]);
    float sum = 0;
    for (int i = 0; i < prefix; ++i) {
        row[i] = std::exp((row[i] - top) * scale);
        sum += row[i];
    }
    for (int i = prefix; i < begin; ++i) row[i] = 0;
    for (int i = begin; i < end; ++i) {
        row[i] = std::exp((row[i] - top) * scale);
        sum += row[i];
    }
    for (int i = std::max(end, prefix); i < width; ++i) row[i] = 0;
    const float inverse = 1.0F / sum;
    for (int i = 0; i < width; ++i) row[i] *= inverse;
}

void softmax_backward(const float* p, float* dp, float dot, int width, float scale) {
    for (int i = 0; i < width; ++i) dp[i] = p[i] * (dp[i] - dot) * scale;
}

}  // namespace clasp::training
