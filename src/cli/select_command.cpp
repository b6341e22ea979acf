// clasp-vlm select: the dual-stage selection on .npy files, for people with another engine.
#include <string>
#include <vector>

#include "base/npy.h"
#include "clasp/select.h"
#include "clasp/thread_pool.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "request/option_table.h"

namespace clasp::cli {

namespace {

struct Tokens {
    std::vector<float> features;  // n_tokens x width
    std::vector<float> scores;    // n_tokens
    std::size_t n_tokens = 0;
    std::size_t width = 0;
};

std::string shape_text(const std::vector<std::size_t>& shape) {
    std::string text;
    for (const std::size_t extent : shape) text += (text.empty() ? "" : "x") + std::to_string(extent);
    return text.empty() ? "a single number" : text;
}

Result<Tokens> read_tokens(const std::string& features_path, const std::string& scores_path) {
    CLASP_ASSIGN_OR_RETURN(const base::NpyArray features, base::read_npy(features_path));
    if (features.shape.size() != 2) {
        return Status(Code::InvalidArgument,
                      features_path + ": features must be tokens x width, not " + shape_text(features.shape));
    }
    CLASP_ASSIGN_OR_RETURN(const base::NpyArray scores, base::read_npy(scores_path));
    if (scores.shape.size() != 1) {
        return Status(Code::InvalidArgument,
                      scores_path + ": scores must be one number per token, not " + shape_text(scores.shape));
    }
    if (scores.shape[0] != features.shape[0]) {
        return Status(Code::InvalidArgument, scores_path + ": " + std::to_string(scores.shape[0]) +
                                                 " scores for " + std::to_string(features.shape[0]) +
                                                 " tokens");
    }
    Tokens tokens;
    tokens.n_tokens = features.shape[0];
    tokens.width = features.shape[1];
    tokens.features = features.to_float32();
    tokens.scores = scores.to_float32();
    return tokens;
}

Json as_json(const SelectPlan& plan) {
    return {{"kept", plan.kept},
            {"pivots", plan.pivots},
            {"coverage", plan.coverage},
            {"iterations", plan.iterations},
            {"objective", plan.objective},
            {"timings_ms",
             {{"gram", plan.timings.gram_ms},
              {"pivots", plan.timings.pivots_ms},
              {"seeds", plan.timings.seeds_ms},
              {"clusters", plan.timings.clusters_ms},
              {"medoids", plan.timings.medoids_ms},
              {"total", plan.timings.total_ms}}}};
}

void print(const SelectPlan& plan, std::size_t n_tokens, Console& console) {
    console.out << "kept " << plan.kept.size() << " of " << n_tokens << " tokens: " << plan.pivots.size()
                << " pivots, " << plan.coverage.size() << " for coverage, " << plan.iterations
                << " iterations, " << fixed(plan.timings.total_ms, 2) << " ms\n";
    for (std::size_t i = 0; i < plan.kept.size(); ++i) {
        console.out << plan.kept[i] << '\t' << keep_reason_name(plan.reasons[i]) << '\n';
    }
}

Status run(const Arguments& arguments, Console& console) {
    CLASP_ASSIGN_OR_RETURN(const Tokens tokens,
                           read_tokens(arguments.text("features"), arguments.text("scores")));
    SelectInput input;
    input.features = {tokens.features.data(), tokens.n_tokens, tokens.width, tokens.width};
    input.scores = tokens.scores;
    SelectOptions options;
    options.budget = static_cast<std::size_t>(arguments.integer("budget"));
    options.split = arguments.number("split");
    options.iterations = static_cast<std::uint32_t>(arguments.integer("iterations"));
    options.seed = static_cast<std::uint64_t>(arguments.integer("seed"));
    ThreadPool pool(static_cast<std::size_t>(arguments.integer("threads")));
    SelectWorkspace workspace;
    SelectPlan plan;
    CLASP_RETURN_IF_ERROR(select(input, options, workspace, &pool, plan));
    if (arguments.flag("json")) {
        write_json(console, as_json(plan));
    } else {
        print(plan, tokens.n_tokens, console);
    }
    return ok_status();
}

}  // namespace

Command select_command() {
    return {
        .name = "select",
        .summary = "Choose visual tokens from features and scores in .npy files",
        .options =
            {
                {.name = "features",
                 .type = OptionType::File,
                 .value = "FILE.npy",
                 .help = "tokens x width, float32 or float16, in C order",
                 .is_required = true},
                {.name = "scores",
                 .type = OptionType::File,
                 .value = "FILE.npy",
                 .help = "relevance, one number per token",
                 .is_required = true},
                {.name = "budget",
                 .type = OptionType::Integer,
                 .value = "N",
                 .help = "tokens to keep",
                 .min = 1,
                 .max = 1e9,
                 .is_required = true},
                {.name = "split",
                 .type = OptionType::Number,
                 .value = "A",
                 .help = "share of the budget that goes to pivots",
                 .min = 0,
                 .max = 1,
                 .is_required = true},
                {.name = "iterations",
                 .type = OptionType::Integer,
                 .value = "T",
                 .fallback = "5",
                 .help = "of the clustering, at most",
                 .min = 0,
                 .max = 1000},
                {.name = "seed",
                 .type = OptionType::Integer,
                 .value = "S",
                 .fallback = "0",
                 .help = "0 seeds by lowest redundancy; others shake that order, for variance studies",
                 .min = 0,
                 .max = 9e15},
                request::option_named("threads"),
            },
        .run = run,
    };
}

}  // namespace clasp::cli
