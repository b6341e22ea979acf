#include "policy/model_policy.h"

#include <filesystem>

namespace clasp::policy {

std::string model_policy_path(const std::string& model) {
    std::filesystem::path path(model);
    path.replace_filename(path.stem().string() + "-policy.json");
    return path.string();
}

Result<Policy> model_policy(const std::string& model) {
    const std::string path = model_policy_path(model);
    std::error_code error;
    if (!std::filesystem::exists(path, error)) return find_profile("llava");
    auto policy = read_policy(path);
    if (!policy.ok()) return policy.status().with_context("the model's own policy");
    return policy;
}

}  // namespace clasp::policy
