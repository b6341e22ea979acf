#include "method_harness.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <set>

namespace clasp::methods::test {

namespace {

// Numbers that depend on a name and the seed alone, so that they do not change with the order of calls.
class Source {
   public:
    explicit Source(const FakeModel& model) : model_(model) {}

    std::vector<float> rows(std::size_t n, std::size_t width, std::size_t name) const {
        std::vector<float> values(n * width);
        std::mt19937 engine(model_.seed * 7919U + static_cast<unsigned>(name));
        std::normal_distribution<float> normal;
        std::vector<float> same(width);
        for (float& value : same) value = normal(engine);
        for (std::size_t i = 0; i < values.size(); ++i) {
            switch (model_.content) {
                case Content::Random: values[i] = normal(engine); break;
                case Content::Equal: values[i] = same[i % width]; break;
                case Content::Zero: values[i] = 0.0F; break;
            }
        }
        return values;
    }
    // Positive rows that sum to less than 1, as attention over visual tokens does.
    std::vector<float> probabilities(std::size_t n, std::size_t width, std::size_t name) const {
        std::vector<float> values = rows(n, width, name);
        for (float& value : values) value = std::exp(model_.content == Content::Equal ? 0.0F : value);
        for (std::size_t row = 0; row < n; ++row) {
            float sum = 1.0F;
            for (std::size_t i = 0; i < width; ++i) sum += values[row * width + i];
            for (std::size_t i = 0; i < width; ++i) values[row * width + i] /= sum;
        }
        return values;
    }

   private:
    const FakeModel& model_;
};

FeatureView view(const std::vector<float>& values, std::size_t rows, std::size_t width) {
    return {values.data(), rows, width, width};
}

Status broken(const std::string& what) {
    return {Code::Internal, "the plan " + what};
}

// Places exist, none twice; rows of sources exist; weights and sizes are finite.
Status check_plan(const Plan& plan, const std::set<TokenIndex>& rows, bool has_class_token) {
    if (plan.reasons.size() != plan.size()) return broken("has not one reason per token");
    std::set<TokenIndex> seen;
    const auto exists = [&](TokenIndex row) {
        return rows.contains(row) || (has_class_token && row == kClassToken);
    };
    for (std::size_t i = 0; i < plan.size(); ++i) {
        if (!exists(plan.kept[i])) return broken("names row " + std::to_string(plan.kept[i]));
        if (!seen.insert(plan.kept[i]).second) {
            return broken("has place " + std::to_string(plan.kept[i]) + " twice");
        }
        for (const MergeSource& source : plan.sources(i)) {
            if (!exists(source.row)) return broken("merges row " + std::to_string(source.row));
            if (!std::isfinite(source.weight)) return broken("has a weight that is not finite");
        }
    }
    if (!plan.merges() && !std::is_sorted(plan.kept.begin(), plan.kept.end())) {
        return broken("does not rise");
    }
    return ok_status();
}

std::set<TokenIndex> first_rows(std::size_t n) {
    std::set<TokenIndex> rows;
    for (TokenIndex row = 0; row < n; ++row) rows.insert(row);
    return rows;
}

std::vector<std::vector<TokenIndex>> merged_members(const Plan& plan,
                                                    const std::vector<std::vector<TokenIndex>>& before) {
    std::vector<std::vector<TokenIndex>> after;
    for (std::size_t i = 0; i < plan.size(); ++i) {
        std::set<TokenIndex> members;
        const auto add = [&](TokenIndex row) {
            if (row != kClassToken) members.insert(before[row].begin(), before[row].end());
        };
        add(plan.kept[i]);
        for (const MergeSource& source : plan.sources(i)) add(source.row);
        after.emplace_back(members.begin(), members.end());
    }
    return after;
}

class Driver {
   public:
    Driver(const FakeModel& model, MethodRun& run, std::size_t image, ThreadPool* pool)
        : model_(model), source_(model), run_(run), image_(image), pool_(pool) {}

    Status encoder(std::size_t keep, std::vector<std::vector<TokenIndex>>& members) {
        // Row 0 is the class token.
        std::vector<std::vector<TokenIndex>> rows = {{}};
        rows.insert(rows.end(), members.begin(), members.end());
        std::vector<float> sizes(rows.size(), 1.0F);
        for (const std::size_t block : run_.program().encoder_blocks) {
            const std::size_t n = rows.size();
            if (n - 1 <= keep && !run_.program().is_adaptive) break;
            const std::vector<float> keys = source_.rows(n, model_.width, 100 + block);
            const std::vector<float> logits = source_.rows(n, n, 200 + block);
            const std::vector<float> hidden = source_.rows(n, model_.width, 300 + block);
            BlockInput input;
            input.image = image_;
            input.block = block;
            input.grid = model_.grid;
            input.keep = keep;
            input.n_rows = n;
            input.n_heads = model_.n_heads;
            const EncoderNeeds& needs = run_.program().encoder;
            if (needs.block_keys) input.keys = view(keys, n, model_.width);
            if (needs.block_logits) input.logits = logits;
            if (needs.block_hidden) input.hidden = view(hidden, n, model_.width);
            input.sizes = sizes;
            input.members = rows;
            input.pool = pool_;
            Plan plan;
            CLASP_RETURN_IF_ERROR(run_.inside_encoder(input, plan));
            CLASP_RETURN_IF_ERROR(check_plan(plan, first_rows(n), false));
            if (plan.size() == 0 || plan.kept[0] != 0) return broken("does not begin with the class token");
            if (plan.size() - 1 < keep && !run_.program().is_adaptive)
                return broken("goes below the budget inside the encoder");
            rows = merged_members(plan, rows);
            sizes = plan.sizes.empty() ? std::vector<float>(rows.size(), 1.0F) : plan.sizes;
            if (sizes.size() != rows.size()) return broken("has not one size per row");
        }
        members.assign(rows.begin() + 1, rows.end());
        if (!run_.program().keeps_encoder_order) std::sort(members.begin(), members.end());
        return ok_status();
    }

