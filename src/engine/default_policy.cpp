#include "engine/default_policy.h"

#include "policy/model_policy.h"

namespace clasp::engine {

namespace {

Result<Policy> tower_profile(const model::VisionInfo* vision) {
    if (vision == nullptr) return find_profile("llava");
    if (!vision->profile.empty()) return find_profile(vision->profile);
    return depth_profile(vision->n_blocks, vision->feature_layer);
}

}  // namespace

Result<Policy> default_policy(const std::string& model, const model::VisionInfo* vision) {
    CLASP_ASSIGN_OR_RETURN(const Policy usual, tower_profile(vision));
    return policy::model_policy(model, usual);
}

}  // namespace clasp::engine
