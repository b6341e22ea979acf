// clasp-vlm serve: the HTTP server.
#include "serve/server.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <string>
#include <thread>

#include "base/cpu_share.h"
#include "base/file.h"
#include "base/text.h"
#include "clasp/engine.h"
#include "cli/ask_options.h"
#include "cli/ask_progress.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/output_path.h"
#include "cli/request_rows.h"
#include "cli/router_options.h"
#include "cli/serve_limits.h"
#include "request/model_files.h"
#include "request/option_table.h"
#include "serve/fetch_picture.h"

namespace clasp::cli {

namespace {

using request::Caller;
using serve::ServeOptions;

constexpr std::chrono::milliseconds kGlance{50};
constexpr std::size_t kMaxKeyFileBytes = std::size_t{1} << 20U;

std::size_t mebibytes(const Arguments& arguments, std::string_view name) {
    return static_cast<std::size_t>(arguments.integer(name)) << 20U;
}

std::size_t count_of(const Arguments& arguments, std::string_view name) {
    return static_cast<std::size_t>(arguments.integer(name));
}

// Keys of the command line, of a file with one in each line, and of the environment.
Status read_keys(const Arguments& arguments, serve::KeyRing& keys) {
    for (const std::string& key : arguments.all("api-key")) CLASP_RETURN_IF_ERROR(keys.add(key));
    if (const auto path = arguments.text_if("api-key-file")) {
        CLASP_ASSIGN_OR_RETURN(const std::string text, base::read_file(*path, kMaxKeyFileBytes));
        for (std::string_view line : base::split(text, '\n')) {
            if (line.ends_with('\r')) line.remove_suffix(1);
            if (line.empty()) continue;
            const Status status = keys.add(line);
            if (!status.ok()) return status.with_context(base::path_in_quotes(*path));
        }
        if (keys.is_empty())
            return {Code::InvalidArgument, base::path_in_quotes(*path) + " has no key in it"};
    }
    const char* given = std::getenv("CLASP_API_KEY");
    return given != nullptr && *given != '\0' ? keys.add(given) : ok_status();
}

// "fast=budget:64,method:clasp+" as a name and its options.
Status read_preset(const std::string& text, std::map<std::string, base::Json>& presets) {
    const std::size_t equals = text.find('=');
    Status wrong(Code::InvalidArgument,
                 "--preset takes NAME=OPTION:VALUE,..., such as "
                 "fast=budget:64,method:clasp+, not " +
                     base::in_quotes(text));
    if (equals == 0 || equals == std::string::npos) return wrong;
    base::Json options = base::Json::object();
    const std::string rest = text.substr(equals + 1);
    for (const std::string_view pair : base::split(rest, ',')) {
        const std::size_t colon = pair.find(':');
        if (colon == 0 || colon == std::string_view::npos) return wrong;
        const std::string_view value = pair.substr(colon + 1);
        const bool is_flag = value == "true" || value == "false";
        options[pair.substr(0, colon)] = is_flag ? base::Json(value == "true") : base::Json(value);
    }
    presets[text.substr(0, equals)] = std::move(options);
    return ok_status();
}

Status read_picture_sources(const Arguments& arguments, request::PictureSources& sources) {
    sources.hosts = arguments.all("allow-image-host");
    sources.fetch = serve::fetch_picture;
    const auto folder = arguments.text_if("media-path");
    if (!folder) return ok_status();
    std::error_code error;
    sources.folder = std::filesystem::absolute(*folder, error).lexically_normal().string();
    while (sources.folder.size() > 1 && sources.folder.ends_with('/')) sources.folder.pop_back();
    if (error || !std::filesystem::is_directory(sources.folder, error))
        return {Code::InvalidArgument, "--media-path " + base::path_in_quotes(*folder) + " is no folder"};
    return ok_status();
}

// "low=25%,high=none" as budgets by detail.
Status read_detail_budgets(const std::string& text, std::map<std::string, BudgetSpec>& budgets) {
    for (const std::string_view pair : base::split(text, ',')) {
        const std::size_t equals = pair.find('=');
        const std::string detail(pair.substr(0, equals));
        if (equals == std::string_view::npos || (detail != "low" && detail != "high" && detail != "auto")) {
            return {Code::InvalidArgument,
                    "--detail-budget takes low=BUDGET,high=BUDGET,auto=BUDGET, not " + base::in_quotes(text)};
        }
        CLASP_ASSIGN_OR_RETURN(budgets[detail], parse_budget(base::lower(pair.substr(equals + 1))));
    }
    return ok_status();
}

std::string model_id(const Arguments& arguments, const request::ModelFiles& files) {
    if (const auto alias = arguments.text_if("alias")) return *alias;
    constexpr std::string_view kSuffix = ".gguf";
    return files.name.ends_with(kSuffix) ? files.name.substr(0, files.name.size() - kSuffix.size())
                                         : files.name;
}

// On two processors one request after the other is as fast, and each is done sooner.
std::size_t usual_parallel() {
    return std::thread::hardware_concurrency() <= 2 ? 1 : 4;
}

Result<ServeOptions> read_serve_options(const Arguments& arguments) {
    ServeOptions options;
    CLASP_ASSIGN_OR_RETURN(options.settings, read_settings(arguments));
    CLASP_ASSIGN_OR_RETURN(const request::ModelFiles files,
                           request::find_model_files(options.settings, Caller::CommandLine));
    CLASP_ASSIGN_OR_RETURN(options.settings.request.policy,
                           request::find_policy(options.settings, Caller::CommandLine));
    options.model_id = model_id(arguments, files);
    options.model_file = files.model;
    options.host = arguments.text("host");
    options.port = static_cast<int>(arguments.integer("port"));
    options.api_prefix = arguments.text_if("api-prefix").value_or("");
    if (!options.api_prefix.empty() &&
        (options.api_prefix.front() != '/' || options.api_prefix.ends_with('/'))) {
        return Status(Code::InvalidArgument, "--api-prefix begins with a slash and does not end with one");
    }
    options.parallel = arguments.text_if("parallel") ? count_of(arguments, "parallel") : usual_parallel();
    options.max_kv_bytes = mebibytes(arguments, "memory");
    options.is_strict_model = arguments.flag("strict-model");
    options.ignores_tools = arguments.flag("ignore-tools");
    options.lists_presets = arguments.flag("list-presets");
    options.shows_metrics = arguments.flag("metrics");
    options.shows_slots = arguments.flag("slots");
    options.has_page = !arguments.flag("no-ui");
    options.ui_dir = arguments.text_if("ui-dir").value_or("");
    if (!options.ui_dir.empty() && !options.has_page)
        return Status(Code::InvalidArgument, "--ui-dir and --no-ui exclude each other");
    for (const std::string& preset : arguments.all("preset")) {
        CLASP_RETURN_IF_ERROR(read_preset(preset, options.presets));
    }
    CLASP_RETURN_IF_ERROR(read_keys(arguments, options.access.keys));
    options.access.hosts = arguments.all("allowed-host");
    options.access.origins = arguments.all("cors-origins");
    CLASP_RETURN_IF_ERROR(
        serve::check_exposure(options.host, !options.access.keys.is_empty(), arguments.flag("no-auth")));
    options.is_cache_apart = arguments.text("cache-scope") == "key";
    options.logs_content = arguments.flag("log-content");
    options.context = count_of(arguments, "ctx-size");
    CLASP_RETURN_IF_ERROR(read_picture_sources(arguments, options.pictures));
    for (const std::string& budgets : arguments.all("detail-budget")) {
        CLASP_RETURN_IF_ERROR(read_detail_budgets(budgets, options.detail_budgets));
    }
    options.http.max_body_bytes = mebibytes(arguments, "max-body");
    options.http.max_connections = count_of(arguments, "max-connections");
    options.http.max_connections_per_address = count_of(arguments, "max-connections-per-address");
    options.limits.max_images = count_of(arguments, "max-images");
    options.limits.max_output_tokens = count_of(arguments, "max-output-tokens");
    if (arguments.is_given("max-tokens")) {
        options.limits.usual_output_tokens = count_of(arguments, "max-tokens");
        if (options.limits.usual_output_tokens > options.limits.max_output_tokens)
            return Status(Code::InvalidArgument, "--max-tokens is more than --max-output-tokens");
    }
    options.limits.max_queue = count_of(arguments, "max-queue");
    options.limits.max_per_client = count_of(arguments, "max-per-client");
    for (const std::string& limit : arguments.all("limit"))
        CLASP_RETURN_IF_ERROR(set_limit(limit, options.http, options.limits));
    options.limits.max_wait = std::chrono::seconds(arguments.integer("max-wait"));
    options.limits.max_request = std::chrono::seconds(arguments.integer("max-request"));
    return options;
}

Status check(const Arguments& arguments) {
    CLASP_ASSIGN_OR_RETURN(const ServeOptions options, read_serve_options(arguments));
    if (!options.settings.engine.cache_dir.empty()) {
        CLASP_RETURN_IF_ERROR(
            check_output_folder(request::option_named("cache"), options.settings.engine.cache_dir));
    }
    return check_request_options(arguments);
}

// Lines of several threads, one after the other.
LogSink shared_log(const Console& console, AskProgress& progress) {
    return
        [sink = console.log_sink(), &progress, &err = console.err](LogLevel level, std::string_view message) {
            progress.aside([&] {
                if (level == LogLevel::Info) err << base::printable(message) << std::endl;  // one per request
                log(sink, level, message);
            });
        };
}

Status run(const Arguments& arguments, Console& console) {
    CLASP_ASSIGN_OR_RETURN(ServeOptions options, read_serve_options(arguments));
    CLASP_ASSIGN_OR_RETURN(const request::ModelFiles files,
                           request::find_model_files(options.settings, Caller::CommandLine));
    AskProgress progress(console);
    EngineOptions loading = read_engine_options(options.settings, files);
    options.log = shared_log(console, progress);
    loading.log = [log = options.log](LogLevel level, std::string_view message) {
        if (level != LogLevel::Info) log(level, message);
    };
    const std::chrono::seconds drain_time(arguments.integer("drain"));
    if (options.logs_content)
        console.err << "questions and answers are written to this log (--log-content)\n";
    std::unique_ptr<Engine> engine;
    serve::Server server(std::move(options));
    CLASP_RETURN_IF_ERROR(server.start());  // whoever asks meanwhile hears that the model is loading
    loading.on_progress = progress.sink();
    loading.cancel = &interrupted();
    CLASP_ASSIGN_OR_RETURN(loading.router, read_router_options(arguments, console));
    CLASP_ASSIGN_OR_RETURN(engine, Engine::load(loading));
    progress.clear();

    server.open(*engine);
    if (arguments.flag("json")) {
        write_json(console, {{"listening", server.url()}, {"port", server.port()}});
        console.out << std::flush;
    } else {
        console.out << "listening on " << server.url() << std::endl;
    }
    while (!interrupted()) std::this_thread::sleep_for(kGlance);
    console.err << "shutting down; requests under way have " << drain_time.count()
                << " s, a second signal ends them at once\n";
    if (!server.drain(drain_time)) console.err << "requests that were not done were given up\n";
    return ok_status();
}

std::vector<Option> network_options() {
    return {
        {.name = "host",
         .type = OptionType::Text,
         .value = "ADDRESS",
         .fallback = "127.0.0.1",
         .help = "address to listen on, or several with commas between; one beyond this machine needs "
                 "--api-key or --no-auth"},
        {.name = "port",
         .type = OptionType::Integer,
         .value = "N",
         .fallback = "8080",
         .help = "port to listen on; 0 takes a free one",
         .min = 0,
         .max = 65535},
        {.name = "api-prefix",
         .type = OptionType::Text,
         .value = "PATH",
         .help = "in front of every path, such as /clasp"},
        {.name = "api-key",
         .type = OptionType::Text,
         .value = "KEY",
         .help = "key that clients have to send; also from the environment, CLASP_API_KEY",
         .is_repeatable = true},
        {.name = "api-key-file", .type = OptionType::File, .value = "FILE", .help = "keys, one in each line"},
        {.name = "no-auth", .help = "listen beyond this machine without a key"},
        {.name = "allowed-host",
         .type = OptionType::Text,
         .value = "NAME",
         .help = "a name that requests may call this server by, besides addresses, localhost and the "
                 "machine's own",
         .is_repeatable = true},
        {.name = "cors-origins",
         .type = OptionType::Text,
         .value = "ORIGIN",
         .help = "web pages that may use the server, such as https://example.org, or *; those of this "
                 "machine may",
         .is_repeatable = true},
        {.name = "alias",
         .type = OptionType::Text,
         .value = "NAME",
         .help = "the model's name to clients (default: its own)"},
        {.name = "strict-model",
         .help = "refuse requests for other models instead of answering them with this one"},
        {.name = "ignore-tools", .help = "answer requests with tools in text instead of refusing them"},
        {.name = "preset",
         .type = OptionType::Text,
         .value = "NAME=SETTINGS",
         .help = "settings behind the model's name: fast=budget:64,method:clasp+ is asked for as MODEL:fast",
         .is_repeatable = true},
        {.name = "list-presets",
         .help = "list presets and budgets as models, for clients with a menu of them"},
        {.name = "detail-budget",
         .type = OptionType::Text,
         .value = "DETAIL=BUDGET,...",
         .help = "budgets of pictures that come with \"detail\", such as low=25%,high=none, where the "
                 "request names none; without this option detail has no effect",
         .is_repeatable = true},
        {.name = "media-path",
         .type = OptionType::File,
         .value = "DIR",
         .help = "requests may name pictures in this folder by their paths or as file:// URLs; without it no "
                 "file is read for a request"},
        {.name = "allow-image-host",
         .type = OptionType::Text,
         .value = "HOST",
         .help = "requests may name pictures of this host by their https URLs; without it nothing is "
                 "fetched",
         .is_repeatable = true},
        {.name = "cache-scope",
         .type = OptionType::Choice,
         .value = "SCOPE",
         .fallback = "all",
         .help = "who finds what is kept of pictures and prompts: all clients, or each key (without keys, "
                 "each address) its own, so that nobody can tell from the time what others sent",
         .choices = {"all", "key"}},
        {.name = "log-content", .help = "write questions and answers to the log, to look for faults"},
        {.name = "metrics", .help = "figures at /metrics, as Prometheus reads them"},
        {.name = "slots", .help = "at /slots, how far each request is that runs; never what it says"},
        {.name = "no-ui", .help = "no web page at /"},
        {.name = "ui-dir",
         .type = OptionType::File,
         .value = "DIR",
         .help = "read the page's files from this folder each time, for those who work on them"},
    };
}

Option whole_number(std::string_view name, std::string_view value, std::string_view fallback,
                    std::string_view help, double min, double max) {
    return {.name = name,
            .type = OptionType::Integer,
            .value = value,
            .fallback = fallback,
            .help = help,
            .group = OptionGroup::Performance,
            .min = min,
            .max = max};
}

std::string_view limits_help() {
    static const std::string kHelp = "another limit, in bytes, seconds or as a count: " + limit_names();
    return kHelp;
}

std::vector<Option> limit_options() {
    return {
        whole_number(
            "parallel", "N", "",
            "requests that are read or written at a time (default: 1 on two processors or fewer, else 4)", 1,
            256),
        whole_number("ctx-size", "N", "0",
                     "tokens of a prompt and its answer; 0 for as many as the model has", 0, 1 << 30),
        whole_number("memory", "MIB", "0", "MiB for keys and values of all requests that run; 0 for no limit",
                     0, 1 << 24),
        whole_number("max-body", "MIB", "32", "largest body of a request in MiB", 1, 1024),
        whole_number("max-connections", "N", "256", "connections at a time", 1, 4096),
        whole_number("max-connections-per-address", "N", "32", "connections of one address at a time", 1,
                     4096),
        whole_number("max-images", "N", "16", "pictures of one request", 1, 64),
        whole_number("max-tokens", "N", "",
                     "longest answer to a request that names no limit (default: --max-output-tokens)", 1,
                     1 << 20),
        whole_number("max-output-tokens", "N", "4096", "longest answer that a request may ask for", 1,
                     1 << 20),
        whole_number("max-queue", "N", "64", "requests that may wait", 1, 4096),
        whole_number("max-per-client", "N", "8",
                     "requests of one client, by key or address, that may wait or run", 1, 4096),
        whole_number("max-wait", "SECONDS", "600", "longest time in the queue", 1, 86400),
        whole_number("max-request", "SECONDS", "3600", "longest time for a request", 1, 86400),
        {.name = "limit",
         .type = OptionType::Text,
         .value = "NAME=N",
         .help = limits_help(),
         .group = OptionGroup::Performance,
         .is_repeatable = true},
        whole_number("drain", "SECONDS", "30", "time for requests under way after a signal to stop", 0,
                     86400),
    };
}

}  // namespace

Command serve_command() {
    Command command = {
        .name = "serve",
        .summary = "Answer requests over HTTP, as OpenAI's API and others have them",
        .notes =
            "The first line on standard output tells the address once requests can come. Ctrl-C or SIGTERM "
            "lets "
            "requests under way finish. Requests change the options about asking for themselves, in an "
            "object "
            "\"clasp\".",
        .examples = {"clasp-vlm serve -m llava.gguf -M mmproj.gguf -b 25%", "clasp-vlm serve --port 0"},
        .check = check,
        .run = run,
    };
    const auto add = [&command](std::vector<Option> more) {
        command.options.insert(command.options.end(), more.begin(), more.end());
    };
    add(network_options());
    add(request::options_of(request::Scope::Model));
    add(request::options_of(request::Scope::Asking));
    add(request::options_of(request::Scope::Router));
    for (const char* name : {"temperature", "top-p", "seed", "stop"}) add({request::option_named(name)});
    add({request::option_named("cache"), request::option_named("cache-size")});
    Option cached_images = request::option_named("cached-images");
    cached_images.fallback = "64";
    add({cached_images});
    Option image_cache = request::option_named("image-cache");
    image_cache.fallback = "512";
    add({image_cache});
    Option history_cache = request::option_named("history-cache");
    history_cache.fallback = "1024";
    add({history_cache});
    add(request::options_of(request::Scope::Engine));
    add(limit_options());
    return command;
}

}  // namespace clasp::cli
