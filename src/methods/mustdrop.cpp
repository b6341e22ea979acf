#include "methods/mustdrop.h"

#include <algorithm>
#include <array>
#include <map>

#include "methods/early_stage.h"
#include "methods/methods.h"
#include "methods/mustdrop_windows.h"
#include "methods/ranking.h"
#include "methods/staged.h"

namespace clasp::methods {

namespace {

constexpr std::array<std::size_t, 4> kLayers = {3, 7, 11, 15};  // first with fewer tokens, of 32

class MustdropRun : public MethodRun {
   public:
    MustdropRun(const Setup& setup, Program program)
        : similarity_(setup.settings.number("similarity")),
          key_share_(setup.settings.number("key-share")),
          thresholds_{setup.settings.number("global"), setup.settings.number("individual")} {
        program_ = std::move(program);
        const std::size_t after = setup.vision.feature_layer + 1;
        key_block_ = after < setup.vision.n_blocks ? after : setup.vision.feature_layer;
        program_.encoder.block_hidden = true;
        program_.encoder.class_attention = {key_block_};
        program_.encoder_blocks = {0};
        program_.merges_after_block = true;
        program_.keeps_encoder_order = true;
        program_.uses_grid = true;
        program_.has_after_encoder = true;
        program_.is_adaptive = true;
        program_.positions = PositionMode::Compact;
        if (after >= setup.vision.n_blocks) {
            program_.notes.push_back(
                "the vision file has no block after its feature layer, so mustdrop finds "
                "key tokens in the feature layer's own block");
        }
    }

    Status inside_encoder(const BlockInput& input, Plan& plan) override {
        const std::size_t n = input.n_rows - 1;
        const FeatureView patches = {input.hidden.data + input.hidden.stride, n, input.hidden.width,
                                     input.hidden.stride};
        std::vector<float> cosines(n * n);
        CLASP_RETURN_IF_ERROR(gram(patches, workspace_, input.pool, cosines.data(), n));
        MustdropWindows windows;
        windows.threshold = similarity_;
        CLASP_ASSIGN_OR_RETURN(const Plan merged, mustdrop_merge({cosines.data(), n, n}, input.grid.height,
                                                                 input.grid.width, windows));
        // Row 0 is the class token.
        plan.keep(0, Reason::Coverage);
        for (std::size_t i = 0; i < merged.size(); ++i) {
            std::vector<MergeSource> sources(merged.sources(i).begin(), merged.sources(i).end());
            for (MergeSource& source : sources) ++source.row;
            if (sources.empty()) {
                plan.keep(merged.kept[i] + 1, Reason::Coverage);
            } else {
                plan.merge(merged.kept[i] + 1, sources);
            }
        }
        return ok_status();
    }

    // Drops nothing: marks the key tokens.
    Status after_encoder(const ImageInput& input, Plan& plan) override {
        const FeatureView& heads = values_of(input.class_attention, key_block_);
        const std::size_t n = input.features.rows;
        std::vector<float> attention(n, 0.0F);
        for (std::size_t head = 0; head < heads.rows; ++head) {
            const float* row = heads.data + head * heads.stride + 1;
            for (std::size_t i = 0; i < n; ++i) attention[i] += row[i] / static_cast<float>(heads.rows);
        }
        CLASP_ASSIGN_OR_RETURN(const std::vector<TokenIndex> keys,
                               mustdrop_key_tokens(attention, key_share_));
        std::vector<bool>& is_key = is_key_[input.image];
        is_key.assign(n, false);
        for (const TokenIndex key : keys) is_key[key] = true;
        for (std::size_t i = 0; i < n; ++i) {
            const bool is_merged = !input.members.empty() && input.members[i].size() > 1;
            plan.keep(static_cast<TokenIndex>(i), is_merged   ? Reason::Merged
                                                  : is_key[i] ? Reason::Pivot
                                                              : Reason::Coverage);
        }
        return ok_status();
    }

