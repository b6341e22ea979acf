// clasp-vlm policy: the built-in policies, the text of one, and whether a file is one.
#include <iomanip>
#include <ostream>

#include "base/text.h"
#include "clasp/policy.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "methods/method.h"
#ifdef CLASP_HAS_ENGINE
#include "clasp/inspect.h"
#include "request/model_files.h"
#endif

namespace clasp::cli {

namespace {

constexpr std::size_t kLongestName = 200;

Json summary_json(const Policy& policy) {
    return {{"name", policy.name},
            {"description", policy.description},
            {"hash", policy_hash(policy)},
            {"model_family", policy.model_family},
            {"vision_layers", policy.n_vision_layers},
            {"method", policy.method},
            {"mass", mass_name(policy.mass)},
            {"classes", policy.classes.size()}};
}

Status list(const Arguments& arguments, Console& console) {
    Json json = Json::array();
    for (const std::string_view name : profile_names()) {
        CLASP_ASSIGN_OR_RETURN(const Policy policy, find_profile(name));
        json.push_back(summary_json(policy));
        if (arguments.flag("json")) continue;
        console.out << std::left << std::setw(16) << policy.name << policy.description << '\n';
    }
    if (arguments.flag("json")) {
        write_json(console, {{"policies", json}});
    } else {
        console.out
            << "\nA model that comes with the program brings its own. 'clasp-vlm policy show NAME > my.json' "
               "begins a file of yours.\n";
    }
    return ok_status();
}

// A built-in policy, a file's, or that of a model which comes with the program: reports name those by the
// model.
Result<Policy> policy_of(const std::string& name) {
    Result<Policy> policy = load_policy(name);
#ifdef CLASP_HAS_ENGINE
    if (policy.ok()) return policy;
    const auto files = request::find_named_model(name, "");
    if (files.ok()) return inspect_policy(files->model, files->mmproj);
#endif
    return policy;
}

// The file itself, so that it can be changed and given to --policy.
Status show(const Arguments& arguments, Console& console) {
    CLASP_ASSIGN_OR_RETURN(const Policy policy, policy_of(arguments.positional("NAME").front()));
    if (arguments.flag("json")) {
        const std::string text = to_json(policy);
        CLASP_ASSIGN_OR_RETURN(const Json json,
                               base::parse_json(text, {.max_bytes = text.size()}, base::KeyOrder::AsWritten));
        write_json(console, json);
    } else {
        console.out << to_json(policy);
    }
    return ok_status();
}

Status check_file(const Arguments& arguments, Console& console) {
    const std::string& path = arguments.positional("NAME").front();
    CLASP_ASSIGN_OR_RETURN(const Policy policy, read_policy(path));
    const Status method = methods::find_method(policy.method).status();
    if (!method.ok()) return method.with_context(base::path_in_quotes(path));
    if (arguments.flag("json")) {
        Json json = {{"file", path}, {"valid", true}};
        const Json summary = summary_json(policy);
        for (const auto& [key, value] : summary.items()) json[key] = value;
        write_json(console, json);
    } else {
        console.out << base::printable(path) << ": a valid policy, "
                    << base::printable(policy.name, kLongestName) << ", method " << policy.method << ", "
                    << policy.classes.size() << " classes, hash " << policy_hash(policy).substr(0, 16)
                    << '\n';
    }
    return ok_status();
}

Status check(const Arguments& arguments) {
    const std::string& action = arguments.positional("ACTION").front();
    const bool has_name = !arguments.positional("NAME").empty();
    if (action == "list" && has_name) {
        return {Code::InvalidArgument, "'policy list' takes no name; 'policy show' does"};
    }
    if (action != "list" && !has_name) {
        return {Code::InvalidArgument, action == "show"
                                           ? "'policy show' takes the name of a policy, or a file"
                                           : "'policy check' takes a file"};
    }
    if (action == "show") return policy_of(arguments.positional("NAME").front()).status();
    return ok_status();
}

Status run(const Arguments& arguments, Console& console) {
    const std::string& action = arguments.positional("ACTION").front();
    if (action == "list") return list(arguments, console);
    return action == "show" ? show(arguments, console) : check_file(arguments, console);
}

}  // namespace

Command policy_command() {
    return {
        .name = "policy",
        .summary = "List the built-in policies, print one, or check a policy file",
        .positionals = {{.name = "ACTION", .help = "what to do", .choices = {"list", "show", "check"}},
                        {.name = "NAME",
                         .help =
                             "show: a policy, a model that comes with the program, or a file; check: a file",
                         .min_count = 0}},
        .notes = "docs/reference/policy-format.md explains the fields.",
        .examples = {"clasp-vlm policy list", "clasp-vlm policy show llava > my.json",
                     "clasp-vlm policy check my.json"},
        .check = check,
        .run = run,
    };
}

}  // namespace clasp::cli
