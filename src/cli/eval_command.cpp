// clasp-vlm eval: scores by the benchmarks' own rules.
#include "cli/commands.h"
#include "cli/eval_answers.h"

namespace clasp::cli {

namespace {

Status check(const Arguments& arguments) {
    if (!arguments.is_given("answers")) {
        return {Code::InvalidArgument, "--answers FILE.jsonl is required"};
    }
    return check_eval_answers(arguments);
}

}  // namespace

Command eval_command() {
    Command command = {
        .name = "eval",
        .summary = "Score answers to a benchmark by its official rules",
        .positionals =
            {{"BENCHMARK",
              "scenes, gqa, mmbench, mmbench-cn, mme, pope, scienceqa, vqav2, textvqa, vizwiz, seed-bench, "
              "mm-vet, llava-bench, tgif-qa, msvd-qa, msrvtt-qa, or jsonl for your own questions"}},
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
        .check = check,
        .run = run_eval_answers,
    };
    for (const Option& option : eval_answers_options()) command.options.push_back(option);
    return command;
}

}  // namespace clasp::cli
