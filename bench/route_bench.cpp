// Time per question on one core, and time to load.
//   clasp_route_bench --benchmark_filter=...
#include <benchmark/benchmark.h>

#include <array>
#include <string>
#include <string_view>

#include "clasp/route.h"
#include "route/embedded.h"
#include "route/features.h"
#include "route/model.h"

namespace {

constexpr std::array<std::string_view, 6> kQuestions = {
    "What color is the bus?",
    "Is there a glacier in this image?",
    "What kind of vehicle is to the right of the people in front of the building?",
    "What did the boy in stripes do after the girl jumped at the start of the video",
    "Which of the following organisms is the producer in this food web?",
    "What is the name of the store? Answer the question using a single word or phrase.",
};

void route_question(benchmark::State& state) {
    const clasp::Router router = *clasp::Router::create();
    std::size_t i = 0;
    for (auto _ : state) benchmark::DoNotOptimize(router.route(kQuestions[i++ % kQuestions.size()]));
}
BENCHMARK(route_question)->Unit(benchmark::kMicrosecond);

// The longest question that is still looked at.
void route_long_text(benchmark::State& state) {
    const clasp::Router router = *clasp::Router::create();
    std::string text;
    while (text.size() < 60000) text += "pasted words about many different things ";
    for (auto _ : state) benchmark::DoNotOptimize(router.route(text));
}
BENCHMARK(route_long_text)->Unit(benchmark::kMicrosecond);

void extract_features(benchmark::State& state) {
    const auto& lexicon = clasp::route::Lexicon::builtin();
    const auto words = *clasp::route::read_question(kQuestions[2]);
    for (auto _ : state) benchmark::DoNotOptimize(clasp::route::extract_features(words, lexicon));
}
BENCHMARK(extract_features)->Unit(benchmark::kMicrosecond);

void load_lexicon(benchmark::State& state) {
    for (auto _ : state)
        benchmark::DoNotOptimize(clasp::route::Lexicon::parse(clasp::route::embedded_lexicon()));
}
BENCHMARK(load_lexicon)->Unit(benchmark::kMillisecond);

// Without the lexicon and the taxonomy, which are read once per process.
void create_router(benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(clasp::Router::create());
}
BENCHMARK(create_router)->Unit(benchmark::kMillisecond);

}  // namespace
