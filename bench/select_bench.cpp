// The Gram matrix and the three pruning stages of one image, on features that look like an image's:
// a few dozen directions with noise around them and a common part.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <random>
#include <vector>

#include "clasp/select.h"
#include "clasp/thread_pool.h"
#include "fma_peak.h"

namespace clasp {
namespace {

constexpr std::size_t kStages = 3;

std::vector<float> image_features(std::size_t n, std::size_t width) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    constexpr std::size_t kDirections = 40;
    std::vector<float> directions(kDirections * width);
    for (float& value : directions) value = normal(random) + 0.5F;
    std::vector<float> features(n * width);
    for (std::size_t t = 0; t < n; ++t) {
        const float* direction = directions.data() + random() % kDirections * width;
        const float spread = 0.3F + 0.001F * static_cast<float>(random() % 1000);
        for (std::size_t i = 0; i < width; ++i)
            features[t * width + i] = direction[i] + spread * normal(random);
    }
    return features;
}

// One thread is timed by its own processor clock, so that a busy machine does not count; several only
// by the wall clock.
class Timer {
   public:
    explicit Timer(std::size_t n_threads)
        : clock_(n_threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC) {}

    void start() { begin_ms_ = now_ms(); }
    [[nodiscard]] double elapsed_ms() const { return now_ms() - begin_ms_; }

   private:
    [[nodiscard]] double now_ms() const {
        timespec time = {};
        clock_gettime(clock_, &time);
        return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
    }

