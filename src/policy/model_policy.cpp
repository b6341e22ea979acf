#include "policy/model_policy.h"

#include <filesystem>

namespace clasp::policy {

namespace {

std::filesystem::path policy_beside(std::filesystem::path model) {
    return model.replace_filename(model.stem().string() + "-policy.json");
}

// A link that leads nowhere is there: reading it says what is wrong.
bool is_there(const std::filesystem::path& path) {
    std::error_code error;
    return std::filesystem::symlink_status(path, error).type() != std::filesystem::file_type::not_found;
}

}  // namespace

std::string model_policy_path(const std::string& model) {
    std::filesystem::path path = policy_beside(model);
    std::error_code error;
    if (is_there(path) || !std::filesystem::is_symlink(model, error)) return path.string();
    // A link to a model elsewhere: its policy is beside the file itself.
    const std::filesystem::path file = std::filesystem::canonical(model, error);
    return error ? path.string() : policy_beside(file).string();
}

Result<Policy> model_policy(const std::string& model, const Policy& usual) {
    const std::string path = model_policy_path(model);
    if (!is_there(path)) return usual;
    auto policy = read_policy(path);
    if (!policy.ok()) return policy.status().with_context("the model's own policy");
    return policy;
}

}  // namespace clasp::policy
