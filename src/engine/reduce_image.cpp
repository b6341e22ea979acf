#include "engine/reduce_image.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "base/stopwatch.h"
#include "engine/tile_parts.h"
#include "methods/rows.h"

namespace clasp::engine {

namespace {

using methods::Plan;

// What the encoder gave, as a method sees it: rows and columns are the picture's tokens, behind the class
// token where there is one. Borrows from the layers, or from `own` when pieces had to be put together.
struct EncoderViews {
    std::vector<methods::BlockValues> layers;
    std::vector<methods::BlockValues> class_attention;
    std::vector<methods::BlockValues> class_query;
    std::vector<methods::BlockValues> keys;
    std::deque<std::vector<float>> own;
};

methods::BlockValues block_values(std::size_t block, const std::vector<float>& values, std::size_t width) {
    return {block, {values.data(), values.size() / width, width, width}};
}

template <typename Part>
const Part* part_of(const std::vector<Part>& parts, std::size_t block) {
    const auto found =
        std::find_if(parts.begin(), parts.end(), [&](const Part& part) { return part.layer == block; });
    return found == parts.end() ? nullptr : &*found;
}

// Puts the pieces of a picture together.
class Arrangement {
   public:
    explicit Arrangement(const EncodedPicture& encoded)
        : encoded_(encoded), cells_(model::token_cells(encoded.plan)) {
        is_whole_ = encoded.pieces.size() == 1 && cells_.size() == encoded.plan.pieces[0].shape.n_tokens();
        for (std::size_t i = 0; i < cells_.size(); ++i) is_whole_ = is_whole_ && cells_[i].cell == i;
        n_class_tokens_ = encoded.pieces.front()->shape.n_class_tokens();
    }

    // Rows that the tower brings up to the last one that is a token.
    [[nodiscard]] std::size_t n_fixed_rows() const {
        std::size_t n = 0;
        for (const model::TokenCell& cell : cells_) {
            if (cell.piece == model::kFixedRow) n = std::max(n, cell.cell + 1);
        }
        return n;
    }
    // The tokens are those of the only piece, in their order.
    [[nodiscard]] bool is_whole() const { return is_whole_; }
    [[nodiscard]] std::size_t n_tokens() const { return cells_.size(); }

    // Rows of `width` per piece, the first `skipped` of which are no tokens, in the order of the tokens;
    // tokens that no piece has are rows of `fixed`.
    void append_rows(const std::vector<const std::vector<float>*>& pieces, std::size_t width,
                     std::size_t skipped, std::vector<float>& out,
                     const std::vector<float>& fixed = {}) const {
        for (const model::TokenCell& cell : cells_) {
            const bool is_fixed = cell.piece == model::kFixedRow;
            const std::vector<float>& rows = is_fixed ? fixed : *pieces[cell.piece];
            const std::size_t row = cell.cell + (is_fixed ? 0 : skipped);
            const auto from = rows.begin() + static_cast<std::ptrdiff_t>(row * width);
            out.insert(out.end(), from, from + static_cast<std::ptrdiff_t>(width));
        }
    }
    [[nodiscard]] std::vector<float> rows(std::vector<std::vector<float>> pieces, std::size_t width,
                                          const std::vector<float>& fixed = {}) const {
        if (is_whole_) return std::move(pieces.front());
        std::vector<const std::vector<float>*> all;
        for (const std::vector<float>& piece : pieces) all.push_back(&piece);
        std::vector<float> out;
        out.reserve(cells_.size() * width);
        append_rows(all, width, 0, out, fixed);
        return out;
    }

    // The cache may hold more than this method reads; it sees what it asked for and nothing else.
    [[nodiscard]] EncoderViews views(const methods::EncoderNeeds& needs) const {
        const bool is_as_encoded = is_whole_ && n_class_tokens_ == 0;
        return is_as_encoded || encoded_.members != nullptr ? borrowed(needs) : joined(needs);
    }

