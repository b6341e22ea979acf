#include "methods/vispruner.h"

#include <algorithm>
#include <limits>
#include <string>

#include "methods/methods.h"
#include "methods/ranking.h"
#include "methods/signals.h"

namespace clasp::methods {
namespace {

float nearest_similarity(const GramView& gram, TokenIndex token, std::span<const TokenIndex> partners) {
    const float* row = gram.data + token * gram.stride;
    float nearest = -std::numeric_limits<float>::infinity();
    for (const TokenIndex partner : partners) nearest = std::max(nearest, row[partner]);
    return nearest;
}

}  // namespace

void vispruner_deduplicate(const GramView& gram, std::size_t size, std::size_t per_round,
                           std::vector<TokenIndex>& list) {
    std::vector<TokenIndex> even;
    std::vector<TokenIndex> odd;
    std::vector<float> similarity;
    while (list.size() > size) {
        even.clear();
        odd.clear();
        for (std::size_t i = 0; i < list.size(); ++i) (i % 2 == 0 ? even : odd).push_back(list[i]);
        similarity.clear();
        for (const TokenIndex token : even) similarity.push_back(nearest_similarity(gram, token, odd));
        const std::size_t n_deleted = std::min({per_round, list.size() - size, even.size()});
        const std::vector<TokenIndex> order = ranked(similarity);
        list.clear();
        for (const TokenIndex position : std::span(order).subspan(n_deleted)) {
            list.push_back(even[position]);
        }
        list.insert(list.end(), odd.begin(), odd.end());
    }
}

Result<Plan> vispruner(std::span<const float> class_attention, const GramView& gram, std::size_t keep,
                       const VisprunerOptions& options) {
    const std::size_t n = class_attention.size();
    CLASP_RETURN_IF_ERROR(check_budget(keep, n));
    CLASP_RETURN_IF_ERROR(check_scores(class_attention, n, "class attention"));
    CLASP_RETURN_IF_ERROR(check_cosines(gram, n));
    if (!(options.important_share >= 0.0 && options.important_share <= 1.0)) {
        return Status(Code::InvalidArgument, "the share of important tokens " +
                                                 std::to_string(options.important_share) +
                                                 " is outside [0, 1]");
    }
    if (options.per_round == 0) {
        return Status(Code::InvalidArgument, "a round must be allowed to delete at least 1 token");
    }
    if (keep >= n) return keep_all_tokens(n);

    const std::size_t n_important = pivot_count(options.important_share, keep);
    const std::vector<TokenIndex> order = ranked(class_attention);
    const std::span<const TokenIndex> important = std::span(order).first(n_important);
    std::vector<TokenIndex> diverse;
    if (n_important < keep) {
        diverse.assign(order.begin() + static_cast<std::ptrdiff_t>(n_important), order.end());
        vispruner_deduplicate(gram, keep - n_important, options.per_round, diverse);
    }
    return keep_tokens(important, diverse);
}

namespace {

class VisprunerRun : public MethodRun {
   public:
    VisprunerRun(const Setup& setup, std::size_t entering) : block_(setup.vision.feature_layer) {
        options_.important_share = setup.settings.number("important");
        options_.per_round = setup.settings.integer("per-round");
        program_.encoder.class_attention = {block_};
        program_.encoder.layers = {block_};
        program_.has_after_projector = true;
        program_.entering = entering;
        program_.positions = PositionMode::Compact;
    }

    Status after_projector(const ImageInput& input, Plan& plan) override {
        CLASP_ASSIGN_OR_RETURN(const CosineMatrix gram,
                               CosineMatrix::of(values_of(input.layers, block_), input.pool));
        CLASP_ASSIGN_OR_RETURN(
            plan, vispruner(mean_class_attention(input, block_), gram.view(), input.keep, options_));
        return ok_status();
    }

   private:
    std::size_t block_;
    VisprunerOptions options_;
};

Result<std::unique_ptr<MethodRun>> start(const Setup& setup) {
    CLASP_RETURN_IF_ERROR(require_class_token(setup, "vispruner"));
    CLASP_ASSIGN_OR_RETURN(const std::size_t entering, entering_count(setup.budget, "vispruner"));
    return std::unique_ptr<MethodRun>(new VisprunerRun(setup, entering));
}

}  // namespace

Method vispruner_method() {
    return {.name = "vispruner",
            .summary = "the most attended patches, and from the rest those left after deleting similar ones",
            .paper =
                "Beyond Text-Visual Attention: Exploiting Visual Cues for Effective Token Pruning in VLMs "
                "(ICCV 2025)",
            .options = {{.name = "important",
                         .help = "share of the budget for the most attended patches",
                         .fallback = "0.5",
                         .type = OptionSpec::Type::Number,
                         .min = 0,
                         .max = 1},
                        {.name = "per-round",
                         .help = "patches deleted at most between two pairings",
                         .fallback = "8",
                         .type = OptionSpec::Type::Integer,
                         .min = 1,
                         .max = 4096}},
            .start = start};
}

}  // namespace clasp::methods
