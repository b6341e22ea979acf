#include "request/option_rows.h"

#include "base/text.h"
#include "clasp/policy.h"
#include "clasp/schedule.h"

namespace clasp::request {

namespace {

Status set_budget(Settings& s, const Value& value) {
    CLASP_ASSIGN_OR_RETURN(s.request.budget, parse_budget(base::lower(value.text)));
    return ok_status();
}

Status set_schedule(Settings& s, const Value& value) {
    if (value.text.find(':') == std::string::npos) {
        CLASP_ASSIGN_OR_RETURN(s.request.schedule_name, find_schedule_name(value.text));
    } else {
        CLASP_ASSIGN_OR_RETURN(s.request.forced_stages, parse_stages(value.text));
    }
    return ok_status();
}

Status set_mass(Settings& s, const Value& value) {
    CLASP_ASSIGN_OR_RETURN(s.request.mass, parse_mass(value.text));
    return ok_status();
}

// A policy that is named also mixes its layers for methods that do not mix by themselves.
Status set_policy(Settings& s, const Value& value) {
    CLASP_ASSIGN_OR_RETURN(s.request.policy,
                           s.may_read_files ? load_policy(value.text) : find_profile(value.text));
    if (!s.is_given("no-fusion")) s.request.use_fusion = true;
    return ok_status();
}

Status set_history(Settings& s, const Value& value) {
    for (const HistoryMode mode : {HistoryMode::Reselect, HistoryMode::Reuse, HistoryMode::Auto}) {
        if (history_mode_name(mode) == value.text) s.request.history_mode = mode;
    }
    return ok_status();
}

}  // namespace

std::vector<Row> model_rows() {
    return {
        {Scope::Model,
         {.name = "model",
          .type = OptionType::Text,
          .value = "NAME|FILE",
          .fallback = "tiny",
          .help = "a model that comes with the program, or a text GGUF file"},
         [](Settings& s, const Value& value) {
             s.model = value.text;
             return ok_status();
         }},
        {Scope::Model,
         {.name = "mmproj",
          .type = OptionType::File,
          .value = "FILE",
          .help = "the vision GGUF file of --model FILE"},
         [](Settings& s, const Value& value) {
             s.mmproj = value.text;
             return ok_status();
         }},
    };
}

std::vector<Row> asking_rows() {
    return {
        {.scope = Scope::Asking,
         .option = {.name = "budget",
                    .type = OptionType::Text,
                    .value = "N|P%|none|auto",
                    .fallback = "33%",
                    .help = "visual tokens per decoder layer on average, or per cent of all; auto prunes "
                            "only where it "
                            "pays"},
         .set = set_budget,
         .takes_number = true,
         .about = About::Tokens},
        {.scope = Scope::Asking,
         .option =
             {.name = "budget-kind",
              .type = OptionType::Choice,
              .value = "KIND",
              .fallback = "average",
              .help =
                  "what the budget counts: visual tokens per decoder layer on average, those that enter the "
                  "decoder, or those left in the end",
              .choices = {"average", "entering", "final"}},
         .set =
             [](Settings& s, const Value& value) {
                 s.request.budget_kind = value.text;
                 return ok_status();
             },
         .about = About::Tokens},
        {.scope = Scope::Asking,
         .option = {.name = "schedule",
                    .type = OptionType::Text,
                    .value = "SPEC",
                    .help = "instead of a budget: stages such as 2:300,6:200,15:110, or paper-192, "
                            "paper-128, paper-64"},
         .set = set_schedule,
         .about = About::Tokens},
        {.scope = Scope::Asking,
         .option = {.name = "method",
                    .type = OptionType::Text,
                    .value = "NAME",
                    .help = "how tokens are chosen; 'clasp-vlm methods' lists them (default: the policy's)"},
         .set =
             [](Settings& s, const Value& value) {
                 s.request.method = value.text;
                 return ok_status();
             },
         .about = About::Tokens},
        {.scope = Scope::Asking,
         .option = {.name = "method-option",
                    .type = OptionType::Text,
                    .value = "NAME=VALUE",
                    .help = "an option of the method, such as faithful=paper; 'clasp-vlm methods NAME' lists "
                            "them",
                    .is_repeatable = true},
         .set =
             [](Settings& s, const Value& value) {
                 s.request.method_options.push_back(value.text);
                 return ok_status();
             },
         .key = "method_options",
         .about = About::Tokens},
        {.scope = Scope::Asking,
         .option =
             {.name = "position-mode",
              .type = OptionType::Choice,
              .value = "MODE",
              .fallback = "official",
              .help =
                  "positions of kept tokens: as in the method's official code, the original ones, or 0, 1, "
                  "2, ... "
                  "anew",
              .choices = {"official", "keep", "compact"}},
         .set =
             [](Settings& s, const Value& value) {
                 s.request.position_mode = value.text;
                 return ok_status();
             },
         .about = About::Tokens},
        {.scope = Scope::Asking,
         .option = {.name = "mass",
                    .type = OptionType::Choice,
                    .value = "RULE",
                    .help = "what dropped tokens leave to their nearest survivor (default: the method's)",
                    .choices = {"none", "nearest"}},
         .set = set_mass,
         .about = About::Tokens},
        {.scope = Scope::Asking,
         .option =
             {.name = "policy",
              .type = OptionType::Text,
              .value = "NAME|FILE",
              .help = "profile or policy file with the settings per class; naming one also mixes its vision "
                      "layers "
                      "for methods that do not mix by themselves (default: the model's own, or that of its "
                      "vision tower)"},
         .set = set_policy,
         .about = About::Tokens},
        {.scope = Scope::Asking,
         .option = {.name = "class",
                    .type = OptionType::Text,
                    .value = "ID|NAME",
                    .help = "class of the question, instead of the router's: a number, a name or its first "
                            "word"},
         .set =
             [](Settings& s, const Value& value) {
                 s.request.class_choice = value.text;
                 return ok_status();
             },
         .takes_number = true},
        {.scope = Scope::Asking,
         .option = {.name = "no-fusion", .help = "read only the vision layer that the original model reads"},
         .set =
             [](Settings& s, const Value& value) {
                 s.request.use_fusion = value.is_on;
                 return ok_status();
             },
         .key = "fusion",
         .is_negated = true,
         .about = About::Tokens},
        {Scope::Asking,
         {.name = "vanilla", .help = "no fusion and no pruning: what the original model computes"},
         [](Settings& s, const Value& value) {
             s.request.vanilla = value.is_on;
             return ok_status();
         }},
        {.scope = Scope::Asking,
         .option = {.name = "compat",
                    .type = OptionType::Choice,
                    .value = "WHOSE",
                    .fallback = "original",
                    .help = "whose numbers: the original model's, or llama.cpp's for side-by-side tests",
                    .choices = {"original", "llama.cpp"}},
         .set =
             [](Settings& s, const Value& value) {
                 s.request.compat = value.text == "original" ? Compat::Original : Compat::LlamaCpp;
                 return ok_status();
             },
         .about = About::Tokens},
    };
}

std::vector<Row> history_rows() {
    return {
        {Scope::Asking,
         {.name = "history",
          .type = OptionType::Choice,
          .value = "MODE",
          .fallback = "reselect",
          .help = "visual tokens of a question that follows others: those that it needs itself (reselect), "
                  "those of the question before, which saves reading the picture again (reuse), or the "
                  "latter unless they miss what the new question needs (auto)",
          .choices = {"reselect", "reuse", "auto"}},
         set_history},
        {.scope = Scope::Asking,
         .option = {.name = "select-seed",
                    .type = OptionType::Integer,
                    .value = "S",
                    .fallback = "0",
                    .help = "seed of methods that draw, and of the clustering's start (0: deterministic)",
                    .min = 0,
                    .max = 9e15},
         .set =
             [](Settings& s, const Value& value) {
                 s.request.select_seed = static_cast<std::uint64_t>(value.integer);
                 return ok_status();
             },
         .about = About::Tokens},
    };
}

}  // namespace clasp::request