    clockid_t clock_;
    double begin_ms_ = 0;
};

// Arguments: tokens, width, threads.
void gram_matrix(benchmark::State& state) {
    const auto n = static_cast<std::size_t>(state.range(0));
    const auto width = static_cast<std::size_t>(state.range(1));
    const std::vector<float> features = image_features(n, width);
    std::vector<float> out(n * n);
    SelectWorkspace workspace;
    ThreadPool pool(static_cast<std::size_t>(state.range(2)));
    const double operations = static_cast<double>(n * (n + 1)) * static_cast<double>(width);
    Timer timer(pool.size());
    double best_ms = 1e300;
    double peak = 0;
    for (auto _ : state) {
        state.PauseTiming();
        peak = std::max(peak, bench::fma_gflops());
        state.ResumeTiming();
        timer.start();
        const Status status = gram({features.data(), n, width, width}, workspace, &pool, out.data(), n);
        best_ms = std::min(best_ms, timer.elapsed_ms());
        if (!status.ok()) state.SkipWithError(status.message().c_str());
    }
    const double gflops = operations / best_ms * 1e-6;
    state.counters["best_ms"] = best_ms;
    state.counters["gflops"] = gflops;
    state.counters["core_peak_gflops"] = peak;
    state.counters["of_core_peak"] = gflops / peak;
}

// The published counts of R = 192, scaled to n tokens.
std::array<std::size_t, kStages> stage_budgets(std::size_t n) {
    return {n * 300 / 576, n * 200 / 576, n * 110 / 576};
}

std::array<std::vector<float>, kStages> stage_scores(std::size_t n) {
    std::mt19937 random(11);
    std::exponential_distribution<float> attention(1.0F);
    std::array<std::vector<float>, kStages> scores;
    for (std::size_t stage = 0; stage < kStages; ++stage) {
        scores[stage].resize(stage == 0 ? n : stage_budgets(n)[stage - 1]);
        for (float& score : scores[stage]) score = attention(random);
    }
    return scores;
}

// Arguments: tokens, width, split in percent, threads. The Gram matrix is given.
void three_stages(benchmark::State& state) {
    const auto n = static_cast<std::size_t>(state.range(0));
    const auto width = static_cast<std::size_t>(state.range(1));
    const double split = static_cast<double>(state.range(2)) / 100.0;
    ThreadPool pool(static_cast<std::size_t>(state.range(3)));
    const std::vector<float> features = image_features(n, width);
    std::vector<float> matrix(n * n);
    SelectWorkspace workspace;
    const Status made = gram({features.data(), n, width, width}, workspace, &pool, matrix.data(), n);
    if (!made.ok()) state.SkipWithError(made.message().c_str());

    const auto budgets = stage_budgets(n);
    const auto scores = stage_scores(n);
    std::array<SelectPlan, kStages> plans;
    std::array<double, kStages> best_stage = {1e300, 1e300, 1e300};
    SelectTimings steps;
    Timer timer(pool.size());
    double best_ms = 1e300;
    for (auto _ : state) {
        double total_ms = 0;
        for (std::size_t stage = 0; stage < kStages; ++stage) {
            SelectInput input;
            input.gram = {matrix.data(), n, n};
            if (stage > 0) input.live = plans[stage - 1].kept;
            input.scores = scores[stage];
            timer.start();
            const Status status =
                select(input, {.budget = budgets[stage], .split = split}, workspace, &pool, plans[stage]);
            const double stage_ms = timer.elapsed_ms();
            if (!status.ok()) state.SkipWithError(status.message().c_str());
            if (stage == 0 && stage_ms < best_stage[0]) steps = plans[0].timings;
            best_stage[stage] = std::min(best_stage[stage], stage_ms);
            total_ms += stage_ms;
        }
        best_ms = std::min(best_ms, total_ms);
    }
    state.counters["best_ms"] = best_ms;
    state.counters["stage1_ms"] = best_stage[0];
    state.counters["stage2_ms"] = best_stage[1];
    state.counters["stage3_ms"] = best_stage[2];
    // The steps of the first stage, in its best run.
    state.counters["pivots1_ms"] = steps.pivots_ms;
    state.counters["seeds1_ms"] = steps.seeds_ms;
    state.counters["clusters1_ms"] = steps.clusters_ms;
    state.counters["medoids1_ms"] = steps.medoids_ms;
}

// Arguments: tokens, width, split in percent, threads. Many tokens: from the features, similarities included.
void three_stages_of_features(benchmark::State& state) {
    const auto n = static_cast<std::size_t>(state.range(0));
    const auto width = static_cast<std::size_t>(state.range(1));
    const double split = static_cast<double>(state.range(2)) / 100.0;
    ThreadPool pool(static_cast<std::size_t>(state.range(3)));
    const std::vector<float> features = image_features(n, width);
    const auto budgets = stage_budgets(n);
    const auto scores = stage_scores(n);
    SelectWorkspace workspace;
    std::array<SelectPlan, kStages> plans;
    std::array<double, kStages> best_stage = {1e300, 1e300, 1e300};
    Timer timer(pool.size());
    for (auto _ : state) {
        for (std::size_t stage = 0; stage < kStages; ++stage) {
            SelectInput input;
            input.features = {features.data(), n, width, width};
            if (stage > 0) input.live = plans[stage - 1].kept;
            input.scores = scores[stage];
            timer.start();
            const Status status = select(input, {.budget = budgets[stage], .split = split, .gram_limit = 0},
                                         workspace, &pool, plans[stage]);
            best_stage[stage] = std::min(best_stage[stage], timer.elapsed_ms());
            if (!status.ok()) state.SkipWithError(status.message().c_str());
        }
    }
    state.counters["best_ms"] = best_stage[0] + best_stage[1] + best_stage[2];
    state.counters["stage1_ms"] = best_stage[0];
    state.counters["seeds1_ms"] = plans[0].timings.seeds_ms;
    state.counters["clusters1_ms"] = plans[0].timings.clusters_ms;
    state.counters["iterations1"] = plans[0].iterations;
    state.counters["core_peak_gflops"] = bench::fma_gflops();
}

BENCHMARK(gram_matrix)
    ->ArgNames({"tokens", "width", "threads"})
    ->Args({576, 4096, 1})
    ->Args({1024, 3584, 1})
    ->Args({2880, 4096, 1})
    ->Args({576, 4096, 2})
    ->Args({2880, 4096, 2})
    ->Unit(benchmark::kMillisecond);

BENCHMARK(three_stages)
    ->ArgNames({"tokens", "width", "split_percent", "threads"})
    ->Args({576, 4096, 0, 1})
    ->Args({576, 4096, 20, 1})
    ->Args({576, 4096, 50, 1})
    ->Args({576, 4096, 80, 1})
    ->Args({1024, 3584, 20, 1})
    ->Args({2880, 4096, 20, 1})
    ->Args({2880, 4096, 20, 2})
    ->Unit(benchmark::kMillisecond);

BENCHMARK(three_stages_of_features)
    ->ArgNames({"tokens", "width", "split_percent", "threads"})
    ->Args({8192, 3584, 20, 1})
    ->Args({8192, 3584, 20, 2})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace clasp
