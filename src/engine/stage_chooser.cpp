#include "engine/stage_chooser.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "methods/rows.h"

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

StageChooser::StageChooser(StageChooserOptions options, const std::vector<ChooserImage>& images,
                           ThreadPool* pool)
    : options_(std::move(options)), pool_(pool) {
    TokenIndex first_token = 0;
    TokenIndex first_patch = 0;
    for (const ChooserImage& image : images) {
        ImageState state;
        state.tokens = image;
        state.first_token = first_token;
        state.first_patch = first_patch;
        state.places.assign(image.places.begin(), image.places.end());
        if (image.places.empty()) {
            state.places.resize(image.n_tokens);
            std::iota(state.places.begin(), state.places.end(), TokenIndex{0});
        }
        state.masses.assign(image.masses.begin(), image.masses.end());
        if (image.masses.empty()) state.masses.assign(image.n_tokens, 1.0F);
        first_token += static_cast<TokenIndex>(image.n_tokens);
        first_patch += static_cast<TokenIndex>(std::max(image.grid.size(), image.n_tokens));
        images_.push_back(std::move(state));
    }
}

// Merged tokens may come in the method's order, but not across the rows that an image carries between them.
void StageChooser::keep_in_order(StageChoice& choice) const {
    const bool has_lines = std::any_of(images_.begin(), images_.end(),
                                       [](const ImageState& image) { return image.tokens.has_lines; });
    if (!has_lines || std::is_sorted(choice.kept.begin(), choice.kept.end())) return;
    std::vector<std::pair<TokenIndex, float>> tokens;
    for (std::size_t i = 0; i < choice.kept.size(); ++i) {
        tokens.emplace_back(choice.kept[i], choice.masses.empty() ? 1.0F : choice.masses[i]);
    }
    std::sort(tokens.begin(), tokens.end());
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        choice.kept[i] = tokens[i].first;
        if (!choice.masses.empty()) choice.masses[i] = tokens[i].second;
    }
}

std::vector<StageChooser::Run> StageChooser::runs_of(std::span<const TokenIndex> live) const {
    std::vector<Run> runs;
    std::size_t begin = 0;
    for (std::size_t image = 0; image < images_.size(); ++image) {
        const ChooserImage& tokens = images_[image].tokens;
        std::vector<TokenIndex> ends = tokens.step_ends;
        if (ends.empty()) ends.push_back(static_cast<TokenIndex>(tokens.n_tokens));
        std::size_t first = 0;
        for (const TokenIndex last : ends) {
            Run run = {image, last - first, begin, begin};
            while (run.end < live.size() && live[run.end] < images_[image].first_token + last) ++run.end;
            runs.push_back(run);
            first = last;
            begin = run.end;
        }
    }
    return runs;
}

Result<StageChoice> StageChooser::choose(const StageView& view) {
    CLASP_CHECK(view.stage < options_.keep.size());
    const std::vector<Run> runs = runs_of(view.live);
    std::vector<std::size_t> n_tokens;
    std::vector<std::size_t> n_live;
    for (const Run& run : runs) {
        n_tokens.push_back(run.n_tokens);
        n_live.push_back(run.end - run.begin);
    }
    const std::size_t keep = std::min(options_.keep[view.stage], view.live.size());
    const std::vector<std::size_t> shares = share_in_proportion(keep, n_tokens, n_live);

    StageReport report;
    report.layer = static_cast<std::size_t>(view.layer);
    report.when = view.mode;
    StageChoice choice;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (n_live[i] == 0) continue;
        CLASP_RETURN_IF_ERROR(
            choose_in_image(runs[i].image, view, runs[i].begin, runs[i].end, shares[i], report, choice));
    }
    keep_in_order(choice);
    for (auto* list : {&report.kept, &report.pivots, &report.coverage, &report.merged}) {
        std::sort(list->begin(), list->end());
    }
    reports_.push_back(std::move(report));
    return choice;
}