    Status before_decoder(bool is_projected, std::size_t keep, std::vector<std::vector<TokenIndex>>& members,
                          std::vector<Plan>& plans) {
        const std::size_t n = members.size();
        const bool is_adaptive = run_.program().is_adaptive;
        if (n <= keep && !is_adaptive) return ok_status();
        const EncoderNeeds& needs = run_.program().encoder;
        const std::size_t w = model_.width;
        const std::vector<float> features = source_.rows(n, w, is_projected ? 401 : 400);
        const std::vector<float> class_row = source_.rows(1, w, 402);
        const std::vector<float> text = source_.rows(model_.n_text, w, 403);
        std::map<std::size_t, std::vector<float>> stored;
        const auto values = [&](const std::vector<std::size_t>& blocks, std::size_t rows, std::size_t width,
                                std::size_t name, bool is_probability) {
            std::vector<BlockValues> result;
            for (const std::size_t block : blocks) {
                auto& slot = stored[name + block];
                slot = is_probability ? source_.probabilities(rows, width, name + block)
                                      : source_.rows(rows, width, name + block);
                result.push_back({block, view(slot, rows, width)});
            }
            return result;
        };
        const auto layers = values(needs.layers, n, w, 500, false);
        const auto attention = values(needs.class_attention, model_.n_heads, n + 1, 600, true);
        const auto queries = values(needs.class_query, 1, w, 700, false);
        const auto keys = values(needs.keys, n + 1, w, 800, false);
        std::vector<float> cosines(n * n);
        SelectWorkspace workspace;
        CLASP_RETURN_IF_ERROR(gram(view(features, n, w), workspace, nullptr, cosines.data(), n));
        ImageInput input;
        input.image = image_;
        input.grid = model_.grid;
        input.keep = keep;
        input.n_heads = model_.n_heads;
        input.features = view(features, n, w);
        if (!is_projected) input.class_row = class_row.data();
        input.layers = layers;
        input.class_attention = attention;
        input.class_query = queries;
        input.keys = keys;
        if (is_projected && needs.gram) input.gram = {cosines.data(), n, n};
        if (needs.text) input.text = view(text, model_.n_text, w);
        input.pool = pool_;
        Plan plan;
        CLASP_RETURN_IF_ERROR(is_projected ? run_.after_projector(input, plan)
                                           : run_.after_encoder(input, plan));
        CLASP_RETURN_IF_ERROR(check_plan(plan, first_rows(n), !is_projected));
        if (is_adaptive ? plan.size() > keep : plan.size() != keep) {
            return broken("keeps " + std::to_string(plan.size()) + " tokens, not " + std::to_string(keep));
        }
        members = merged_members(plan, members);
        plans.push_back(std::move(plan));
        return ok_status();
    }

