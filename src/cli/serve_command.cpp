// clasp-vlm serve: the HTTP server.
#include "serve/server.h"

#include <chrono>
#include <cstdlib>
#include <mutex>
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
#include "request/model_files.h"
#include "request/option_table.h"

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
    options.has_page = !arguments.flag("no-ui");
    for (const std::string& preset : arguments.all("preset")) {
        CLASP_RETURN_IF_ERROR(read_preset(preset, options.presets));
    }
    CLASP_RETURN_IF_ERROR(read_keys(arguments, options.access.keys));
    options.access.hosts = arguments.all("allowed-host");
    options.access.origins = arguments.all("cors-origins");
    CLASP_RETURN_IF_ERROR(
        serve::check_exposure(options.host, !options.access.keys.is_empty(), arguments.flag("no-auth")));
    options.http.max_body_bytes = mebibytes(arguments, "max-body");
    options.http.max_connections = count_of(arguments, "max-connections");
    options.http.max_connections_per_address = count_of(arguments, "max-connections-per-address");
    options.limits.max_images = count_of(arguments, "max-images");
    options.limits.max_output_tokens = count_of(arguments, "max-output-tokens");
    options.limits.max_queue = count_of(arguments, "max-queue");
    options.limits.max_per_client = count_of(arguments, "max-per-client");
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
LogSink shared_log(const Console& console) {
    auto mutex = std::make_shared<std::mutex>();
    return [sink = console.log_sink(), mutex](LogLevel level, std::string_view message) {
        const std::lock_guard lock(*mutex);
        log(sink, level, message);
    };
}

Status run(const Arguments& arguments, Console& console) {
    CLASP_ASSIGN_OR_RETURN(ServeOptions options, read_serve_options(arguments));
    CLASP_ASSIGN_OR_RETURN(const request::ModelFiles files,
                           request::find_model_files(options.settings, Caller::CommandLine));
    AskProgress progress(console);
    EngineOptions loading = read_engine_options(options.settings, files);
    loading.log = options.log = shared_log(console);
    loading.on_progress = progress.sink();
    loading.cancel = &interrupted();
    CLASP_ASSIGN_OR_RETURN(loading.router, read_router_options(arguments, console));
    CLASP_ASSIGN_OR_RETURN(const auto engine, Engine::load(loading));
    progress.clear();

    const std::chrono::seconds drain_time(arguments.integer("drain"));
    serve::Server server(*engine, std::move(options));
    CLASP_RETURN_IF_ERROR(server.start());
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
         .help = "address to listen on; one beyond this machine needs --api-key or --no-auth"},
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
        {.name = "metrics", .help = "figures at /metrics, as Prometheus reads them"},
        {.name = "no-ui", .help = "no web page at /"},
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

std::vector<Option> limit_options() {
    return {
        whole_number(
            "parallel", "N", "",
            "requests that are read or written at a time (default: 1 on two processors or fewer, else 4)", 1,
            256),
        whole_number("memory", "MIB", "0", "MiB for keys and values of all requests that run; 0 for no limit",
                     0, 1 << 24),
        whole_number("max-body", "MIB", "32", "largest body of a request in MiB", 1, 1024),
        whole_number("max-connections", "N", "256", "connections at a time", 1, 4096),
        whole_number("max-connections-per-address", "N", "32", "connections of one address at a time", 1,
                     4096),
        whole_number("max-images", "N", "16", "pictures of one request", 1, 64),
        whole_number("max-output-tokens", "N", "4096", "longest answer to a request that names no limit", 1,
                     1 << 20),
        whole_number("max-queue", "N", "64", "requests that may wait", 1, 4096),
        whole_number("max-per-client", "N", "8",
                     "requests of one client, by key or address, that may wait or run", 1, 4096),
        whole_number("max-wait", "SECONDS", "600", "longest time in the queue", 1, 86400),
        whole_number("max-request", "SECONDS", "3600", "longest time for a request", 1, 86400),
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
    add({request::option_named("cache")});
    Option cached_images = request::option_named("cached-images");
    cached_images.fallback = "8";
    add({cached_images});
    add(request::options_of(request::Scope::Engine));
    add(limit_options());
    return command;
}

}  // namespace clasp::cli
