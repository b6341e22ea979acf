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
};

// Grams are borrowed: one N x N matrix per image, in order. Not thread safe.
class StageChooser {
   public:
    StageChooser(StageChooserOptions options, std::vector<GramView> grams, ThreadPool* pool);

    Result<StageChoice> choose(const StageView& view);

    [[nodiscard]] const std::vector<StageReport>& reports() const { return reports_; }

   private:
    Status choose_in_image(std::size_t image, std::size_t stage, std::span<const TokenIndex> live,
                           std::span<const float> scores, std::size_t keep, StageReport& report);

    StageChooserOptions options_;
    std::vector<GramView> grams_;
    std::vector<TokenIndex> first_token_;  // of each image among all visual tokens
    std::vector<std::vector<float>> masses_;
    ThreadPool* pool_;
    methods::Plan plan_;
    std::vector<StageReport> reports_;
};

}  // namespace clasp::engine