    Status stage(std::size_t number, std::size_t n_entered, std::vector<TokenIndex>& live,
                 std::vector<StageOutcome>& outcomes) {
        const DecoderStage& stage = run_.program().stages[number];
        const std::size_t keep = stage.keep / model_.n_images;
        if (live.size() <= keep) return ok_status();
        if (keep == 0) {
            live.clear();
            return ok_status();
        }
        const std::size_t n = live.size();
        const std::size_t w = model_.width;
        const StageNeeds& needs = stage.needs;
        const std::vector<float> scores = source_.probabilities(1, n, 900 + number);
        const std::size_t n_rows = needs.reference == Reference::Last ? 1 : model_.n_text;
        const std::vector<float> rows = source_.probabilities(n_rows, n, 1000 + number);
        std::vector<float> norms = source_.rows(1, n, 1100 + number);
        std::vector<float> text_norms = source_.rows(1, model_.n_text, 1200 + number);
        for (float& norm : norms) norm = std::abs(norm);
        for (float& norm : text_norms) norm = std::abs(norm);
        const std::vector<float> hidden = source_.rows(n, w, 1300 + number);
        const std::vector<float> text_hidden = source_.rows(model_.n_text, w, 1400 + number);
        const std::vector<float> entered = source_.rows(n_entered, w, 1500);
        std::vector<float> cosines(n_entered * n_entered);
        SelectWorkspace workspace;
        CLASP_RETURN_IF_ERROR(
            gram(view(entered, n_entered, w), workspace, nullptr, cosines.data(), n_entered));
        std::vector<TokenIndex> places(n_entered);
        std::iota(places.begin(), places.end(), 0U);
        StageInput input;
        input.image = image_;
        input.stage = number;
        input.layer = stage.layer;
        input.n_layers = model_.n_layers;
        input.grid = model_.grid;
        input.live = live;
        input.places = places;
        input.keep = keep;
        input.n_entered = n_entered;
        if (needs.scores) input.seen.scores = SignalTable(scores, n);
        const std::vector<float> heads = source_.probabilities(n_rows * model_.n_heads, n, 1600 + number);
        const std::vector<float> bias = source_.rows(n_rows, n, 1700 + number);
        if (needs.rows == StageNeeds::Rows::PerHead) {
            input.seen.rows = SignalTable(heads, n);
            input.n_heads = model_.n_heads;
            input.seen.rotation_bias = SignalTable(bias, n);
        } else if (needs.rows != StageNeeds::Rows::None) {
            input.seen.rows = SignalTable(rows, n);
        }
        const bool sees_hidden = needs.hidden != StageNeeds::Hidden::None;
        if (needs.key_norms) input.seen.key_norms = SignalTable(norms, n);
        if (sees_hidden) input.seen.hidden = SignalTable(hidden, w);
        if (needs.text && needs.key_norms) input.text.key_norms = SignalTable(text_norms, model_.n_text);
        if (needs.text && sees_hidden) input.text.hidden = SignalTable(text_hidden, w);
        if (needs.gram) input.gram = {cosines.data(), n_entered, n_entered};
        input.split = 0.6;
        input.pool = pool_;
        StageOutcome outcome{stage.layer, keep, live, {}};
        CLASP_RETURN_IF_ERROR(run_.at_stage(input, outcome.plan));
        CLASP_RETURN_IF_ERROR(check_plan(outcome.plan, {live.begin(), live.end()}, false));
        if (!outcome.plan.merges() && outcome.plan.size() != keep) {
            return broken("keeps " + std::to_string(outcome.plan.size()) + " tokens at layer " +
                          std::to_string(stage.layer) + ", not " + std::to_string(keep));
        }
        live = outcome.plan.kept;
        outcomes.push_back(std::move(outcome));
        return ok_status();
    }

   private:
    const FakeModel& model_;
    Source source_;
    MethodRun& run_;
    std::size_t image_;
    ThreadPool* pool_;
};

}  // namespace

Setup make_setup(const Method& method, const FakeModel& model, double tokens, BudgetKind kind,
                 const std::vector<std::string>& options) {
    Setup setup;
    setup.grids.assign(model.n_images, model.grid);
    setup.n_visual = model.n_images * model.grid.size();
    setup.n_layers = model.n_layers;
    setup.vision = {.n_blocks = model.n_blocks,
                    .feature_layer = model.n_blocks - 2,
                    .width = model.width,
                    .n_heads = model.n_heads};
    setup.budget = {tokens, kind};
    setup.settings = Settings::read(method.name, method.options, options).value();
    setup.split = 0.6;
    if (method.uses_schedule) {
        const auto wanted = static_cast<std::size_t>(tokens);
        setup.stages = {{2, std::min(setup.n_visual, 2 * wanted)},
                        {6, wanted},
                        {15, std::max<std::size_t>(1, wanted / 2)}};
    }
    return setup;
}

Result<Outcome> drive(const Method& method, const Setup& setup, const FakeModel& model, ThreadPool* pool,
                      std::size_t wanted_image) {
    CLASP_ASSIGN_OR_RETURN(const auto run, method.start(setup));
    Outcome outcome;
    outcome.program = run->program();
    const std::size_t entering = outcome.program.entering / model.n_images;
    for (std::size_t image = 0; image < model.n_images; ++image) {
        Driver driver(model, *run, image, pool);
        std::vector<std::vector<TokenIndex>> members;
        for (TokenIndex patch = 0; patch < model.grid.size(); ++patch) members.push_back({patch});
        std::vector<Plan> plans;
        CLASP_RETURN_IF_ERROR(driver.encoder(entering, members));
        if (outcome.program.has_after_encoder) {
            CLASP_RETURN_IF_ERROR(driver.before_decoder(false, entering, members, plans));
        }
        if (outcome.program.has_after_projector) {
            CLASP_RETURN_IF_ERROR(driver.before_decoder(true, entering, members, plans));
        }
        std::vector<TokenIndex> live(members.size());
        std::iota(live.begin(), live.end(), 0U);
        std::vector<StageOutcome> stages;
        for (std::size_t number = 0; number < outcome.program.stages.size() && !live.empty(); ++number) {
            CLASP_RETURN_IF_ERROR(driver.stage(number, members.size(), live, stages));
        }
        if (image != wanted_image) continue;
        outcome.entering = members.size();
        outcome.members = std::move(members);
        outcome.before_decoder = std::move(plans);
        outcome.stages = std::move(stages);
    }
    return outcome;
}

}  // namespace clasp::methods::test
