#include "clasp/policy.h"

#include <memory>
#include <string_view>
#include <vector>

#include "capi/policy_handle.h"
#include "capi/support.h"

using namespace clasp;  // NOLINT(google-build-using-namespace): only C functions follow

namespace {

Result<std::unique_ptr<clasp_policy>> make_handle(Policy policy) {
    auto handle = std::make_unique<clasp_policy>();
    handle->hash = policy_hash(policy);
    for (std::size_t id = 0; id < policy.classes.size(); ++id) {
        CLASP_ASSIGN_OR_RETURN(const Mix mix, mix_for(policy, id));
        std::vector<clasp_layer_weight>& weights = handle->mixes.emplace_back();
        for (const LayerWeight& entry : mix) weights.push_back({entry.layer, entry.weight});
    }
    handle->policy = std::move(policy);
    return handle;
}

}  // namespace

clasp_code clasp_policy_load(const char* name_or_path, clasp_policy** policy, clasp_error* error) {
    return capi::guarded(error, [&]() -> Status {
        if (policy == nullptr) return capi::null_argument("policy");
        *policy = nullptr;
        if (name_or_path == nullptr) return capi::null_argument("name_or_path");
        CLASP_ASSIGN_OR_RETURN(Policy loaded, load_policy(name_or_path));
        CLASP_ASSIGN_OR_RETURN(auto handle, make_handle(std::move(loaded)));
        *policy = handle.release();
        return ok_status();
    });
}

clasp_code clasp_policy_parse(const char* json, size_t length, clasp_policy** policy, clasp_error* error) {
    return capi::guarded(error, [&]() -> Status {
        if (policy == nullptr) return capi::null_argument("policy");
        *policy = nullptr;
        if (json == nullptr) return capi::null_argument("json");
        CLASP_ASSIGN_OR_RETURN(Policy parsed, parse_policy(std::string_view(json, length)));
        CLASP_ASSIGN_OR_RETURN(auto handle, make_handle(std::move(parsed)));
        *policy = handle.release();
        return ok_status();
    });
}

void clasp_policy_destroy(clasp_policy* policy) {
    delete policy;
}

const char* clasp_policy_name(const clasp_policy* policy) {
    return policy->policy.name.c_str();
}

const char* clasp_policy_hash(const clasp_policy* policy) {
    return policy->hash.c_str();
}

size_t clasp_policy_class_count(const clasp_policy* policy) {
    return policy->policy.classes.size();
}

size_t clasp_policy_default_class(const clasp_policy* policy) {
    return policy->policy.default_class;
}

const char* clasp_policy_class_name(const clasp_policy* policy, size_t class_id) {
    if (class_id >= policy->policy.classes.size()) return nullptr;
    return policy->policy.classes[class_id].name.c_str();
}

double clasp_policy_split(const clasp_policy* policy, size_t class_id) {
    if (class_id >= policy->policy.classes.size()) return -1.0;
    return policy->policy.classes[class_id].split;
}

const clasp_layer_weight* clasp_policy_mix(const clasp_policy* policy, size_t class_id, size_t* n_layers) {
    const bool exists = class_id < policy->mixes.size();
    if (n_layers != nullptr) *n_layers = exists ? policy->mixes[class_id].size() : 0;
    return exists ? policy->mixes[class_id].data() : nullptr;
}
