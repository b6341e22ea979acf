#include "clasp/policy.h"

#include <algorithm>
#include <string>

#include "base/file.h"
#include "base/suggest.h"
#include "base/text.h"
#include "policy/limits.h"

namespace clasp {

Result<Policy> read_policy(const std::string& path) {
    CLASP_ASSIGN_OR_RETURN(const std::string text, base::read_file(path, policy::kFileLimits.max_bytes));
    auto policy = parse_policy(text);
    if (!policy.ok()) return policy.status().with_context(base::path_in_quotes(path));
    return policy;
}

Status write_policy(const Policy& policy, const std::string& path) {
    CLASP_RETURN_IF_ERROR(validate(policy));
    return base::write_file_atomic(path, to_json(policy));
}

Result<Policy> load_policy(std::string_view name_or_path) {
    auto profile = find_profile(name_or_path);
    if (profile.ok()) return profile;
    auto policy = read_policy(std::string(name_or_path));
    if (policy.ok() || policy.status().code() != Code::NotFound) return policy;
    const std::vector<std::string_view> names = profile_names();
    return Status(Code::NotFound, base::path_in_quotes(name_or_path) +
                                      " is neither a file nor one of the profiles " + base::join(names) +
                                      base::did_you_mean(name_or_path, names));
}

Result<std::size_t> find_class(const Policy& policy, std::string_view id_or_name) {
    if (const auto id = base::parse_size(id_or_name); id && *id < policy.classes.size()) return *id;
    std::vector<std::string_view> names;
    std::vector<std::string_view> first_words;
    std::vector<std::size_t> by_first_word;
    for (std::size_t id = 0; id < policy.classes.size(); ++id) {
        const std::string_view name = policy.classes[id].name;
        const std::string_view first_word = name.substr(0, name.find(' '));
        if (base::is_same_name(name, id_or_name)) return id;
        if (base::is_same_name(first_word, id_or_name)) by_first_word.push_back(id);
        names.push_back(name);
        first_words.push_back(first_word);
    }
    if (by_first_word.size() == 1) return by_first_word.front();
    std::string hint = base::did_you_mean(id_or_name, names);
    if (hint.empty() && by_first_word.empty()) hint = base::did_you_mean(id_or_name, first_words);
    return Status(Code::NotFound, "policy " + base::in_quotes(policy.name) + " has no class " +
                                      base::in_quotes(id_or_name) + hint + "; there are 0 to " +
                                      std::to_string(policy.classes.size() - 1) + ": " + base::join(names));
}

Result<Mix> mix_for(const Policy& policy, std::size_t class_id) {
    if (class_id >= policy.classes.size()) {
        return Status(Code::InvalidArgument, "class " + std::to_string(class_id) + " is not one of the " +
                                                 std::to_string(policy.classes.size()) +
                                                 " classes of policy " + base::in_quotes(policy.name));
    }
    const PolicyClass& entry = policy.classes[class_id];
    return entry.weights.empty() ? mix_from_scores(entry.scores, policy.tau)
                                 : mix_from_weights(entry.weights, policy.tau);
}

std::size_t required_depth(const Mix& mix) {
    std::size_t depth = 0;
    for (const LayerWeight& entry : mix) depth = std::max(depth, entry.layer + 1);
    return depth;
}

ScheduleRequest schedule_request(const Policy& policy, std::size_t n_visual, std::size_t n_layers,
                                 const BudgetSpec& budget) {
    ScheduleRequest request;
    request.n_visual = n_visual;
    request.n_layers = n_layers;
    request.budget = budget;
    request.stage_mode = policy.stage_mode;
    if (budget.kind == BudgetSpec::Kind::None) return request;
    request.stage_layers = policy.stage_layers;
    request.shape = policy.stage_shape;
    request.forced = policy.forced_stages;
    request.named = policy.schedule_name;
    return request;
}

}  // namespace clasp