    Status at_stage(const StageInput& input, Plan& plan) override {
        const std::vector<bool>& all = is_key_[input.image];
        std::vector<bool> is_key;
        for (const TokenIndex token : input.live) is_key.push_back(token < all.size() && all[token]);
        for (const TokenIndex i : choose_mustdrop(input.seen.rows.view(), is_key, input.keep, thresholds_)) {
            plan.keep(input.live[i], is_key[i] ? Reason::Pivot : Reason::Coverage);
        }
        return ok_status();
    }

   private:
    double similarity_;
    double key_share_;
    MustdropThresholds thresholds_;
    std::size_t key_block_ = 0;
    SelectWorkspace workspace_;
    std::map<std::size_t, std::vector<bool>> is_key_;  // per image, per token that entered
};

Result<std::unique_ptr<MethodRun>> start(const Setup& setup) {
    std::vector<std::size_t> layers = scaled_layers(kLayers, setup.n_layers);
    const std::string note = bring_forward(setup, "mustdrop", layers.front());
    std::vector<StageShape> shapes;
    double proportion = 1.0;
    for (const std::size_t layer : layers) {
        shapes.push_back({layer, proportion});
        proportion *= 0.5;
    }
    StageNeeds needs;
    needs.rows = StageNeeds::Rows::Probabilities;
    needs.reference = Reference::Post;
    CLASP_ASSIGN_OR_RETURN(Program program, own_program(setup, shapes, StageMode::After, needs, "mustdrop"));
    if (!note.empty()) program.notes.push_back(note);
    return std::unique_ptr<MethodRun>(new MustdropRun(setup, std::move(program)));
}

OptionSpec number_option(std::string_view name, std::string_view help, std::string_view fallback, double min,
                         double max) {
    return {.name = name,
            .help = help,
            .fallback = fallback,
            .type = OptionSpec::Type::Number,
            .min = min,
            .max = max};
}

}  // namespace

std::vector<TokenIndex> choose_mustdrop(const FeatureView& rows, const std::vector<bool>& is_key,
                                        std::size_t keep, const MustdropThresholds& thresholds) {
    const std::size_t n = rows.width;
    std::vector<double> sums(n, 0.0);
    std::vector<double> largest(n, 0.0);
    double total = 0.0;
    for (std::size_t r = 0; r < rows.rows; ++r) {
        for (std::size_t i = 0; i < n; ++i) {
            const auto value = static_cast<double>(rows.data[r * rows.stride + i]);
            sums[i] += value;
            largest[i] = std::max(largest[i], value);
            total += value;
        }
    }
    std::vector<TokenIndex> order(n);
    for (std::size_t i = 0; i < n; ++i) order[i] = static_cast<TokenIndex>(i);
    const auto ratio = [&](TokenIndex i) {
        const double share = total > 0.0 ? sums[i] / total : 0.0;
        return std::max(share / thresholds.global, largest[i] / thresholds.individual);
    };
    std::stable_sort(order.begin(), order.end(), [&](TokenIndex a, TokenIndex b) {
        if (is_key[a] != is_key[b]) return static_cast<bool>(is_key[a]);
        return ratio(a) > ratio(b);
    });
    order.resize(keep);
    std::sort(order.begin(), order.end());
    return order;
}

Method mustdrop_method() {
    return {
        .name = "mustdrop",
        .summary =
            "like windows merge in the encoder; in the decoder key tokens and what the text attends "
            "to stay",
        .paper =
            "Multi-Stage Vision Token Dropping: Towards Efficient Multimodal Large Language Model (2024)",
        .merges = true,
        .options = {number_option("similarity", "mean cosine from which a window of 3 x 3 patches merges",
                                  "0.8", -1, 2),
                    number_option("key-share", "share of the patches that is never dropped", "0.08", 0, 1),
                    number_option("global", "threshold of the text's attention together", "0.001", 1e-9, 1),
                    number_option("individual", "threshold of one text token's attention", "0.001", 1e-9, 1)},
        .start = start};
}

}  // namespace clasp::methods
