#include <array>

#include "base/text.h"
#include "eval/benchmark.h"
#include "eval/sets.h"

namespace clasp::eval {

std::span<const Benchmark> benchmarks() {
    static const std::array kBenchmarks = {
        scenes_benchmark(),
        jsonl_benchmark(),
    };
    return kBenchmarks;
}

Result<const Benchmark*> find_benchmark(std::string_view name) {
    std::vector<std::string_view> names;
    for (const Benchmark& benchmark : benchmarks()) {
        if (benchmark.name == name) return &benchmark;
        names.push_back(benchmark.name);
    }
    return Status(Code::NotFound,
                  "there is no benchmark " + base::in_quotes(name) + "; there are " + base::join(names));
}

}  // namespace clasp::eval
