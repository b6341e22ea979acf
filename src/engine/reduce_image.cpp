#include "engine/reduce_image.h"

#include <algorithm>
#include <numeric>

#include "base/stopwatch.h"
#include "methods/rows.h"

namespace clasp::engine {

namespace {

using methods::Plan;

// What the encoder gave, as a method sees it. Borrows from the layers.
struct EncoderViews {
    std::vector<methods::BlockValues> layers;
    std::vector<methods::BlockValues> class_attention;
    std::vector<methods::BlockValues> class_query;
    std::vector<methods::BlockValues> keys;
};

methods::BlockValues block_values(std::size_t block, const std::vector<float>& values, std::size_t width) {
    return {block, {values.data(), values.size() / width, width, width}};
}

// The parts of `all` that are asked for, in the order asked; `width` gives the width of a part's rows.
template <typename Part, typename Values, typename Width>
std::vector<methods::BlockValues> wanted_values(const std::vector<std::size_t>& wanted,
                                                const std::vector<Part>& all, Values values, Width width) {
    std::vector<methods::BlockValues> result;
    for (const std::size_t block : wanted) {
        for (const Part& part : all) {
            if (part.layer == block) result.push_back(block_values(block, part.*values, width(part)));
        }
    }
    return result;
}

// The cache may hold more than this method reads; it sees what it asked for and nothing else.
EncoderViews encoder_views(const model::VisionLayers& encoded, const methods::EncoderNeeds& needs) {
    const auto tower_width = [&](const auto& /*part*/) { return encoded.width; };
    EncoderViews views;
    views.layers = wanted_values(needs.layers, encoded.layers, &model::LayerOutput::values, tower_width);
    views.class_attention =
        wanted_values(needs.class_attention, encoded.class_attention, &model::ClassAttention::per_head,
                      [](const model::ClassAttention& part) { return part.per_head.size() / part.n_heads; });
    views.class_query =
        wanted_values(needs.class_query, encoded.class_query, &model::ClassQuery::values, tower_width);
    views.keys = wanted_values(needs.keys, encoded.keys, &model::LayerKeys::values, tower_width);
    return views;
}

// One image on its way: rows that lose and merge tokens.
class Reduction {
   public:
    Reduction(const VisualRequest& request, std::size_t image, const model::VisionLayers& layers,
              const std::vector<std::vector<TokenIndex>>* merged, model::VisionSession& session,
              VisualInput& times)
        : request_(request),
          image_(image),
          layers_(layers),
          views_(encoder_views(
              layers, request.run != nullptr ? request.run->program().encoder : methods::EncoderNeeds())),
          session_(session),
          times_(times) {
        const std::size_t n = layers.grid.height * layers.grid.width;
        seen_.grid = layers.grid;
        if (merged != nullptr) {
            seen_.members = *merged;
            for (const auto& members : *merged) {
                seen_.places.push_back(members.front());
                reasons_.push_back(members.size() > 1 ? methods::Reason::Merged : methods::Reason::Coverage);
            }
        } else {
            seen_.places.resize(n);
            std::iota(seen_.places.begin(), seen_.places.end(), TokenIndex{0});
        }
    }

    Result<SeenImage> run() {
        const methods::Program* program = request_.run != nullptr ? &request_.run->program() : nullptr;
        base::Stopwatch watch;
        CLASP_ASSIGN_OR_RETURN(std::vector<float> features, fused());
        times_.fuse_ms += watch.elapsed_ms();
        // Masses go to the survivors nearest after projection, so dropped tokens have to be projected too.
        const bool with_masses = request_.mass == MassRule::Nearest;
        const bool acts_before = program != nullptr && program->has_after_encoder && is_asked();
        Plan plan;
        if (acts_before) {
            CLASP_RETURN_IF_ERROR(ask(false, features, {}, plan));
            if (with_masses) {
                CLASP_RETURN_IF_ERROR(project(features));
                CLASP_RETURN_IF_ERROR(pass_masses(plan));
            }
            features = methods::apply_to_rows(plan, view(features), class_row());
        }
        CLASP_RETURN_IF_ERROR(project(features));
        if (acts_before) settle(plan);
        if (program != nullptr && program->has_after_projector && is_asked()) {
            std::vector<float> gram;
            if (program->encoder.gram) {
                CLASP_ASSIGN_OR_RETURN(gram, gram_of_values());
            }
            plan.clear();
            CLASP_RETURN_IF_ERROR(ask(true, seen_.values, gram, plan));
            if (with_masses) CLASP_RETURN_IF_ERROR(pass_masses(plan));
            seen_.values = methods::apply_to_rows(plan, view(seen_.values), nullptr);
            settle(plan);
        }
        if (request_.want_gram) {
            CLASP_ASSIGN_OR_RETURN(seen_.gram, gram_of_values());
        }
        if (!reasons_.empty()) report();
        return std::move(seen_);
    }

   private:
    [[nodiscard]] bool is_asked() const {
        return request_.run->program().is_adaptive || seen_.n_tokens() > request_.keep[image_];
    }
    [[nodiscard]] FeatureView view(const std::vector<float>& rows) const {
        const std::size_t width = rows.size() / seen_.n_tokens();
        return {rows.data(), seen_.n_tokens(), width, width};
    }
    // The class token's feature, where exactly one layer is read.
    [[nodiscard]] const float* class_row() const {
        if (request_.mix.size() != 1 || layers_.compat != model::Compat::Original) return nullptr;
        const model::LayerOutput* layer = layers_.find(request_.mix.front().layer);
        return layer == nullptr || layer->class_row.empty() ? nullptr : layer->class_row.data();
    }

