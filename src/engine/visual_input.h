// From pictures to the decoder's visual tokens: decode, preprocess, encode or find in the cache, fuse,
// project, compare; and what a method drops or merges on that way.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "clasp/engine.h"
#include "engine/vision_memory.h"
#include "methods/method.h"
#include "model/vision_model.h"

namespace clasp::engine {

// The tokens of one image as they enter the decoder.
struct SeenImage {
    std::uint64_t picture = 0;                     // PreparedPicture::number
    Grid grid;                                     // of its patches
    std::vector<float> values;                     // tokens x width
    std::vector<TokenIndex> places;                // per token: its patch, or methods::kClassToken
    std::vector<std::vector<TokenIndex>> members;  // per token: the patches it stands for; empty: unmerged
    std::vector<float> masses;                     // per token; empty: all 1
    std::vector<float> gram;                       // tokens x tokens cosines; empty unless asked for

    [[nodiscard]] std::size_t n_tokens() const { return places.size(); }
};

struct VisualInput {
    std::vector<SeenImage> images;
    std::vector<StageReport> reports;  // what left before the decoder; empty when nothing did
    std::vector<std::string> notes;    // damaged pictures
    double image_ms = 0.0;
    double encode_ms = 0.0;
    double fuse_ms = 0.0;
    double project_ms = 0.0;
    double gram_ms = 0.0;
    double select_ms = 0.0;
};

struct VisualRequest {
    Mix mix;
    // Layers that other questions would need, kept when an image has to be encoded; may be empty.
    std::vector<std::size_t> extra_layers;
    model::Compat compat = model::Compat::Original;
    bool want_gram = true;
    methods::MethodRun* run = nullptr;  // null: nothing leaves before the decoder
    std::vector<std::size_t> keep;      // per image: tokens that are to enter the decoder; with run
    MassRule mass = MassRule::None;
    FeatureView text;  // the decoder's embeddings of the user's words, if the method wants them
    ThreadPool* pool = nullptr;
    const std::atomic<bool>* cancel = nullptr;
};

// memory may be null. Errors: the image's, the tower's, and the method's own.
Result<VisualInput> prepare_images(const std::vector<ImageSource>& images, const VisualRequest& request,
                                   model::VisionSession& session, VisionMemory* memory);

}  // namespace clasp::engine
