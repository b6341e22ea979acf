#include "engine/default_policy.h"

#include <algorithm>

#include "policy/model_policy.h"

namespace clasp::engine {

namespace {

// Vision blocks that a policy needs, whatever the class.
std::size_t blocks_of(const Policy& policy) {
    std::size_t n_blocks = 0;
    for (const PolicyClass& entry : policy.classes) {
        for (const LayerWeight& part : entry.weights) n_blocks = std::max(n_blocks, part.layer + 1);
    }
    return n_blocks;
}

Result<DefaultPolicy> tower_profile(const model::VisionInfo* vision) {
    DefaultPolicy chosen;
    if (vision == nullptr || !vision->profile.empty()) {
        CLASP_ASSIGN_OR_RETURN(chosen.policy, find_profile(vision == nullptr ? "llava" : vision->profile));
        if (vision == nullptr || blocks_of(chosen.policy) <= vision->n_blocks) return chosen;
        chosen.note = "the profile " + chosen.policy.name + " mixes vision layers up to " +
                      std::to_string(blocks_of(chosen.policy) - 1) + ", of which this tower has " +
                      std::to_string(vision->n_blocks) + ", so its mixes are those of llava by depth";
    }
    chosen.policy = depth_profile(vision->n_blocks, vision->feature_layer);
    return chosen;
}

}  // namespace

Result<DefaultPolicy> default_policy(const std::string& model, const model::VisionInfo* vision) {
    CLASP_ASSIGN_OR_RETURN(DefaultPolicy usual, tower_profile(vision));
    CLASP_ASSIGN_OR_RETURN(Policy policy, policy::model_policy(model, usual.policy));
    if (policy.name != usual.policy.name || policy_hash(policy) != policy_hash(usual.policy)) {
        usual.note.clear();
    }
    usual.policy = std::move(policy);
    return usual;
}

}  // namespace clasp::engine
