#include "request/model_files.h"

#include <algorithm>
#include <filesystem>

#include "base/suggest.h"
#include "base/text.h"
#include "clasp/inspect.h"
#include "request/model_choice.h"

namespace clasp::request {

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

// Empty: no model of that name.
ModelFiles named_files(const std::string& model) {
    for (const fs::path& folder : model_folders()) {
        const fs::path text = folder / (std::string(kPrefix) + model + std::string(kSuffix));
        const fs::path vision = folder / (std::string(kPrefix) + model + "-mmproj" + std::string(kSuffix));
        std::error_code error;
        if (fs::exists(text, error) && fs::exists(vision, error)) {
            return {model, text.string(), vision.string()};
        }
    }
    return {};
}

}  // namespace

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

Result<ModelFiles> find_model_files(const Settings& settings, Caller caller) {
    const std::string model = usual_model(settings, !named_files(kClipModel).name.empty());
    if (is_file_name(model)) return ModelFiles{fs::path(model).filename().string(), model, settings.mmproj};
    CLASP_ASSIGN_OR_RETURN(ModelFiles files,
                           find_named_model(model, spelled("model", caller) + " FILE.gguf and " +
                                                       spelled("mmproj", caller) + " FILE.gguf"));
    if (!settings.mmproj.empty()) {
        return Status(Code::InvalidArgument,
                      spelled("mmproj", caller) + " goes with " + spelled("model", caller) + " FILE; " +
                          base::in_quotes(model) + " names a model that brings its own");
    }
    return files;
}

Result<ModelFiles> find_vision_model(const Settings& settings, Caller caller) {
    CLASP_ASSIGN_OR_RETURN(ModelFiles files, find_model_files(settings, caller));
    if (files.mmproj.empty()) {
        return Status(Code::InvalidArgument, spelled("model", caller) + " with a file needs " +
                                                 spelled("mmproj", caller) + " with its vision file");
    }
    return files;
}

Result<Policy> find_policy(const Settings& settings, Caller caller) {
    if (settings.is_given("policy")) return settings.request.policy;
    CLASP_ASSIGN_OR_RETURN(const ModelFiles files, find_model_files(settings, caller));
    return inspect_policy(files.model, files.mmproj);
}

Result<ModelFiles> find_named_model(const std::string& model, const std::string& instead) {
    if (ModelFiles files = named_files(model); !files.name.empty()) return files;
    const std::vector<std::string> names = model_names();
    const std::vector<std::string_view> views(names.begin(), names.end());
    return Status(Code::NotFound, "no model " + base::in_quotes(model) + " comes with this program" +
                                      base::did_you_mean(model, views) + "; there is " +
                                      (views.empty() ? "none" : base::join(views)) + ", or give " + instead);
}

}  // namespace clasp::request
