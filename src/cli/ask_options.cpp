#include "cli/ask_options.h"

#include "base/suggest.h"
#include "base/text.h"
#include "cli/model_files.h"
#include "methods/method.h"

namespace clasp::cli {

Option budget_kind_option() {
    return {.name = "budget-kind",
            .type = OptionType::Choice,
            .value = "KIND",
            .fallback = "average",
            .help =
                "what the budget counts: visual tokens per decoder layer on average, those that enter the "
                "decoder, or those left in the end",
            .choices = {"average", "entering", "final"}};
}

Option position_mode_option() {
    return {
        .name = "position-mode",
        .type = OptionType::Choice,
        .value = "MODE",
        .fallback = "official",
        .help =
            "positions of kept tokens: as in the method's official code, the original ones, or 0, 1, 2, ... "
            "anew",
        .choices = {"official", "keep", "compact"}};
}

Option select_seed_option() {
    return {.name = "select-seed",
            .type = OptionType::Integer,
            .value = "S",
            .fallback = "0",
            .help = "seed of methods that draw, and of the clustering's start (0: deterministic)",
            .min = 0,
            .max = 9e15};
}

std::vector<Option> request_options() {
    return {
        {.name = "budget",
         .type = OptionType::Text,
         .value = "N|P%|none|auto",
         .fallback = "33%",
         .help = "visual tokens per decoder layer on average, or per cent of all; auto prunes only where it "
                 "pays"},
        budget_kind_option(),
        {.name = "schedule",
         .type = OptionType::Text,
         .value = "SPEC",
         .help = "instead of a budget: stages such as 2:300,6:200,15:110, or paper-192, paper-128, paper-64"},
        {.name = "method",
         .type = OptionType::Text,
         .value = "NAME",
         .help = "how tokens are chosen; 'clasp-vlm methods' lists them (default: the policy's)"},
        {.name = "method-option",
         .type = OptionType::Text,
         .value = "NAME=VALUE",
         .help = "an option of the method, such as faithful=paper; 'clasp-vlm methods NAME' lists them",
         .is_repeatable = true},
        position_mode_option(),
        {.name = "mass",
         .type = OptionType::Choice,
         .value = "RULE",
         .help = "what dropped tokens leave to their nearest survivor (default: the method's)",
         .choices = {"none", "nearest"}},
        policy_option(
            "profile or policy file with the settings per class; naming one also mixes its vision layers "
            "for methods that do not mix by themselves (default: the model's own, or llava)"),
        {.name = "class",
         .type = OptionType::Text,
         .value = "ID|NAME",
         .help = "class of the question, instead of the router's: a number, a name or its first word"},
        {.name = "no-fusion", .help = "read only the vision layer that the original model reads"},
        {.name = "vanilla", .help = "no fusion and no pruning: what the original model computes"},
        {.name = "compat",
         .type = OptionType::Choice,
         .value = "WHOSE",
         .fallback = "original",
         .help = "whose numbers: the original model's, or llama.cpp's for side-by-side tests",
         .choices = {"original", "llama.cpp"}},
        select_seed_option(),
    };
}

std::vector<Option> engine_options() {
    return {
        threads_option(),
        {.name = "vision-weights",
         .type = OptionType::Choice,
         .value = "TYPE",
         .fallback = "auto",
         .help = "how the vision tower's matrices are kept",
         .group = OptionGroup::Performance,
         .choices = {"auto", "file", "i16", "f32", "f16", "bf16", "q8_0", "q4_0"}},
        {.name = "no-gpu",
         .help = "stay on the CPU even if ggml was built with a GPU",
         .group = OptionGroup::Performance},
    };
}

namespace {

// Names and values that can be told wrong before a model is loaded.
Status check_values(const Arguments& arguments) {
    CLASP_ASSIGN_OR_RETURN(const AskRequest request, read_request(arguments));
    // A command with a list of methods checks that list; options then are for whichever takes them.
    if (!arguments.text_if("methods")) {
        const std::string& name = request.method.empty() ? request.policy.method : request.method;
        CLASP_RETURN_IF_ERROR(methods::check_method_choice({name, request.method_options}));
    }
    if (!request.class_choice.empty())
        CLASP_RETURN_IF_ERROR(find_class(request.policy, request.class_choice).status());
    return ok_status();
}

}  // namespace

Status check_request_options(const Arguments& arguments) {
    const bool has_schedule = arguments.is_given("schedule");
    if (has_schedule && arguments.is_given("budget")) {
        return {Code::InvalidArgument, "--budget and --schedule exclude each other"};
    }
    CLASP_RETURN_IF_ERROR(check_values(arguments));
    if (!arguments.flag("vanilla")) return ok_status();
    for (const char* other :
         {"schedule", "method", "method-option", "mass", "no-fusion", "budget-kind", "position-mode"}) {
        if (arguments.is_given(other)) {
            return {Code::InvalidArgument, "--vanilla means no fusion and no pruning; --" +
                                               std::string(other) + " has no effect with it"};
        }
    }
    if (arguments.is_given("budget") && arguments.text("budget") != "none") {
        return {Code::InvalidArgument, "--vanilla means no pruning; --budget has no effect with it"};
    }
    return ok_status();
}

Result<std::vector<std::string>> read_method_list(const std::string& list) {
    std::vector<std::string> names;
    if (base::is_same_name(list, "all")) {
        for (const methods::Method& method : methods::all_methods()) names.emplace_back(method.name);
        return names;
    }
    for (const std::string_view text : base::split(list, ',')) {
        const methods::MethodChoice choice = methods::split_method_choice(text);
        CLASP_RETURN_IF_ERROR(methods::check_method_choice(choice));
        // As the method spells itself, whatever was typed.
        CLASP_ASSIGN_OR_RETURN(const methods::Method* method, methods::find_method(choice.name));
        names.push_back(std::string(method->name) + std::string(text.substr(choice.name.size())));
    }
    return names;
}

Result<AskRequest> read_request(const Arguments& arguments) {
    AskRequest request;
    CLASP_ASSIGN_OR_RETURN(request.policy, read_policy_option(arguments));
    if (const auto budget = arguments.text_if("budget")) {
        CLASP_ASSIGN_OR_RETURN(request.budget, parse_budget(base::lower(*budget)));
    }
    if (const auto schedule = arguments.text_if("schedule")) {
        if (schedule->find(':') == std::string::npos) {
            CLASP_ASSIGN_OR_RETURN(request.schedule_name, find_schedule_name(*schedule));
        } else {
            CLASP_ASSIGN_OR_RETURN(request.forced_stages, parse_stages(*schedule));
        }
    }
    if (const auto mass = arguments.text_if("mass")) {
        CLASP_ASSIGN_OR_RETURN(request.mass, parse_mass(*mass));
    }
    request.method = arguments.text_if("method").value_or("");
    request.class_choice = arguments.text_if("class").value_or("");
    request.method_options = arguments.all("method-option");
    request.budget_kind = arguments.text_if("budget-kind").value_or(request.budget_kind);
    request.position_mode = arguments.text_if("position-mode").value_or(request.position_mode);
    if (arguments.is_given("policy")) request.use_fusion = true;
    if (arguments.flag("no-fusion")) request.use_fusion = false;
    request.vanilla = arguments.flag("vanilla");
    request.numbers = arguments.text("compat") == "original" ? Numbers::Original : Numbers::LlamaCpp;
    request.select_seed = static_cast<std::uint64_t>(arguments.integer("select-seed"));
    return request;
}

EngineOptions read_engine_options(const Arguments& arguments) {
    EngineOptions options;
    options.n_threads = static_cast<std::size_t>(arguments.integer("threads"));
    options.vision_weights = arguments.text("vision-weights");
    // llama.cpp's bits come only from the matrices that it multiplies with.
    if (options.vision_weights == "auto" && arguments.text_if("compat") == "llama.cpp")
        options.vision_weights = "file";
    options.use_gpu = !arguments.flag("no-gpu");
    return options;
}

}  // namespace clasp::cli
