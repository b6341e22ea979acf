#include "cli/ask_options.h"

#include "base/suggest.h"
#include "base/text.h"
#include "cli/request_rows.h"
#include "methods/method.h"
#include "request/conflicts.h"

namespace clasp::cli {

using request::Caller;
using request::Scope;
using request::Settings;

namespace {

// Pictures among the words, as far as they are known before one is read.
std::vector<ImageSource> named_images(const Arguments& arguments) {
    std::vector<ImageSource> images;
    for (const std::string& word : arguments.positional("IMAGE")) {
        if (word != "-") images.push_back({.path = word, .bytes = {}});
    }
    if (const auto image = arguments.text_if("image")) images.push_back({.path = *image, .bytes = {}});
    if (!images.empty() && arguments.is_given("as-clip"))
        images.front().frames = arguments.positional("IMAGE");
    return images;
}

}  // namespace

Result<Settings> read_settings(const Arguments& arguments) {
    Settings settings;
    CLASP_RETURN_IF_ERROR(read_rows(arguments,
                                    {Scope::Model, Scope::Asking, Scope::Router, Scope::Generation,
                                     Scope::Time, Scope::Memory, Scope::Engine},
                                    settings));
    settings.request.images = named_images(arguments);
    return settings;
}

Status check_request_options(const Arguments& arguments) {
    CLASP_ASSIGN_OR_RETURN(Settings settings, read_settings(arguments));
    CLASP_ASSIGN_OR_RETURN(const Policy policy, request::find_policy(settings, Caller::CommandLine));
    // A command with a list of methods checks that list; options then are for whichever takes them.
    if (arguments.text_if("methods")) settings.request.method_options.clear();
    CLASP_RETURN_IF_ERROR(request::check_choices(settings.request, policy));
    return request::check_conflicts(settings, Caller::CommandLine);
}

Result<AskRequest> read_request(const Arguments& arguments) {
    CLASP_ASSIGN_OR_RETURN(const Settings settings, read_settings(arguments));
    CLASP_ASSIGN_OR_RETURN(AskRequest request, read_request(settings));
    request.images.clear();
    return request;
}

Result<AskRequest> read_request(const Settings& settings) {
    AskRequest request = settings.request;
    CLASP_ASSIGN_OR_RETURN(request.policy, request::find_policy(settings, Caller::CommandLine));
    return request;
}

EngineOptions read_engine_options(const Settings& settings, const request::ModelFiles& files) {
    EngineOptions options = settings.engine;
    options.model = files.model;
    options.mmproj = files.mmproj;
    // llama.cpp's bits come only from the matrices that it multiplies with, and from its products.
    if (options.vision_weights == "auto" && settings.request.compat == Compat::LlamaCpp)
        options.vision_weights = "file";
    if (!settings.is_given("kernels") && settings.request.compat == Compat::LlamaCpp)
        options.kernels = "ggml";
    return options;
}

Result<Policy> read_policy_option(const Arguments& arguments, const std::vector<ImageSource>& shown) {
    Settings settings;
    CLASP_RETURN_IF_ERROR(read_rows(arguments, {Scope::Model}, settings));
    CLASP_RETURN_IF_ERROR(read_row(arguments, "policy", settings));
    settings.request.images = shown.empty() ? named_images(arguments) : shown;
    return request::find_policy(settings, Caller::CommandLine);
}

Result<request::ModelFiles> read_vision_model(const Arguments& arguments,
                                              const std::vector<ImageSource>& shown) {
    Settings settings;
    CLASP_RETURN_IF_ERROR(read_rows(arguments, {Scope::Model}, settings));
    settings.request.images = shown.empty() ? named_images(arguments) : shown;
    return request::find_vision_model(settings, Caller::CommandLine);
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

}  // namespace clasp::cli
