#include "methods/fastervlm.h"

#include <memory>

#include "methods/method.h"
#include "methods/methods.h"
#include "methods/ranking.h"
#include "methods/signals.h"

namespace clasp::methods {

Result<Plan> fastervlm(std::span<const float> class_attention, std::size_t keep) {
    CLASP_RETURN_IF_ERROR(check_budget(keep, class_attention.size()));
    CLASP_RETURN_IF_ERROR(check_scores(class_attention, class_attention.size(), "class attention"));
    if (keep >= class_attention.size()) return keep_all_tokens(class_attention.size());
    return keep_tokens(highest(class_attention, keep), Reason::Pivot);
}

namespace {

class FastervlmRun : public MethodRun {
   public:
    FastervlmRun(const Setup& setup, std::size_t entering) : block_(setup.vision.feature_layer) {
        program_.encoder.class_attention = {block_};
        program_.has_after_projector = true;
        program_.entering = entering;
        program_.positions = PositionMode::Compact;
    }

    Status after_projector(const ImageInput& input, Plan& plan) override {
        CLASP_ASSIGN_OR_RETURN(plan, fastervlm(mean_class_attention(input, block_), input.keep));
        return ok_status();
    }

   private:
    std::size_t block_;
};

Result<std::unique_ptr<MethodRun>> start_fastervlm(const Setup& setup) {
    CLASP_RETURN_IF_ERROR(require_class_token(setup, "fastervlm"));
    CLASP_ASSIGN_OR_RETURN(const std::size_t entering, entering_count(setup.budget, "fastervlm"));
    return std::unique_ptr<MethodRun>(new FastervlmRun(setup, entering));
}

}  // namespace

Method fastervlm_method() {
    return {
        .name = "fastervlm",
        .summary = "the patches to which the encoder's class token attends most",
        .paper = "[CLS] Attention is All You Need for Training-Free Visual Token Pruning (arXiv 2412.01818)",
        .start = start_fastervlm};
}

}  // namespace clasp::methods