Status StageChooser::choose_in_image(std::size_t image, const StageView& view, std::size_t begin,
                                     std::size_t end, std::size_t keep, StageReport& report,
                                     StageChoice& choice) {
    ImageState& state = images_[image];
    const std::size_t n = end - begin;
    std::vector<TokenIndex> own(view.live.begin() + static_cast<std::ptrdiff_t>(begin),
                                view.live.begin() + static_cast<std::ptrdiff_t>(end));
    for (TokenIndex& token : own) token -= state.first_token;
    plan_.clear();
    if (keep == n) {
        plan_.keep_all_of(own, methods::Reason::Coverage);
        record(state, false, report, choice);
        return ok_status();
    }
    if (keep == 0) return ok_status();
    methods::StageInput input;
    input.image = image;
    input.picture = state.tokens.picture;
    input.stage = view.stage;
    input.layer = static_cast<std::size_t>(view.layer);
    input.n_layers = options_.n_layers;
    input.grid = state.tokens.grid;
    input.live = own;
    input.places = state.places;
    input.keep = keep;
    input.n_entered = state.tokens.n_tokens;
    input.n_heads = options_.n_heads;
    input.seen = view.seen.part(begin, end);
    input.text = view.text;
    input.gram = state.tokens.gram;
    input.features = state.tokens.features;
    input.split = options_.split;
    input.iterations = options_.iterations;
    input.seed = options_.seed;
    input.pool = pool_;
    CLASP_RETURN_IF_ERROR(options_.run->at_stage(input, plan_));
    CLASP_RETURN_IF_ERROR(methods::check_plan(plan_, state.tokens.n_tokens, false));
    if (options_.mass == MassRule::Nearest) CLASP_RETURN_IF_ERROR(pass_masses(state, own));
    record(state, true, report, choice);
    return ok_status();
}

// Sources of a merged token give it their masses, the other dropped tokens give theirs to the nearest kept.
Status StageChooser::pass_masses(ImageState& image, std::span<const TokenIndex> live) {
    std::vector<TokenIndex> left(live.begin(), live.end());
    for (std::size_t i = 0; i < plan_.size(); ++i) {
        float sum = 0.0F;
        for (const methods::MergeSource& source : plan_.sources(i)) {
            sum += image.masses[source.row];
            image.masses[source.row] = 0.0F;
            if (source.row != plan_.kept[i]) std::erase(left, source.row);
        }
        if (!plan_.sources(i).empty()) image.masses[plan_.kept[i]] = sum;
    }
    std::vector<TokenIndex> kept = plan_.kept;
    std::sort(kept.begin(), kept.end());
    std::sort(left.begin(), left.end());
    if (image.tokens.gram.data == nullptr) {
        return assign_masses(image.tokens.features, left, kept, workspace_, pool_, image.masses);
    }
    return assign_masses(image.tokens.gram, left, kept, image.masses);
}

void StageChooser::record(const ImageState& image, bool has_reasons, StageReport& report,
                          StageChoice& choice) const {
    for (std::size_t i = 0; i < plan_.size(); ++i) {
        const TokenIndex token = plan_.kept[i];
        choice.kept.push_back(image.first_token + token);
        if (options_.mass == MassRule::Nearest) choice.masses.push_back(image.masses[token]);
        if (!plan_.sources(i).empty()) {
            MergedToken merged;
            merged.token = image.first_token + token;
            for (const methods::MergeSource& source : plan_.sources(i)) {
                merged.sources.push_back({image.first_token + source.row, source.weight});
            }
            choice.merged.push_back(std::move(merged));
        }
        if (image.places[token] == methods::kClassToken) {
            ++report.n_class_tokens;
            continue;
        }
        const TokenIndex patch = image.first_patch + image.places[token];
        report.kept.push_back(patch);
        if (!has_reasons) continue;
        if (plan_.reasons[i] == methods::Reason::Pivot) report.pivots.push_back(patch);
        if (plan_.reasons[i] == methods::Reason::Coverage) report.coverage.push_back(patch);
        if (plan_.reasons[i] == methods::Reason::Merged) report.merged.push_back(patch);
    }
}

}  // namespace clasp::engine
