#include "support/random_tensors.h"

#include <cmath>

namespace clasp::test {

namespace {

std::string encode(const std::vector<float>& values, ggml_type type, std::int64_t row) {
    const auto rows = static_cast<std::int64_t>(values.size()) / row;
    std::string bytes(ggml_row_size(type, row) * static_cast<std::size_t>(rows), '\0');
    if (type == GGML_TYPE_F32) {
        std::memcpy(bytes.data(), values.data(), bytes.size());
    } else {
        ggml_quantize_chunk(type, values.data(), bytes.data(), 0, rows, row, nullptr);
    }
    return bytes;
}

}  // namespace

float VisionRandom::next(float deviation) {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    const auto bits = static_cast<std::uint32_t>((state_ * 0x2545F4914F6CDD1DULL) >> 40);
    constexpr float kScale = 1.0F / 16777216.0F;
    constexpr float kWidth = 3.4641016F;  // sqrt(12)
    return (static_cast<float>(bits) * kScale - 0.5F) * kWidth * deviation;
}

void RandomTensors::linear(const std::string& name, std::int64_t inputs, std::int64_t outputs, float gain,
                           bool has_bias) {
    // Rows that are no whole number of blocks stay in half precision, as converters do it.
    const ggml_type type = inputs % ggml_blck_size(matrix_type) == 0 ? matrix_type : GGML_TYPE_F16;
    add(name + ".weight", {inputs, outputs}, type, 0.0F, gain / std::sqrt(static_cast<float>(inputs)),
        inputs);
    if (has_bias) values(name + ".bias", {outputs}, 0.0F, 0.05F);
}

void RandomTensors::kernel(const std::string& name, const std::vector<std::int64_t>& shape) {
    const ggml_type type = matrix_type == GGML_TYPE_F32 ? GGML_TYPE_F32 : GGML_TYPE_F16;
    const auto inputs = static_cast<float>(shape[0] * shape[1] * shape[2]);
    add(name, shape, type, 0.0F, 1.0F / std::sqrt(inputs), shape[0]);
}

void RandomTensors::norm(const std::string& name, std::int64_t width, bool has_bias) {
    const std::size_t n_outliers = outlier_channels;
    const float deviation = 0.1F;
    const std::uint64_t seed = ++next_seed;
    const std::size_t bytes = static_cast<std::size_t>(width) * sizeof(float);
    writer.tensor(name + ".weight", {width}, GGML_TYPE_F32, bytes, [=] {
        VisionRandom random(seed);
        std::vector<float> data(static_cast<std::size_t>(width));
        for (float& value : data) value = 1.0F + random.next(deviation);
        for (std::size_t i = 0; i < n_outliers; ++i) data[(i * 37 + 11) % data.size()] *= 25.0F;
        return encode(data, GGML_TYPE_F32, width);
    });
    if (has_bias) values(name + ".bias", {width}, 0.0F, deviation);
}

void RandomTensors::values(const std::string& name, const std::vector<std::int64_t>& shape, float mean,
                           float deviation) {
    add(name, shape, GGML_TYPE_F32, mean, deviation, shape[0]);
}

void RandomTensors::add(const std::string& name, const std::vector<std::int64_t>& shape, ggml_type type,
                        float mean, float deviation, std::int64_t row) {
    std::size_t count = 1;
    for (const std::int64_t n : shape) count *= static_cast<std::size_t>(n);
    const std::size_t bytes = ggml_row_size(type, row) * (count / static_cast<std::size_t>(row));
    const std::uint64_t seed = ++next_seed;
    writer.tensor(name, shape, static_cast<std::uint32_t>(type), bytes, [=] {
        VisionRandom random(seed);
        std::vector<float> data(count);
        for (float& value : data) value = mean + random.next(deviation);
        return encode(data, type, row);
    });
}

}  // namespace clasp::test
