#include "cli/model_files.h"

#include <algorithm>
#include <filesystem>

#include "base/suggest.h"
#include "base/text.h"
#include "policy/model_policy.h"

namespace clasp::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "clasp-";
constexpr std::string_view kSuffix = ".gguf";

bool is_file_name(const std::string& model) {
    return model.ends_with(kSuffix) || model.find('/') != std::string::npos;
}

// Where models that come with the program lie: beside an installed program, or in the checkout that it was
// built from.
std::vector<fs::path> model_folders() {
    std::vector<fs::path> folders;
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    if (!error) folders.push_back(program.parent_path().parent_path() / "share" / "clasp" / "models");
    folders.emplace_back(CLASP_MODELS_DIR);
    return folders;
}

}  // namespace

std::vector<Option> model_options() {
    return {
        {.name = "model",
         .type = OptionType::Text,
         .value = "NAME|FILE",
         .fallback = "tiny",
         .help = "a model that comes with the program, or a text GGUF file"},
        {.name = "mmproj",
         .type = OptionType::File,
         .value = "FILE",
         .help = "the vision GGUF file of --model FILE"},
    };
}

std::vector<std::string> model_names() {
    constexpr std::string_view kVisionSuffix = "-mmproj.gguf";
    std::vector<std::string> names;
    for (const fs::path& folder : model_folders()) {
        std::error_code error;
        for (const auto& entry : fs::directory_iterator(folder, error)) {
            std::string name = entry.path().filename().string();
            if (!name.starts_with(kPrefix) || !name.ends_with(kVisionSuffix)) continue;
            name = name.substr(kPrefix.size(), name.size() - kPrefix.size() - kVisionSuffix.size());
            if (fs::exists(folder / (std::string(kPrefix) + name + std::string(kSuffix)), error))
                names.push_back(name);
        }
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

Status check_model_options(const Arguments& arguments) {
    const bool is_file = is_file_name(arguments.text("model"));
    if (!is_file) CLASP_RETURN_IF_ERROR(find_named_model(arguments.text("model")).status());
    if (is_file && !arguments.is_given("mmproj")) {
        return {Code::InvalidArgument, "--model with a file needs --mmproj with its vision file"};
    }
    if (!is_file && arguments.is_given("mmproj")) {
        return {Code::InvalidArgument, "--mmproj goes with --model FILE; '" + arguments.text("model") +
                                           "' names a model that brings its own"};
    }
    return ok_status();
}

Option policy_option(std::string_view help) {
    return {.name = "policy", .type = OptionType::Text, .value = "NAME|FILE", .help = help};
}

Result<Policy> read_policy_option(const Arguments& arguments) {
    if (const auto policy = arguments.text_if("policy")) return load_policy(*policy);
    CLASP_ASSIGN_OR_RETURN(const ModelFiles files, find_model_files(arguments));
    return policy::model_policy(files.model);
}

Result<ModelFiles> find_model_files(const Arguments& arguments) {
    const std::string model = arguments.text("model");
    if (is_file_name(model)) {
        return ModelFiles{fs::path(model).filename().string(), model, arguments.text("mmproj")};
    }
    return find_named_model(model);
}

Result<ModelFiles> find_named_model(const std::string& model) {
    for (const fs::path& folder : model_folders()) {
        const fs::path text = folder / ("clasp-" + model + ".gguf");
        const fs::path vision = folder / ("clasp-" + model + "-mmproj.gguf");
        std::error_code error;
        if (!fs::exists(text, error) || !fs::exists(vision, error)) continue;
        return ModelFiles{model, text.string(), vision.string()};
    }
    const std::vector<std::string> names = model_names();
    const std::vector<std::string_view> views(names.begin(), names.end());
    return Status(Code::NotFound, "no model " + base::in_quotes(model) + " comes with this program" +
                                      base::did_you_mean(model, views) + "; there is " +
                                      (views.empty() ? "none" : base::join(views)) +
                                      ", or give --model FILE.gguf and --mmproj FILE.gguf");
}

}  // namespace clasp::cli
