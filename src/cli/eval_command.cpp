// clasp-vlm eval: scores by the benchmarks' own rules.
#include "cli/commands.h"
#include "cli/eval_answers.h"
#ifdef CLASP_HAS_ENGINE
#include "cli/eval_options.h"
#include "cli/eval_run.h"
#endif

namespace clasp::cli {

namespace {

Status check(const Arguments& arguments) {
    if (arguments.is_given("answers")) {
#ifdef CLASP_HAS_ENGINE
        for (const Option& option : eval_run_options()) {
            if (!arguments.is_given(option.name)) continue;
            return {Code::InvalidArgument,
                    "--answers runs no model; --" + std::string(option.name) + " has no effect with it"};
        }
#endif
        return check_eval_answers(arguments);
    }
#ifdef CLASP_HAS_ENGINE
    return check_eval_run(arguments);
#else
    return {Code::InvalidArgument, "this build runs no models: --answers FILE.jsonl is required"};
#endif
}

Status run(const Arguments& arguments, Console& console) {
#ifdef CLASP_HAS_ENGINE
    if (!arguments.is_given("answers")) return run_eval(arguments, console);
#endif
    return run_eval_answers(arguments, console);
}

}  // namespace

Command eval_command() {
    Command command = {
        .name = "eval",
        .summary = "Measure methods on a benchmark, or score existing answers, by its official rules",
        .positionals =
            {{"BENCHMARK",
              "scenes, scenes-video, gqa, mmbench, mmbench-cn, mme, pope, scienceqa, vqav2, textvqa, vizwiz, "
              "seed-bench, "
              "mm-vet, llava-bench, tgif-qa, msvd-qa, msrvtt-qa, or jsonl for your own questions; or "
              "'ablation "
              "NAME', 'merge DIR...' (shards of a run), 'report DIR...' (several benchmarks in one)",
              1, 64}},
        .options =
            {
                {.name = "data",
                 .type = OptionType::File,
                 .value = "DIR",
                 .help = "folder with the benchmark's files in their official layout"},
                {.name = "split",
                 .type = OptionType::Text,
                 .value = "NAME",
                 .help = "which of its parts (default: the only one, or the one papers use)"},
            },
        .notes =
            "Ablations: components, layers, split, iterations, initial-weights, static-fusion, masses, "
            "router-robustness, router-choice, seeds, calibration.\nA run that was stopped goes on with "
            "--resume. Shards: --shard 1/4 ... 4/4 into folders of their own, then eval merge DIR... --out "
            "DIR.",
        .check = check,
        .run = run,
    };
    for (const Option& option : eval_answers_options()) command.options.push_back(option);
#ifdef CLASP_HAS_ENGINE
    for (const Option& option : eval_run_options()) command.options.push_back(option);
#endif
    return command;
}

}  // namespace clasp::cli
