// The vision encoder against llama.cpp's, interleaved in one process on the same file and picture.
//   clasp_vision_encode MMPROJ.gguf [threads] [repeats] [format ...]
// Prints the milliseconds of encode + project per format and of libmtmd: median and best of wall-clock time
// and the best of processor time, which a busy machine disturbs less; and how far each format's projected
// tokens are from those of the last format named.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "clasp/thread_pool.h"
#include "model/vision_model.h"
#include "support/mtmd_oracle.h"

namespace {

using namespace clasp;
using namespace clasp::model;

struct Contestant {
    std::string name;
    std::unique_ptr<VisionSession> session;
    double load_ms = 0.0;
    std::vector<double> total_ms = {};
    std::vector<double> cpu_ms = {};
    std::vector<double> project_ms = {};
    std::vector<double> gram_ms = {};
    std::vector<float> tokens = {};
};

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values.empty() ? 0.0 : values[values.size() / 2];
}

double best(const std::vector<double>& values) {
    return values.empty() ? 0.0 : *std::min_element(values.begin(), values.end());
}

// Root mean square of the difference over that of the wanted values, and the smallest cosine of a token.
void compare(const std::vector<float>& got, const std::vector<float>& wanted, std::size_t width) {
    double difference = 0.0;
    double total = 0.0;
    double smallest = 1.0;
    for (std::size_t start = 0; start < wanted.size(); start += width) {
        double dot = 0.0;
        double gg = 0.0;
        double ww = 0.0;
        for (std::size_t i = start; i < start + width; ++i) {
            const double g = static_cast<double>(got[i]);
            const double w = static_cast<double>(wanted[i]);
            difference += (g - w) * (g - w);
            dot += g * w;
            gg += g * g;
            ww += w * w;
        }
        total += ww;
        smallest = std::min(smallest, dot / std::sqrt(gg * ww));
    }
    std::printf("  error %.2e  smallest cosine %.7f", std::sqrt(difference / total), smallest);
}

VisionWeights format_of(const std::string& name) {
    for (const VisionWeights weights : kAllVisionWeights) {
        if (vision_weights_name(weights) == name) return weights;
    }
    std::fprintf(stderr, "no weight format is called %s\n", name.c_str());
    std::exit(2);
}

// Processor time of all threads of this process.
double cpu_now_ms() {
    timespec now = {};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

template <typename T>
T take(Result<T> result) {
    if (result.ok()) return std::move(result).value();
    std::fprintf(stderr, "%s\n", result.status().message().c_str());
    std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        std::fprintf(stderr, "usage: %s MMPROJ.gguf [threads] [repeats] [format ...]\n", argv[0]);
        return 2;
    }
    const std::string path = argv[1];
    const auto n_threads = static_cast<std::size_t>(argc > 2 ? std::atoi(argv[2]) : 1);
    const int repeats = argc > 3 ? std::atoi(argv[3]) : 3;
    std::vector<std::string> formats;
    for (int i = 4; i < argc; ++i) formats.emplace_back(argv[i]);
    if (formats.empty()) formats = {"file"};

    const auto compute = take(Compute::create({.n_threads = n_threads, .use_gpu = false}));
    ThreadPool pool(n_threads);
    std::vector<Contestant> contestants;
    for (const std::string& name : formats) {
        const auto start = std::chrono::steady_clock::now();
        const auto model = take(VisionModel::load(path, {.weights = format_of(name)}, compute, &pool));
        const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
        contestants.push_back(
            {.name = name, .session = take(VisionSession::create(model)), .load_ms = elapsed.count()});
    }
    test::MtmdOracle oracle(path, static_cast<int>(n_threads), false);
    if (!oracle.ok()) return 1;

    const VisionInfo info = contestants[0].session->model().info();
    const std::vector<std::uint8_t> rgb = test::random_rgb(info.image_size, 1);
    const auto side = static_cast<int>(info.image_size);
    const VisionPlan plan = take(contestants[0].session->model().plan({side, side}, {}));
    const PiecePixels pixels = {plan.pieces.front(), test::normalised_planes(rgb, info.mean, info.std)};
    // As many blocks as llama.cpp runs, so that the times compare.
    const std::size_t layer = info.default_layer(Compat::LlamaCpp);
    std::vector<double> oracle_ms;
    std::vector<double> oracle_cpu_ms;
    const Mix mix = {{.layer = layer, .weight = 1.0}};
    for (int repeat = 0; repeat <= repeats; ++repeat) {  // the first round warms up
        for (Contestant& contestant : contestants) {
            VisionSession& session = *contestant.session;
            const double start = cpu_now_ms();
            const VisionLayers layers = take(session.encode(pixels, {.layers = {layer}}));
            VisionTokens tokens = take(session.project(layers, mix, {.gram = false}));
            const double cpu_ms = cpu_now_ms() - start;
            contestant.tokens = std::move(tokens.values);
            if (repeat == 0) continue;
            contestant.cpu_ms.push_back(cpu_ms);
            contestant.total_ms.push_back(layers.encode_ms + tokens.project_ms);
            contestant.project_ms.push_back(tokens.project_ms);
            contestant.gram_ms.push_back(take(session.project(layers, mix)).gram_ms);
        }
        const double start = cpu_now_ms();
        oracle.encode(rgb, info.image_size, info.output_width);
        if (repeat == 0) continue;
        oracle_cpu_ms.push_back(cpu_now_ms() - start);
        oracle_ms.push_back(oracle.encode_ms());
    }

    std::printf("%s: %zu blocks, %zu threads, %d repeats\n", path.c_str(), layer + 1, n_threads, repeats);
    std::printf("%-10s median %8.1f ms  best %8.1f ms  cpu %8.1f ms\n", "llama.cpp", median(oracle_ms),
                best(oracle_ms), best(oracle_cpu_ms));
    const std::vector<float>& exact = contestants.back().tokens;
    for (const Contestant& contestant : contestants) {
        std::printf(
            "%-10s median %8.1f ms  best %8.1f ms  cpu %8.1f ms  ratio %.2f best %.2f cpu %.2f  project %.1f"
            "  gram %.1f  load %.0f",
            contestant.name.c_str(), median(contestant.total_ms), best(contestant.total_ms),
            best(contestant.cpu_ms), median(oracle_ms) / median(contestant.total_ms),
            best(oracle_ms) / best(contestant.total_ms), best(oracle_cpu_ms) / best(contestant.cpu_ms),
            median(contestant.project_ms), median(contestant.gram_ms), contestant.load_ms);
        compare(contestant.tokens, exact, info.output_width);
        std::printf("\n");
    }
    return 0;
}
