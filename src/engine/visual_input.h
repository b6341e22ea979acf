// From pictures to the decoder's visual tokens: decode, preprocess, encode or find in the cache, fuse,
// project, compare.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "clasp/engine.h"
#include "engine/feature_cache.h"
#include "model/vision_model.h"

namespace clasp::engine {

struct VisualInput {
    std::vector<model::VisionTokens> images;
    std::vector<std::string> notes;  // damaged pictures
    double image_ms = 0.0;
    double encode_ms = 0.0;
    double fuse_ms = 0.0;
    double project_ms = 0.0;
    double gram_ms = 0.0;
};

struct VisualRequest {
    Mix mix;
    // Layers that other questions would need, kept when an image has to be encoded; may be empty.
    std::vector<std::size_t> extra_layers;
    model::Compat compat = model::Compat::Original;
    bool want_gram = true;
    const std::atomic<bool>* cancel = nullptr;
};

// model_id names the vision file's content, for the cache. cache may be null.
Result<VisualInput> prepare_images(const std::vector<ImageSource>& images, const VisualRequest& request,
                                   model::VisionSession& session, const std::string& model_id,
                                   FeatureCache* cache);

}  // namespace clasp::engine