   private:
    [[nodiscard]] EncoderViews borrowed(const methods::EncoderNeeds& needs) const {
        const model::VisionLayers& piece = *encoded_.pieces.front();
        EncoderViews views;
        const auto add = [&](const std::vector<std::size_t>& blocks, const auto& parts, auto values,
                             std::vector<methods::BlockValues>& to) {
            for (const std::size_t block : blocks) {
                const auto* part = part_of(parts, block);
                if (part != nullptr) to.push_back(block_values(block, part->*values, piece.width));
            }
        };
        add(needs.layers, piece.layers, &model::LayerOutput::values, views.layers);
        add(needs.class_query, piece.class_query, &model::ClassQuery::values, views.class_query);
        add(needs.keys, piece.keys, &model::LayerKeys::values, views.keys);
        for (const std::size_t block : needs.class_attention) {
            const model::ClassAttention* part = part_of(piece.class_attention, block);
            if (part == nullptr) continue;
            views.class_attention.push_back(
                block_values(block, part->per_head, part->per_head.size() / part->n_heads));
        }
        return views;
    }

    // Several pieces have a class token each: the first one's keys stand for them all, and its attention to
    // itself is the mean. Class tokens that are tokens of the picture have rows and columns among these too:
    // each is as important as its attention to itself says.
    [[nodiscard]] EncoderViews joined(const methods::EncoderNeeds& needs) const {
        const std::size_t width = encoded_.pieces.front()->width;
        const std::size_t n_prefix = encoded_.pieces.front()->shape.n_prefix;
        EncoderViews views;
        for (const std::size_t block : needs.layers) {
            std::vector<const std::vector<float>*> pieces;
            for (const SharedLayers& piece : encoded_.pieces) pieces.push_back(&piece->find(block)->values);
            append_rows(pieces, width, 0, views.own.emplace_back());
            views.layers.push_back(block_values(block, views.own.back(), width));
        }
        for (const std::size_t block : needs.keys) {
            std::vector<const std::vector<float>*> pieces;
            for (const SharedLayers& piece : encoded_.pieces) {
                pieces.push_back(&part_of(piece->keys, block)->values);
            }
            const auto first = pieces.front()->begin();
            std::vector<float>& rows =
                views.own.emplace_back(first, first + static_cast<std::ptrdiff_t>(n_prefix * width));
            append_rows(pieces, width, n_prefix - n_class_tokens_, rows);
            views.keys.push_back(block_values(block, rows, width));
        }
        for (const std::size_t block : needs.class_attention) {
            std::vector<float>& rows = views.own.emplace_back();
            const std::size_t n_heads = part_of(encoded_.pieces.front()->class_attention, block)->n_heads;
            for (std::size_t head = 0; head < n_heads; ++head) append_head(block, head, rows);
            views.class_attention.push_back(block_values(block, rows, 1 + cells_.size()));
        }
        return views;
    }

    void append_head(std::size_t block, std::size_t head, std::vector<float>& rows) const {
        std::vector<std::span<const float>> pieces;
        float own = 0.0F;
        for (const SharedLayers& piece : encoded_.pieces) {
            const model::ClassAttention* part = part_of(piece->class_attention, block);
            const std::size_t n_columns = part->per_head.size() / part->n_heads;
            pieces.push_back(std::span(part->per_head).subspan(head * n_columns, n_columns));
            own += pieces.back()[0] / static_cast<float>(encoded_.pieces.size());
        }
        rows.push_back(own);
        const std::size_t first = 1 - n_class_tokens_;
        for (const model::TokenCell& cell : cells_) rows.push_back(pieces[cell.piece][first + cell.cell]);
    }

