#include <array>

#include "base/suggest.h"
#include "base/text.h"
#include "eval/benchmark.h"
#include "eval/sets.h"

namespace clasp::eval {

namespace {

// Other names in use.
constexpr std::array<std::array<std::string_view, 2>, 6> kAliases = {{
    {"sqa", "scienceqa"},
    {"seed", "seedbench"},
    {"llavabenchinthewild", "llavabench"},
    {"tgif", "tgifqa"},
    {"msvd", "msvdqa"},
    {"msrvtt", "msrvttqa"},
}};

// "MM-Vet", "mm_vet" and "mmvet" are one name.
std::string plain_name(std::string_view name) {
    std::string plain = base::lower(name);
    std::erase(plain, '-');
    std::erase(plain, '_');
    for (const auto& [alias, full] : kAliases) {
        if (plain == alias) return std::string(full);
    }
    return plain;
}

}  // namespace

std::span<const Benchmark> benchmarks() {
    static const std::array kBenchmarks = {
        scenes_benchmark(),     scenes_video_benchmark(), gqa_benchmark(),     mmbench_benchmark(),
        mmbench_cn_benchmark(), mme_benchmark(),          pope_benchmark(),    scienceqa_benchmark(),
        vqav2_benchmark(),      textvqa_benchmark(),      vizwiz_benchmark(),  seed_bench_benchmark(),
        mm_vet_benchmark(),     llava_bench_benchmark(),  tgif_qa_benchmark(), msvd_qa_benchmark(),
        msrvtt_qa_benchmark(),  jsonl_benchmark(),
    };
    return kBenchmarks;
}

Result<const Benchmark*> find_benchmark(std::string_view name) {
    std::vector<std::string_view> names;
    for (const Benchmark& benchmark : benchmarks()) {
        if (plain_name(benchmark.name) == plain_name(name)) return &benchmark;
        names.push_back(benchmark.name);
    }
    return Status(Code::NotFound, "there is no benchmark " + base::in_quotes(name) +
                                      base::did_you_mean(name, names) + "; there are " + base::join(names));
}

}  // namespace clasp::eval
