// The selector that a prefill calls at its stages: shares a stage's count among the images, lets the
// method choose in each, carries masses, and writes down what was kept and why.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "clasp/engine.h"
#include "clasp/select.h"
#include "clasp/thread_pool.h"
#include "engine/prefill.h"
#include "methods/method.h"

namespace clasp::engine {

// `total` whole items in proportion to the weights, none above its cap: largest remainders first, ties to
// the smaller index. total is at most the sum of the caps.
std::vector<std::size_t> share_in_proportion(std::size_t total, std::span<const std::size_t> weights,
                                             std::span<const std::size_t> caps);

struct StageChooserOptions {
    methods::MethodRun* run = nullptr;  // borrowed
    MassRule mass = MassRule::None;
    double split = 0.0;
    std::uint32_t iterations = 5;
    std::uint64_t seed = 0;
    std::vector<std::size_t> keep;  // visual tokens from each stage on
    std::size_t n_layers = 0;       // of the decoder
    std::size_t n_heads = 0;
};

// The tokens of one image as they entered the decoder, borrowed.
struct ChooserImage {
    std::size_t n_tokens = 0;
    std::uint64_t picture = 0;  // a number that stands for its pixels
    // One of the two if the method or masses need to compare tokens: their cosines, n_tokens x n_tokens, or
    // the tokens themselves.
    GramView gram = {};
    FeatureView features = {};
    Grid grid = {};
    std::span<const TokenIndex> places = {};  // per token: its patch; empty: token by token
    std::span<const float> masses = {};       // empty: all 1
    bool has_lines = false;  // rows are carried between its tokens, so these keep their order
    // Of a clip whose steps are to keep their shares: per step, the token behind its last; rising, the last
    // one is n_tokens. Empty: one choice over all tokens.
    std::vector<TokenIndex> step_ends = {};
};

// Not thread safe.
class StageChooser {
   public:
    StageChooser(StageChooserOptions options, const std::vector<ChooserImage>& images, ThreadPool* pool);

    Result<StageChoice> choose(const StageView& view);

    // Indices in reports count patches of all images.
    [[nodiscard]] const std::vector<StageReport>& reports() const { return reports_; }

   private:
    struct ImageState {
        ChooserImage tokens;
        std::vector<TokenIndex> places;
        std::vector<float> masses;
        TokenIndex first_token = 0;  // among all visual tokens
        TokenIndex first_patch = 0;
    };

    // Tokens among which a share of the count is chosen: those of an image, or of a step. `begin` and `end`
    // are places in the list of live tokens.
    struct Run {
        std::size_t image = 0;
        std::size_t n_tokens = 0;  // that entered the decoder
        std::size_t begin = 0;
        std::size_t end = 0;
    };
    [[nodiscard]] std::vector<Run> runs_of(std::span<const TokenIndex> live) const;
    Status choose_in_image(std::size_t image, const StageView& view, std::size_t begin, std::size_t end,
                           std::size_t keep, StageReport& report, StageChoice& choice);
    void keep_in_order(StageChoice& choice) const;
    Status pass_masses(ImageState& image, std::span<const TokenIndex> live);
    // has_reasons: false when nothing was chosen because all stay.
    void record(const ImageState& image, bool has_reasons, StageReport& report, StageChoice& choice) const;

    StageChooserOptions options_;
    std::vector<ImageState> images_;
    ThreadPool* pool_;
    methods::Plan plan_;
    SelectWorkspace workspace_;
    std::vector<StageReport> reports_;
};

}  // namespace clasp::engine
