// From pictures to the decoder's visual tokens: decode, preprocess, encode or find in the cache, fuse,
// project, compare; and what a method drops or merges on that way.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "clasp/engine.h"
#include "engine/picture_input.h"
#include "engine/vision_memory.h"
#include "methods/method.h"
#include "model/vision_model.h"

namespace clasp::engine {

// The tokens of one image as they enter the decoder.
struct SeenImage {
    std::uint64_t picture = 0;                         // PreparedPicture::number
    model::VisionPlan plan;                            // what it became
    std::shared_ptr<const Image> image;                // if it was wanted
    std::vector<std::shared_ptr<const Image>> frames;  // of a clip, if they were wanted
    std::vector<float> values;                         // tokens x width, without fixed rows
    std::vector<TokenIndex> places;                // per token: which of the plan's, or methods::kClassToken
    std::vector<std::vector<TokenIndex>> members;  // per token: those it stands for; empty: unmerged
    std::vector<float> masses;                     // per token; empty: all 1
    std::vector<float> additions;                  // per token: PromptPart::additions; empty in most models
    std::vector<float>
        gram;  // tokens x tokens cosines; empty unless asked for, and of more than kMaxGramTokens

    [[nodiscard]] std::size_t n_tokens() const { return places.size(); }
};

struct VisualInput {
    std::vector<SeenImage> images;
    std::vector<StageReport> reports;  // what left before the decoder; empty when nothing did
    std::vector<std::string> notes;    // damaged pictures and caches
    double image_ms = 0.0;
    double encode_ms = 0.0;
    double fuse_ms = 0.0;
    double project_ms = 0.0;
    double gram_ms = 0.0;
    double select_ms = 0.0;
    // Pieces of images whose layers were looked for in the memory, and those that were there.
    std::size_t n_looked_up = 0;
    std::size_t n_found = 0;
};

struct VisualRequest {
    Mix mix;
    // Layers that other questions would need, kept when an image has to be encoded; may be empty.
    std::vector<std::size_t> extra_layers;
    Compat compat = Compat::Original;
    bool want_gram = true;
    bool want_images = false;           // SeenImage::image
    methods::MethodRun* run = nullptr;  // null: nothing leaves before the decoder
    std::vector<std::size_t> keep;      // per image: tokens that are to enter the decoder; with run
    MassRule mass = MassRule::None;
    FeatureView text;  // the decoder's embeddings of the user's words, if the method wants them
    ThreadPool* pool = nullptr;
    const std::atomic<bool>* cancel = nullptr;
    // Images that are encoded, with fractions, rising; on the calling thread. May be empty.
    std::function<void(double images)> on_images = {};
};

// memory may be null. Errors: the image's, the tower's, and the method's own.
Result<VisualInput> prepare_images(const std::vector<PlannedPicture>& pictures, const VisualRequest& request,
                                   model::VisionSession& session, VisionMemory* memory);

// An image's tokens as methods see them: its grid, or one column when it has several, or tokens beside it.
Grid method_grid(const ImageLayout& layout);

}  // namespace clasp::engine
