// From a budget to counts: a published one, solved ones of several sizes and depths, and a tiny one.
// search.
#include <benchmark/benchmark.h>

#include "clasp/schedule.h"

namespace {

void schedule(benchmark::State& state) {
    clasp::ScheduleRequest request;
    request.n_visual = static_cast<std::size_t>(state.range(0));
    request.n_layers = static_cast<std::size_t>(state.range(1));
    request.budget = {clasp::BudgetSpec::Kind::Tokens, static_cast<double>(state.range(2))};
    for (auto _ : state) {
        auto result = clasp::make_schedule(request);
        if (!result.ok()) state.SkipWithError(result.status().message().c_str());
        benchmark::DoNotOptimize(result);
    }
}

BENCHMARK(schedule)
    ->ArgNames({"tokens", "layers", "budget"})
    ->Args({576, 32, 192})
    ->Args({576, 32, 150})
    ->Args({576, 40, 192})
    ->Args({256, 8, 80})
    ->Args({2880, 28, 700})
    ->Args({9, 36, 2})
    ->Unit(benchmark::kMicrosecond);

}  // namespace
