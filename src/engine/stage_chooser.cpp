#include "engine/stage_chooser.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace clasp::engine {

std::vector<std::size_t> share_in_proportion(std::size_t total, std::span<const std::size_t> weights,
                                             std::span<const std::size_t> caps) {
    const std::size_t weight_sum = std::accumulate(weights.begin(), weights.end(), std::size_t{0});
    CLASP_CHECK(weight_sum > 0 && total <= std::accumulate(caps.begin(), caps.end(), std::size_t{0}));
    std::vector<std::size_t> shares(weights.size());
    std::vector<std::size_t> order(weights.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::size_t left = total;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        shares[i] = std::min(total * weights[i] / weight_sum, caps[i]);
        left -= shares[i];
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return total * weights[a] % weight_sum > total * weights[b] % weight_sum;
    });
    while (left > 0) {
        for (const std::size_t i : order) {
            if (left == 0) break;
            if (shares[i] == caps[i]) continue;
            ++shares[i];
            --left;
        }
    }
    return shares;
}

StageChooser::StageChooser(StageChooserOptions options, std::vector<GramView> grams, ThreadPool* pool)
    : options_(std::move(options)), grams_(std::move(grams)), pool_(pool) {
    TokenIndex first = 0;
    for (const GramView& gram : grams_) {
        first_token_.push_back(first);
        first += static_cast<TokenIndex>(gram.rows);
        masses_.emplace_back(gram.rows, 1.0F);
    }
}

Result<StageChoice> StageChooser::choose(const StageView& view) {
    CLASP_CHECK(view.stage < options_.keep.size());
    // The live tokens of each image are a run of the list.
    std::vector<std::size_t> begin(grams_.size() + 1, view.live.size());
    for (std::size_t image = 0; image < grams_.size(); ++image) {
        begin[image] = static_cast<std::size_t>(
            std::lower_bound(view.live.begin(), view.live.end(), first_token_[image]) - view.live.begin());
    }
    std::vector<std::size_t> n_tokens;
    std::vector<std::size_t> n_live;
    for (std::size_t image = 0; image < grams_.size(); ++image) {
        n_tokens.push_back(grams_[image].rows);
        n_live.push_back(begin[image + 1] - begin[image]);
    }
    const std::size_t keep = std::min(options_.keep[view.stage], view.live.size());
    const std::vector<std::size_t> shares = share_in_proportion(keep, n_tokens, n_live);

    StageReport report;
    report.layer = static_cast<std::size_t>(view.layer);
    for (std::size_t image = 0; image < grams_.size(); ++image) {
        if (n_live[image] == 0) continue;
        const auto scores =
            view.scores.empty() ? view.scores : view.scores.subspan(begin[image], n_live[image]);
        CLASP_RETURN_IF_ERROR(choose_in_image(image, view.stage,
                                              view.live.subspan(begin[image], n_live[image]), scores,
                                              shares[image], report));
    }
    StageChoice choice;
    choice.kept = report.kept;
    if (options_.mass == MassRule::Nearest) {
        std::size_t image = 0;
        for (const TokenIndex token : report.kept) {
            while (image + 1 < grams_.size() && token >= first_token_[image + 1]) ++image;
            choice.masses.push_back(masses_[image][token - first_token_[image]]);
        }
    }
    reports_.push_back(std::move(report));
    return choice;
}

Status StageChooser::choose_in_image(std::size_t image, std::size_t stage, std::span<const TokenIndex> live,
                                     std::span<const float> scores, std::size_t keep, StageReport& report) {
    if (keep == 0) return ok_status();
    const TokenIndex first = first_token_[image];
    if (keep == live.size()) {
        report.kept.insert(report.kept.end(), live.begin(), live.end());
        return ok_status();
    }
    std::vector<TokenIndex> own(live.begin(), live.end());
    for (TokenIndex& token : own) token -= first;
    methods::StageInput input;
    input.image = image;
    input.stage = stage;
    input.gram = grams_[image];
    input.live = own;
    input.scores = scores;
    input.keep = keep;
    input.n_entered = grams_[image].rows;
    input.split = options_.split;
    input.iterations = options_.iterations;
    input.seed = options_.seed;
    input.pool = pool_;
    plan_.clear();
    CLASP_RETURN_IF_ERROR(options_.run->at_stage(input, plan_));
    if (options_.mass == MassRule::Nearest) {
        CLASP_RETURN_IF_ERROR(assign_masses(grams_[image], own, plan_.kept, masses_[image]));
    }
    for (std::size_t i = 0; i < plan_.size(); ++i) {
        const TokenIndex token = plan_.kept[i] + first;
        report.kept.push_back(token);
        if (plan_.reasons[i] == methods::Reason::Pivot) report.pivots.push_back(token);
        if (plan_.reasons[i] == methods::Reason::Coverage) report.coverage.push_back(token);
    }
    return ok_status();
}

}  // namespace clasp::engine
