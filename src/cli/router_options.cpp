#include "cli/router_options.h"

#include "cli/request_rows.h"
#include "request/conflicts.h"
#include "request/router_files.h"
#ifdef CLASP_HAS_ENGINE
#include "clasp/route_llm.h"
#endif

namespace clasp::cli {

namespace {

using request::Scope;
using request::Settings;

Result<std::shared_ptr<IntentChooser>> load_chat_model(const Settings& settings, const Console& console) {
#ifdef CLASP_HAS_ENGINE
    LlmRouterOptions options;
    options.model = settings.router.model;
    options.timeout_ms = settings.router.timeout_ms;
    options.n_threads = settings.engine.n_threads;
    options.log = console.log_sink();
    return load_llm_router(options);
#else
    static_cast<void>(settings);
    static_cast<void>(console);
    return Status(Code::Unsupported, "--router llm needs the engine, which this build leaves out");
#endif
}

}  // namespace

Status check_router_options(const Arguments& arguments) {
    Settings settings;
    CLASP_RETURN_IF_ERROR(read_rows(arguments, {Scope::Router}, settings));
    return request::check_conflicts(settings, request::Caller::CommandLine);
}

Result<RouterOptions> read_router_options(const Arguments& arguments, const Console& console) {
    Settings settings;
    CLASP_RETURN_IF_ERROR(read_rows(arguments, {Scope::Router, Scope::Engine}, settings));
    CLASP_ASSIGN_OR_RETURN(RouterOptions options, request::read_router_files(settings.router));
    if (options.kind == RouterKind::Llm) {
        CLASP_ASSIGN_OR_RETURN(options.chooser, load_chat_model(settings, console));
    }
    return options;
}

}  // namespace clasp::cli
