#include "cli/eval_options.h"

#include <algorithm>
#include <array>

#include "cli/eval_setup.h"
#include "cli/request_rows.h"

namespace clasp::cli {

std::vector<Option> eval_run_options() {
    std::vector<Option> options = request::options_of(request::Scope::Model);
    const auto add = [&options](std::vector<Option> more) {
        options.insert(options.end(), more.begin(), more.end());
    };
    add({
        {.name = "methods",
         .type = OptionType::Text,
         .value = "A,B",
         .fallback = "clasp,clasp+,attention,random,uniform",
         .help =
             "methods to compare, each with options if wanted (fastv:faithful=paper), or all (an ablation "
             "takes one, default clasp)"},
        {.name = "budgets",
         .type = OptionType::Text,
         .value = "LIST",
         .fallback = "none,192,128,64",
         .help = "visual tokens per decoder layer on average; none is the original model (an ablation: 192)"},
        {.name = "benchmark",
         .type = OptionType::Text,
         .value = "NAME",
         .fallback = "scenes",
         .help = "ablation: what to ask"},
        {.name = "calibration-data",
         .type = OptionType::File,
         .value = "DIR",
         .help = "ablation of calibration: questions to search on, apart from --data"},
        {.name = "calibration-sizes",
         .type = OptionType::Text,
         .value = "LIST",
         .fallback = "50,100,200",
         .help = "ablation of calibration: questions per class"},
        {.name = "limit",
         .type = OptionType::Integer,
         .value = "N",
         .fallback = "0",
         .help = "only the first N questions (0: all); groups that are scored together stay whole",
         .min = 0,
         .max = 1e9},
        {.name = "shard",
         .type = OptionType::Text,
         .value = "I/N",
         .help = "only part I of N, to be joined by 'eval merge'"},
        {.name = "resume", .help = "go on with the run in --out; nothing is asked twice"},
        {.name = "partial",
         .help = "merge, report: also where answers are missing, which then count as wrong"},
        option_with_help(
            "policy",
            "profile or policy file with the settings per class (default: the model's own, or llava)"),
        {.name = "mass",
         .type = OptionType::Choice,
         .value = "RULE",
         .help = "what dropped tokens leave to their nearest survivor (default: the method's); both gives "
                 "methods that drop tokens a row without and one with masses",
         .choices = {"none", "nearest", kBothMasses}},
        request::option_named("budget-kind"),
        request::option_named("position-mode"),
        request::option_named("no-fusion"),
        class_source_option(),
        {.name = "force-default",
         .type = OptionType::Number,
         .value = "SHARE",
         .fallback = "0",
         .help = "send this share of the questions to the default class",
         .min = 0,
         .max = 1},
        {.name = "force-errors",
         .type = OptionType::Number,
         .value = "SHARE",
         .fallback = "0",
         .help = "send this share of the questions to a wrong class",
         .min = 0,
         .max = 1},
        {.name = "against",
         .type = OptionType::Text,
         .value = "A,B",
         .help = "rows that every other row of their budget is compared with in pairs, beside the best and "
                 "the unpruned one"},
        {.name = "stress-seed",
         .type = OptionType::Integer,
         .value = "S",
         .fallback = "1",
         .help = "which questions --force-default and --force-errors take",
         .min = 0,
         .max = 9e15},
        request::option_named("select-seed"),
        max_tokens_option(),
        {.name = "out",
         .type = OptionType::File,
         .value = "DIR",
         .help = "folder for results.jsonl, summary.json, report.html and report.md",
         .group = OptionGroup::Output,
         .writes = Writes::Folder},
    });
    add(request::options_about(request::About::Detail));
    add(request::options_of(request::Scope::Engine));
    return options;
}

Status check_eval_options(const Arguments& arguments, const std::vector<std::string>& words) {
    constexpr std::array<std::string_view, 4> kOfStoredRuns = {"out", "resume", "partial", "against"};
    const bool reads_runs = words[0] == "merge" || words[0] == "report";
    const bool is_ablation = words[0] == "ablation";
    const bool is_calibration = is_ablation && words.size() > 1 && words[1] == kCalibrationAblation;
    for (const Option& option : eval_run_options()) {
        if (!arguments.is_given(option.name)) continue;
        const std::string name = "--" + std::string(option.name);
        if (reads_runs && std::ranges::find(kOfStoredRuns, option.name) == kOfStoredRuns.end()) {
            return {Code::InvalidArgument,
                    "'eval " + words[0] + "' asks no model; " + name + " has no effect with it"};
        }
        if (!is_ablation && option.name == "benchmark") {
            return {Code::InvalidArgument, name + " goes with 'eval ablation'"};
        }
        if (!is_calibration && option.name.starts_with("calibration-")) {
            return {Code::InvalidArgument, name + " goes with 'eval ablation calibration'"};
        }
    }
    return ok_status();
}

}  // namespace clasp::cli
