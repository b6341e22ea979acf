#include "cli/router_options.h"

#include "base/file.h"
#ifdef CLASP_HAS_ENGINE
#include "clasp/route_llm.h"
#endif

namespace clasp::cli {

namespace {

Result<std::shared_ptr<IntentChooser>> load_chat_model(const Arguments& arguments, const Console& console) {
#ifdef CLASP_HAS_ENGINE
    LlmRouterOptions options;
    options.model = arguments.text("router-model");
    options.timeout_ms = arguments.number("router-timeout");
    options.n_threads = static_cast<std::size_t>(arguments.integer("threads"));
    options.log = console.log_sink();
    return load_llm_router(options);
#else
    static_cast<void>(arguments);
    static_cast<void>(console);
    return Status(Code::Unsupported, "--router llm needs the engine, which this build leaves out");
#endif
}

}  // namespace

std::vector<Option> router_options() {
    return {
        {.name = "router",
         .type = OptionType::Choice,
         .value = "KIND",
         .fallback = "classifier",
         .help = "who decides: rules and classifier, rules alone, or a chat model",
         .choices = {"classifier", "rules", "llm"}},
        {.name = "router-model",
         .type = OptionType::File,
         .value = "FILE.gguf",
         .help = "chat model for --router llm"},
        {.name = "router-timeout",
         .type = OptionType::Number,
         .value = "MS",
         .fallback = "10000",
         .help = "milliseconds that the chat model may take for a question, once it has read the list of "
                 "intents, before the classifier decides",
         .min = 1,
         .max = 3.6e6},
        {.name = "taxonomy",
         .type = OptionType::File,
         .value = "FILE.json",
         .help = "your own classes, intents, rules and examples"},
        {.name = "classifier",
         .type = OptionType::File,
         .value = "FILE",
         .help = "a classifier written by 'route train' instead of the built-in one"},
    };
}

Status check_router_options(const Arguments& arguments) {
    const bool is_llm = arguments.text("router") == "llm";
    if (is_llm != arguments.is_given("router-model")) {
        return {Code::InvalidArgument, "--router llm and --router-model FILE belong together"};
    }
    if (!is_llm && arguments.is_given("router-timeout")) {
        return {Code::InvalidArgument, "--router-timeout goes with --router llm"};
    }
    return ok_status();
}

Result<RouterOptions> read_router_options(const Arguments& arguments, const Console& console) {
    RouterOptions options;
    const std::string kind = arguments.text("router");
    if (kind == "rules") options.kind = RouterKind::Rules;
    if (const auto path = arguments.text_if("taxonomy")) {
        CLASP_ASSIGN_OR_RETURN(options.taxonomy_json, base::read_file(*path, kMaxFileBytes));
    }
    if (const auto path = arguments.text_if("classifier")) {
        CLASP_ASSIGN_OR_RETURN(options.model_bytes, base::read_file(*path, kMaxFileBytes));
    }
    if (kind == "llm") {
        options.kind = RouterKind::Llm;
        CLASP_ASSIGN_OR_RETURN(options.chooser, load_chat_model(arguments, console));
    }
    return options;
}

}  // namespace clasp::cli