    Result<std::vector<float>> fused() {
        if (seen_.members.empty()) return session_.fuse(layers_, request_.mix, request_.cancel);
        return layers_.find(request_.mix.front().layer)->values;
    }

    Status project(const std::vector<float>& features) {
        const base::Stopwatch watch;
        CLASP_ASSIGN_OR_RETURN(seen_.values,
                               session_.project_rows(features, layers_.compat, request_.cancel));
        times_.project_ms += watch.elapsed_ms();
        return ok_status();
    }

    Result<std::vector<float>> gram_of_values() {
        const base::Stopwatch watch;
        CLASP_ASSIGN_OR_RETURN(std::vector<float> gram, session_.gram(seen_.values, request_.cancel));
        times_.gram_ms += watch.elapsed_ms();
        return gram;
    }

    Status ask(bool is_projected, const std::vector<float>& rows, const std::vector<float>& gram,
               Plan& plan) {
        const base::Stopwatch watch;
        const std::size_t n = seen_.n_tokens();
        methods::ImageInput input;
        input.image = image_;
        input.grid = {seen_.grid.height, seen_.grid.width};
        input.keep = request_.keep[image_];
        input.n_heads = session_.model().info().n_heads;
        input.features = view(rows);
        if (!is_projected) input.class_row = class_row();
        input.members = seen_.members;
        input.layers = views_.layers;
        input.class_attention = views_.class_attention;
        input.class_query = views_.class_query;
        input.keys = views_.keys;
        if (!gram.empty()) input.gram = {gram.data(), n, n};
        input.text = request_.text;
        input.pool = request_.pool;
        CLASP_RETURN_IF_ERROR(is_projected ? request_.run->after_projector(input, plan)
                                           : request_.run->after_encoder(input, plan));
        CLASP_RETURN_IF_ERROR(methods::check_plan(plan, n, input.class_row != nullptr));
        if (plan.size() == 0) return {Code::Internal, "the method keeps no token of an image"};
        times_.select_ms += watch.elapsed_ms();
        return ok_status();
    }

    // What the tokens of a plan weigh: those that it leaves out give their masses to the nearest survivors,
    // by the projected tokens from before the plan.
    Status pass_masses(const Plan& plan) {
        CLASP_ASSIGN_OR_RETURN(const std::vector<float> gram, gram_of_values());
        const base::Stopwatch watch;
        const std::size_t n = seen_.n_tokens();
        std::vector<float> masses = seen_.masses;
        if (masses.empty()) masses.assign(n, 1.0F);
        std::vector<TokenIndex> kept = plan.kept;
        std::erase(kept, methods::kClassToken);
        std::sort(kept.begin(), kept.end());
        CLASP_RETURN_IF_ERROR(assign_masses({gram.data(), n, n}, {}, kept, masses));
        seen_.masses.clear();
        for (const TokenIndex token : plan.kept) {
            seen_.masses.push_back(token == methods::kClassToken ? 1.0F : masses[token]);
        }
        times_.select_ms += watch.elapsed_ms();
        return ok_status();
    }

    // Places, members and reasons after a plan; the rows themselves are already changed.
    void settle(const Plan& plan) {
        if (plan.merges() && seen_.members.empty()) {
            for (const TokenIndex place : seen_.places) seen_.members.push_back({place});
        }
        if (!seen_.members.empty()) seen_.members = methods::apply_to_members(plan, seen_.members);
        std::vector<TokenIndex> places;
        for (const TokenIndex token : plan.kept) {
            places.push_back(token == methods::kClassToken ? token : seen_.places[token]);
        }
        seen_.places = std::move(places);
        reasons_ = plan.reasons;
    }

    void report() {
        const auto first = static_cast<TokenIndex>(image_ * seen_.grid.height * seen_.grid.width);
        if (times_.reports.empty()) times_.reports.emplace_back();
        StageReport& report = times_.reports.front();
        report.site = "before";
        std::vector<std::pair<TokenIndex, methods::Reason>> tokens;
        for (std::size_t i = 0; i < seen_.n_tokens(); ++i) tokens.emplace_back(seen_.places[i], reasons_[i]);
        std::sort(tokens.begin(), tokens.end());
        for (const auto& [place, reason] : tokens) {
            if (place == methods::kClassToken) {
                ++report.n_class_tokens;
                continue;
            }
            report.kept.push_back(first + place);
            if (reason == methods::Reason::Pivot) report.pivots.push_back(first + place);
            if (reason == methods::Reason::Coverage) report.coverage.push_back(first + place);
            if (reason == methods::Reason::Merged) report.merged.push_back(first + place);
        }
    }

    const VisualRequest& request_;
    std::size_t image_;
    const model::VisionLayers& layers_;
    EncoderViews views_;
    model::VisionSession& session_;
    VisualInput& times_;
    SeenImage seen_;
    std::vector<methods::Reason> reasons_;  // of the tokens, once something left
};

}  // namespace

Result<SeenImage> reduce_image(const VisualRequest& request, std::size_t image,
                               const model::VisionLayers& layers,
                               const std::vector<std::vector<TokenIndex>>* merged,
                               model::VisionSession& session, VisualInput& times) {
    return Reduction(request, image, layers, merged, session, times).run();
}

}  // namespace clasp::engine
