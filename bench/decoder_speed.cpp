// Measures the decoder against libllama over the same weights, in one process, taking turns.
//   clasp_decoder_speed MODEL.gguf [--threads N] [--visual N] [--text N] [--decode N] [--repeats N]
//                       [--schedules 2:300,6:200,15:110;2:66,6:30,15:17]
//                       [--clock wall|cpu] [--batch N] [--kernels ours|ggml]
// With --batch, rows "batch 2", "batch 4", ... up to N follow: decode_ms is then a step of so many sequences
// that continue the first schedule's prompt, and its ratio is of the time per token.
// Prints one JSON object. Times are medians in milliseconds. With one thread, the processor time of the
// process ("cpu") means the same as wall-clock time on an idle machine, and little less on a busy one.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "engine/executor.h"
#include "support/llama_oracle.h"

namespace {

using clasp::TokenIndex;
using clasp::engine::Executor;
using clasp::engine::NextToken;
using clasp::engine::PrefillRequest;
using clasp::engine::PrefillStage;
using clasp::engine::PromptPart;
using clasp::engine::Sequence;
using clasp::engine::StageChoice;
using clasp::engine::StageView;

bool counts_processor_time = false;

// Milliseconds of the chosen clock.
double now_ms() {
    if (counts_processor_time) return 1000.0 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

struct Settings {
    std::string model;
    int threads = 1;
    int visual = 576;
    int text = 50;
    int decode = 8;
    int repeats = 3;
    int batch = 1;
    std::string kernels = "ours";
    std::string schedules = "2:300,6:200,15:110;2:303,6:110,15:36;2:66,6:30,15:17";
};

struct Schedule {
    std::string name;
    std::vector<PrefillStage> stages;
    std::vector<std::size_t> keep;
};

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values.empty() ? 0.0 : values[values.size() / 2];
}

bool parse(int argc, char** argv, Settings& settings) {
    if (argc < 2 || argc % 2 != 0) return false;
    settings.model = argv[1];
    for (int i = 2; i < argc; i += 2) {
        const std::string option = argv[i];
        const int number = std::atoi(argv[i + 1]);
        if (option == "--threads")
            settings.threads = number;
        else if (option == "--visual")
            settings.visual = number;
        else if (option == "--text")
            settings.text = number;
        else if (option == "--decode")
            settings.decode = number;
        else if (option == "--repeats")
            settings.repeats = number;
        else if (option == "--batch")
            settings.batch = number;
        else if (option == "--kernels")
            settings.kernels = argv[i + 1];
        else if (option == "--clock")
            counts_processor_time = std::string(argv[i + 1]) == "cpu";
        else if (option == "--schedules")
            settings.schedules = argv[i + 1];
        else
            return false;
    }
    return settings.threads > 0 && settings.visual > 0 && settings.text > 1 && settings.repeats > 0;
}

std::vector<Schedule> parse_schedules(const std::string& text, int n_layers,
                                      const std::vector<std::int32_t>& references) {
    std::vector<Schedule> schedules;
    std::stringstream all(text);
    for (std::string one; std::getline(all, one, ';');) {
        Schedule schedule = {one, {}, {}};
        std::stringstream stages(one);
        for (std::string stage; std::getline(stages, stage, ',');) {
            const int layer = std::atoi(stage.c_str());
            if (layer >= n_layers) continue;
            schedule.stages.push_back({.layer = layer, .needs = {.scores = true}, .reference = references});
            schedule.keep.push_back(
                static_cast<std::size_t>(std::atoi(stage.substr(stage.find(':') + 1).c_str())));
        }
        schedules.push_back(schedule);
    }
    return schedules;
}

// The tokens with the highest scores: the cheapest selection there is, so that the decoder is measured.
clasp::Result<StageChoice> keep_best(const StageView& view, std::size_t n) {
    std::vector<std::size_t> order(view.live.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const std::span<const float> scores = view.seen.scores.values();
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    order.resize(std::min(n, order.size()));
    std::sort(order.begin(), order.end());
    StageChoice choice;
    for (const std::size_t i : order) choice.kept.push_back(view.live[i]);
    return choice;
}

struct Row {
    std::string name;
    std::vector<double> prefill;
    std::vector<double> decode;
    std::size_t kv_bytes = 0;
    int batch = 1;  // sequences in a step
};

// One prompt and a few tokens; false when something failed.
bool run_ours(Executor& executor, Sequence& sequence, const PrefillRequest& request, int n_decode, Row& row) {
    const double start = now_ms();
    const auto result = executor.prefill(sequence, request);
    if (!result.ok()) {
        std::fprintf(stderr, "%s\n", result.status().message().c_str());
        return false;
    }
    row.prefill.push_back(now_ms() - start);
    row.kv_bytes = result->kv_bytes;
    for (int i = 0; i < n_decode; ++i) {
        const double decode_start = now_ms();
        if (!executor.step(sequence, 100 + i).ok()) return false;
        row.decode.push_back(now_ms() - decode_start);
    }
    return true;
}

// Steps of copies of a sequence with a prompt; false when something failed.
bool run_batch(Executor& executor, const Sequence& prompt, int n_decode, Row& row) {
    std::vector<Sequence> copies;
    for (int i = 0; i < row.batch; ++i) {
        auto copy = prompt.fork(n_decode);
        if (!copy.ok()) return false;
        copies.push_back(std::move(copy).value());
        row.kv_bytes = copies.back().kv_bytes() * static_cast<std::size_t>(row.batch);
    }
    for (int i = 0; i < n_decode; ++i) {
        std::vector<NextToken> batch;
        for (Sequence& copy : copies) batch.push_back({&copy, 100 + i});
        const double start = now_ms();
        if (!executor.step(batch).ok()) return false;
        row.decode.push_back(now_ms() - start);
    }
    return true;
}

bool run_llama(clasp::test::LlamaOracle& oracle, const std::vector<PromptPart>& parts, int n_decode,
               Row& row) {
    const double start = now_ms();
    if (oracle.prefill(parts).empty()) return false;
    row.prefill.push_back(now_ms() - start);
    for (int i = 0; i < n_decode; ++i) {
        const double decode_start = now_ms();
        if (oracle.decode(100 + i).empty()) return false;
        row.decode.push_back(now_ms() - decode_start);
    }
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    Settings settings;
    if (!parse(argc, argv, settings)) {
        std::fprintf(stderr, "usage: see the head of bench/decoder_speed.cpp\n");
        return 2;
    }
    const double load_start = now_ms();
    auto compute = clasp::model::Compute::create({.n_threads = static_cast<std::size_t>(settings.threads)});
    if (!compute.ok()) return 1;
    auto model = clasp::model::TextModel::load(
        settings.model, *compute,
        {.kernels = settings.kernels == "ggml" ? clasp::model::DecoderKernels::Ggml
                                               : clasp::model::DecoderKernels::Ours});
    if (!model.ok()) {
        std::fprintf(stderr, "%s\n", model.status().message().c_str());
        return 1;
    }
    const double load_ms = now_ms() - load_start;
    auto executor = Executor::create(*model);
    auto sequence = Sequence::create(*model);
    if (!executor.ok() || !sequence.ok()) return 1;
    const int n_cells = settings.visual + settings.text + settings.decode + 8;
    // libllama repacks a copy of its own.
    const std::unique_ptr<llama_model, decltype(&llama_model_free)> handle(
        llama_model_load_from_file(settings.model.c_str(), llama_model_default_params()), llama_model_free);
    clasp::test::LlamaOracle oracle(**model, static_cast<std::uint32_t>(n_cells), settings.threads,
                                    handle.get());

    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    const auto width = static_cast<std::size_t>((*model)->config().width);
    std::vector<float> image(static_cast<std::size_t>(settings.visual) * width);
    for (float& x : image) x = normal(random);
    std::vector<std::int32_t> before(static_cast<std::size_t>(settings.text) / 2, 1000);
    std::vector<std::int32_t> after(static_cast<std::size_t>(settings.text) - before.size(), 2000);
    const std::vector<PromptPart> parts = {{.tokens = before}, {.embeddings = image}, {.tokens = after}};
    std::vector<std::int32_t> references;
    for (std::size_t i = 0; i < after.size(); ++i) {
        references.push_back(static_cast<std::int32_t>(before.size() + i) + settings.visual);
    }

    std::vector<Row> rows(2);
    rows[0].name = "llama.cpp";
    rows[1].name = "vanilla";
    const std::vector<Schedule> schedules =
        parse_schedules(settings.schedules, (*model)->config().n_layers, references);
    for (const Schedule& schedule : schedules) {
        rows.emplace_back();
        rows.back().name = schedule.name;
    }
    const std::size_t first_batch = rows.size();
    for (int n = 2; n <= settings.batch; n *= 2) {
        rows.emplace_back();
        rows.back().name = "batch " + std::to_string(n);
        rows.back().batch = n;
    }
    bool ok = true;
    for (int repeat = -1; repeat < settings.repeats && ok; ++repeat) {
        if (repeat == 0) {
            for (Row& row : rows) row = {row.name, {}, {}, 0, row.batch};  // forget the warm-up
        }
        const PrefillRequest vanilla = {.parts = parts, .room = settings.decode};
        ok = run_llama(oracle, parts, settings.decode, rows[0]) &&
             run_ours(**executor, *sequence, vanilla, settings.decode, rows[1]);
        for (std::size_t i = 0; i < schedules.size() && ok && repeat >= 0; ++i) {
            PrefillRequest request = vanilla;
            request.stages = schedules[i].stages;
            request.selector = [&](const StageView& view) {
                return keep_best(view, schedules[i].keep[view.stage]);
            };
            ok = run_ours(**executor, *sequence, request, settings.decode, rows[i + 2]);
            if (i > 0 || !ok) continue;
            ok = sequence->cut_back(sequence->n_prompt()).ok();
            for (std::size_t k = first_batch; k < rows.size() && ok; ++k) {
                ok = run_batch(**executor, *sequence, settings.decode, rows[k]);
            }
        }
    }
    if (!ok) {
        std::fprintf(stderr, "a run failed\n");
        return 1;
    }
    std::printf(
        "{\"model\": \"%s\", \"kernels\": \"%s\", \"clock\": \"%s\", \"threads\": %d, \"visual\": %d, "
        "\"text\": %d, \"load_ms\": "
        "%.0f, \"rows\": [",
        settings.model.c_str(), settings.kernels.c_str(), counts_processor_time ? "cpu" : "wall",
        settings.threads, settings.visual, settings.text, load_ms);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const Row& row = rows[i];
        std::printf(
            "%s\n  {\"name\": \"%s\", \"prefill_ms\": %.1f, \"decode_ms\": %.2f, "
            "\"prefill_ratio\": %.3f, \"decode_ratio\": %.3f, \"kv_bytes\": %zu}",
            i == 0 ? "" : ",", row.name.c_str(), median(row.prefill), median(row.decode),
            row.prefill.empty() ? 0.0 : median(rows[0].prefill) / median(row.prefill),
            median(rows[0].decode) / median(row.decode) * row.batch, row.kv_bytes);
    }
    std::printf("\n]}\n");
    return 0;
}
