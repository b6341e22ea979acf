// Fusion of three layers of 577 x 1024 (one image of CLIP ViT-L/14-336), next to what a plain copy reaches in
// the same run. Bytes are those that must move: every input once, the output once.
#include <benchmark/benchmark.h>

#include <cstring>
#include <random>
#include <vector>

#include "clasp/fuse.h"
#include "fuse/kernel.h"

namespace {

constexpr std::size_t kTokens = 577;
constexpr std::size_t kWidth = 1024;
constexpr std::size_t kLayers = 3;
constexpr std::size_t kValues = kTokens * kWidth;

// Enough copies of the input that no cache holds them all.
constexpr std::size_t kCopies = 16;

struct Input {
    std::vector<std::vector<std::byte>> layers;
    std::vector<clasp::LayerView> views;  // kCopies groups of kLayers
    std::vector<float> out = std::vector<float>(kValues);

    explicit Input(clasp::FloatType type) {
        std::mt19937 random(1);
        for (std::size_t l = 0; l < kLayers * kCopies; ++l) {
            std::vector<std::byte> bytes(kValues * clasp::float_size(type));
            // Random bytes below 0x40: finite values from 0 to 2 in all formats.
            for (std::size_t i = 0; i < bytes.size(); ++i)
                bytes[i] = static_cast<std::byte>(random() & 0x3fU);
            layers.push_back(std::move(bytes));
            views.push_back({layers.back().data(), type, kTokens, kWidth, 0});
        }
    }

    [[nodiscard]] std::span<const clasp::LayerView> group(std::size_t i) const {
        return std::span(views).subspan(i % kCopies * kLayers, kLayers);
    }
    [[nodiscard]] double bytes_moved() const {
        return static_cast<double>(kLayers * layers[0].size() + kValues * sizeof(float));
    }
};

constexpr float kWeights[kLayers] = {0.2F, 0.3F, 0.5F};

void report(benchmark::State& state, double bytes) {
    state.counters["GB/s"] = benchmark::Counter(bytes * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

void fuse(benchmark::State& state, clasp::FloatType type) {
    Input input(type);
    clasp::ThreadPool pool(static_cast<std::size_t>(state.range(0)));
    std::size_t i = 0;
    for (auto _ : state) {
        const clasp::Status status = clasp::fuse_layers(input.group(i++), kWeights, input.out, &pool);
        if (!status.ok()) state.SkipWithError(status.message().c_str());
        benchmark::ClobberMemory();
    }
    report(state, input.bytes_moved());
}

// The specification that the vector kernel matches, one thread.
void fuse_scalar(benchmark::State& state) {
    Input input(clasp::FloatType::F32);
    std::size_t i = 0;
    for (auto _ : state) {
        const auto views = input.group(i++);
        clasp::fuse::Tap taps[kLayers];
        for (std::size_t l = 0; l < kLayers; ++l) {
            taps[l] = {static_cast<const std::byte*>(views[l].data), views[l].type, kWeights[l]};
        }
        clasp::fuse::weighted_sum_scalar(taps, 0, kValues, input.out.data());
        benchmark::ClobberMemory();
    }
    report(state, input.bytes_moved());
}

// What the machine moves when it only copies, from inputs of the same size and number.
void copy(benchmark::State& state) {
    Input input(clasp::FloatType::F32);
    std::size_t i = 0;
    for (auto _ : state) {
        std::memcpy(input.out.data(), input.group(i++)[0].data, kValues * sizeof(float));
        benchmark::ClobberMemory();
    }
    report(state, 2.0 * kValues * sizeof(float));
}

// Pooling a 48 x 48 grid down and fusing it with a 24 x 24 one.
void fuse_grids(benchmark::State& state) {
    const std::vector<float> fine(2304 * kWidth, 1.0F);
    const std::vector<float> coarse(576 * kWidth, 1.0F);
    const clasp::LayerView views[] = {{fine.data(), clasp::FloatType::F32, 2304, kWidth, 0},
                                      {coarse.data(), clasp::FloatType::F32, 576, kWidth, 0}};
    const clasp::Grid grids[] = {{48, 48}, {24, 24}};
    const float weights[] = {0.2F, 0.8F};
    std::vector<float> out(576 * kWidth);
    for (auto _ : state) {
        const clasp::Status status =
            clasp::fuse_grids(views, grids, weights, {24, 24}, clasp::Upsample::Bilinear, out);
        if (!status.ok()) state.SkipWithError(status.message().c_str());
        benchmark::ClobberMemory();
    }
    report(state, static_cast<double>((2304 + 576 + 576) * kWidth * sizeof(float)));
}

BENCHMARK(copy)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(fuse, float32, clasp::FloatType::F32)
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(fuse, float16, clasp::FloatType::F16)
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(fuse, bfloat16, clasp::FloatType::BF16)
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(fuse_scalar)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(fuse_grids)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