    const EncodedPicture& encoded_;
    std::vector<model::TokenCell> cells_;
    bool is_whole_ = false;
    std::size_t n_class_tokens_ = 0;  // of each piece
};

// One image on its way: rows that lose and merge tokens.
class Reduction {
   public:
    Reduction(const VisualRequest& request, std::size_t image, const EncodedPicture& encoded,
              model::VisionSession& session, VisualInput& times)
        : request_(request),
          image_(image),
          encoded_(encoded),
          arrangement_(encoded),
          views_(arrangement_.views(request.run != nullptr ? request.run->program().encoder
                                                           : methods::EncoderNeeds())),
          session_(session),
          times_(times) {
        seen_.plan = encoded.plan;
        if (encoded.members == nullptr) parts_ = tile_parts(encoded.plan);
        if (encoded.members != nullptr) {
            seen_.members = *encoded.members;
            for (const auto& members : *encoded.members) {
                seen_.places.push_back(members.front());
                reasons_.push_back(members.size() > 1 ? methods::Reason::Merged : methods::Reason::Coverage);
            }
        } else {
            seen_.places.resize(arrangement_.n_tokens());
            std::iota(seen_.places.begin(), seen_.places.end(), TokenIndex{0});
        }
    }

    Result<SeenImage> run() {
        const methods::Program* program = request_.run != nullptr ? &request_.run->program() : nullptr;
        base::Stopwatch watch;
        CLASP_ASSIGN_OR_RETURN(std::vector<std::vector<float>> pieces, fused());
        times_.fuse_ms += watch.elapsed_ms();
        // Masses go to the survivors nearest after projection, so dropped tokens have to be projected too.
        const bool with_masses = request_.mass == MassRule::Nearest;
        const bool acts_before = program != nullptr && program->has_after_encoder && is_asked();
        Plan plan;
        if (acts_before) {
            std::vector<float> features = tokens_of(std::move(pieces), layers().width);
            CLASP_RETURN_IF_ERROR(ask(false, features, {}, plan));
            if (with_masses) {
                CLASP_RETURN_IF_ERROR(project(features));
                CLASP_RETURN_IF_ERROR(pass_masses(plan));
            }
            features = methods::apply_to_rows(plan, view(features), class_row());
            CLASP_RETURN_IF_ERROR(project(features));
            settle(plan);
        } else {
            CLASP_RETURN_IF_ERROR(project_pieces(pieces));
            CLASP_RETURN_IF_ERROR(project_branches());
        }
        if (program != nullptr && program->has_after_projector && is_asked()) {
            std::vector<float> gram;
            if (program->encoder.gram) {
                CLASP_ASSIGN_OR_RETURN(gram, gram_of_values());
            }
            plan.clear();
            CLASP_RETURN_IF_ERROR(ask(true, seen_.values, gram, plan));
            if (with_masses) CLASP_RETURN_IF_ERROR(pass_masses(plan));
            seen_.values = methods::apply_to_rows(plan, view(seen_.values), nullptr);
            if (!seen_.additions.empty()) {
                seen_.additions = methods::apply_to_rows(plan, view(seen_.additions), nullptr);
            }
            settle(plan);
        }
        // Of many tokens no matrix is built: stages compare the tokens themselves.
        if (request_.want_gram && seen_.n_tokens() <= kMaxGramTokens) {
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
        if (request_.mix.size() != 1 || layers().compat != Compat::Original) return nullptr;
        if (encoded_.pieces.size() != 1) return nullptr;  // each has one of its own
        const model::LayerOutput* layer = layers().find(request_.mix.front().layer);
        return layer == nullptr || layer->class_row.empty() ? nullptr : layer->class_row.data();
    }

    // Of the first piece; what all pieces share may be read from it.
    [[nodiscard]] const model::VisionLayers& layers() const { return *encoded_.pieces.front(); }

    [[nodiscard]] std::vector<float> tokens_of(std::vector<std::vector<float>> pieces, std::size_t width,
                                               const std::vector<float>& fixed = {}) const {
        return seen_.members.empty() ? arrangement_.rows(std::move(pieces), width, fixed)
                                     : std::move(pieces.front());
    }
    // Rows that the tower brings and that are tokens of this picture.
    Result<std::vector<float>> fixed_rows() const {
        std::vector<float> rows;
        for (std::size_t number = 0; number < arrangement_.n_fixed_rows(); ++number) {
            CLASP_ASSIGN_OR_RETURN(const std::vector<float> row, session_.model().fixed_row(number));
            rows.insert(rows.end(), row.begin(), row.end());
        }
        return rows;
    }

    Result<std::vector<std::vector<float>>> fused() {
        std::vector<std::vector<float>> pieces;
        if (!seen_.members.empty()) {
            pieces.push_back(layers().find(request_.mix.front().layer)->values);
            return pieces;
        }
        for (const SharedLayers& piece : encoded_.pieces) {
            CLASP_ASSIGN_OR_RETURN(std::vector<float> features,
                                   session_.fuse(*piece, request_.mix, request_.cancel));
            pieces.push_back(std::move(features));
        }
        return pieces;
    }

    // Rows of whatever number, from a tower that does not merge.
    Status project(const std::vector<float>& features) {
        const base::Stopwatch watch;
        CLASP_ASSIGN_OR_RETURN(
            seen_.values, session_.project_rows(features, layers().shape, layers().compat, request_.cancel));
        times_.project_ms += watch.elapsed_ms();
        return ok_status();
    }

    // Each piece alone, then all in their places.
    Status project_pieces(const std::vector<std::vector<float>>& features) {
        const base::Stopwatch watch;
        std::vector<std::vector<float>> pieces;
        for (std::size_t i = 0; i < features.size(); ++i) {
            CLASP_ASSIGN_OR_RETURN(std::vector<float> tokens,
                                   session_.project_rows(features[i], encoded_.pieces[i]->shape,
                                                         layers().compat, request_.cancel));
            pieces.push_back(std::move(tokens));
        }
        CLASP_ASSIGN_OR_RETURN(const std::vector<float> fixed, fixed_rows());
        seen_.values = tokens_of(std::move(pieces), session_.model().info().output_width, fixed);
        times_.project_ms += watch.elapsed_ms();
        return ok_status();
    }

    // What goes to the decoder beside the tokens, in their places.
    Status project_branches() {
        const model::VisionInfo& info = session_.model().info();
        if (info.branch_layers.empty()) return ok_status();
        const base::Stopwatch watch;
        std::vector<std::vector<float>> pieces;
        for (const SharedLayers& piece : encoded_.pieces) {
            CLASP_ASSIGN_OR_RETURN(std::vector<float> rows,
                                   session_.project_branches(*piece, request_.cancel));
            pieces.push_back(std::move(rows));
        }
        const std::size_t width = info.branch_layers.size() * info.output_width;
        const std::vector<float> nothing(arrangement_.n_fixed_rows() * width, 0.0F);
        seen_.additions = tokens_of(std::move(pieces), width, nothing);
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
        input.grid = method_grid(seen_.plan.layout);
        const methods::TileParts parts = parts_ ? parts_->view() : methods::TileParts();
        if (parts_) input.parts = &parts;
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
        const std::size_t n = seen_.n_tokens();
        std::vector<float> gram;
        if (n <= kMaxGramTokens) {
            CLASP_ASSIGN_OR_RETURN(gram, gram_of_values());
        }
        const base::Stopwatch watch;
        std::vector<float> masses = seen_.masses;
        if (masses.empty()) masses.assign(n, 1.0F);
        std::vector<TokenIndex> kept = plan.kept;
        std::erase(kept, methods::kClassToken);
        std::sort(kept.begin(), kept.end());
        SelectWorkspace workspace;
        CLASP_RETURN_IF_ERROR(
            gram.empty() ? assign_masses(view(seen_.values), {}, kept, workspace, request_.pool, masses)
                         : assign_masses({gram.data(), n, n}, {}, kept, masses));
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
        TokenIndex first = 0;
        for (const SeenImage& image : times_.images) {
            first += static_cast<TokenIndex>(image.plan.layout.n_tokens());
        }
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
    const EncodedPicture& encoded_;
    Arrangement arrangement_;
    std::optional<OwnedTileParts> parts_;
    EncoderViews views_;
    model::VisionSession& session_;
    VisualInput& times_;
    SeenImage seen_;
    std::vector<methods::Reason> reasons_;  // of the tokens, once something left
};

}  // namespace

Result<SeenImage> reduce_image(const VisualRequest& request, std::size_t image, const EncodedPicture& encoded,
                               model::VisionSession& session, VisualInput& times) {
    return Reduction(request, image, encoded, session, times).run();
}

}  // namespace clasp::engine
