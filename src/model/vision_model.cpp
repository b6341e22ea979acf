#include "model/vision_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/cpu_share.h"
#include "base/text.h"

namespace clasp::model {

namespace {

Status refuse_detail(const VisionInfo& info, const std::string& what) {
    return {Code::InvalidArgument, "the vision tower " + info.family + " leaves no choice of " + what};
}

// Limits instead of a preset, and none that the tower does not have.
Result<PictureDetail> settled_detail(const VisionInfo& info, PictureDetail detail) {
    if (detail.preset == "paper") {
        if (!info.paper_token_range) return refuse_detail(info, "the paper's limits of tokens");
        if (detail.min_tokens == 0) detail.min_tokens = info.paper_token_range->min;
        if (detail.max_tokens == 0) detail.max_tokens = info.paper_token_range->max;
    } else if (!detail.preset.empty()) {
        return Status(Code::InvalidArgument, "there are no limits of tokens called " +
                                                 base::in_quotes(detail.preset) + "; there is paper");
    }
    detail.preset.clear();
    if ((detail.min_tokens > 0 || detail.max_tokens > 0) && !info.token_range) {
        return refuse_detail(info, "how many tokens a picture becomes");
    }
    if (detail.max_tiles > 0 && info.max_tiles == 0) return refuse_detail(info, "the number of tiles");
    if (!detail.tile_merge.empty() && !info.tiles) return refuse_detail(info, "the order of tiles");
    if (!detail.newline.empty() && detail.newline != "carried") {
        if (detail.newline != "as-patch") {
            return Status(Code::InvalidArgument, "there is no way to treat line breaks called " +
                                                     base::in_quotes(detail.newline) +
                                                     "; there are carried and as-patch");
        }
        if (!info.tiles) return refuse_detail(info, "how line breaks are treated");
    }
    if (detail.max_tokens > 0 && detail.min_tokens > detail.max_tokens) {
        return Status(Code::InvalidArgument, "a picture cannot have at least " +
                                                 std::to_string(detail.min_tokens) + " and at most " +
                                                 std::to_string(detail.max_tokens) + " tokens");
    }
    return detail;
}

Status check_compat(const VisionInfo& info, Compat compat) {
    if (compat == Compat::Original || info.is_in_llama_cpp) return ok_status();
    return {Code::Unsupported, "llama.cpp does not know the vision tower " + info.family +
                                   ", so there are no numbers of its own to compute"};
}

Status check_has_pixels(PixelSize picture) {
    if (picture.width >= 1 && picture.height >= 1) return ok_status();
    return {Code::InvalidArgument, "a picture of " + std::to_string(picture.width) + " x " +
                                       std::to_string(picture.height) + " pixels has no tokens"};
}

Result<VisionPlan> plan_picture(const VisionTower& tower, PixelSize picture, const PlanOptions& options) {
    CLASP_RETURN_IF_ERROR(check_has_pixels(picture));
    CLASP_RETURN_IF_ERROR(check_compat(tower.info(), options.compat));
    PlanOptions settled = options;
    CLASP_ASSIGN_OR_RETURN(settled.detail, settled_detail(tower.info(), options.detail));
    CLASP_ASSIGN_OR_RETURN(VisionPlan plan, tower.plan(picture, settled));
    CLASP_RETURN_IF_ERROR(check_vision_plan(plan));
    return plan;
}

}  // namespace

Result<VisionInfo> inspect_vision(std::span<const std::byte> bytes) {
    CLASP_ASSIGN_OR_RETURN(const GgufReader reader, GgufReader::parse(bytes));
    CLASP_ASSIGN_OR_RETURN(const auto tower, open_vision_tower(reader));
    return tower->info();
}

Result<ImageLayout> plan_vision(std::span<const std::byte> bytes, PixelSize picture,
                                const PlanOptions& options) {
    CLASP_ASSIGN_OR_RETURN(const GgufReader reader, GgufReader::parse(bytes));
    CLASP_ASSIGN_OR_RETURN(const auto tower, open_vision_tower(reader));
    CLASP_ASSIGN_OR_RETURN(VisionPlan plan, plan_picture(*tower, picture, options));
    return std::move(plan.layout);
}

Result<std::shared_ptr<const VisionModel>> VisionModel::load(const std::string& path,
                                                             const VisionOptions& options,
                                                             std::shared_ptr<Compute> compute,
                                                             ThreadPool* pool, const LogSink& log) {
    CLASP_ASSIGN_OR_RETURN(const base::MappedFile file, base::MappedFile::open(path));
    VisionOptions with_path = options;
    with_path.outside.path = path;
    auto model = load_bytes(file.bytes(), with_path, std::move(compute), pool, log);
    if (!model.ok()) return model.status().with_context(path);
    return model;
}

Result<std::shared_ptr<const VisionModel>> VisionModel::load_bytes(std::span<const std::byte> bytes,
                                                                   const VisionOptions& options,
                                                                   std::shared_ptr<Compute> compute,
                                                                   ThreadPool* pool, const LogSink& log) {
    CLASP_ASSIGN_OR_RETURN(const GgufReader reader, GgufReader::parse(bytes));
    const std::shared_ptr<VisionModel> model(new VisionModel());
    model->compute_ = std::move(compute);
    CLASP_ASSIGN_OR_RETURN(model->tower_, open_vision_tower(reader));
    if (model->tower_->is_outside()) {
        if (options.weights != VisionWeights::Auto && options.weights != VisionWeights::File) {
            return Status(Code::InvalidArgument,
                          "libmtmd keeps the vision weights as the file has them, not as " +
                              std::string(vision_weights_name(options.weights)));
        }
        OutsideModel outside = options.outside;
        // libmtmd keeps its number for good.
        outside.n_threads = std::min(model->compute_->n_threads(), base::usable_cpus());
        CLASP_RETURN_IF_ERROR(model->tower_->attach(outside));
    }
    CLASP_ASSIGN_OR_RETURN(model->weights_, WeightStore::load(reader, model->tower_->specs(), options.weights,
                                                              *model->compute_, pool, log, options.watch));
    model->tower_->bind(*model->weights_);
    return std::shared_ptr<const VisionModel>(model);
}

Result<VisionPlan> VisionModel::plan(PixelSize picture, const PlanOptions& options) const {
    return plan_picture(*tower_, picture, options);
}

Result<std::vector<PiecePixels>> VisionModel::preprocess(const Image& picture, const VisionPlan& plan,
                                                         Compat compat) const {
    return tower_->preprocess(picture, plan, compat);
}

Result<VisionPlan> VisionModel::plan_clip(const ClipFrames& clip, const PlanOptions& options) const {
    CLASP_RETURN_IF_ERROR(check_has_pixels(clip.size));
    if (clip.n() == 0 || !(clip.fps > 0.0)) {
        return Status(Code::InvalidArgument, "a clip without frames has no tokens");
    }
    CLASP_RETURN_IF_ERROR(check_compat(info(), options.compat));
    PlanOptions settled = options;
    CLASP_ASSIGN_OR_RETURN(settled.detail, settled_detail(info(), options.detail));
    CLASP_ASSIGN_OR_RETURN(VisionPlan plan, tower_->plan_clip(clip, settled));
    CLASP_RETURN_IF_ERROR(check_vision_plan(plan));
    return plan;
}

Result<std::vector<PiecePixels>> VisionModel::pieces_of(const PieceRenderer& renderer, Compat compat) const {
    return renderer.finish([&](const Image& part) { return tower_->pixel_values(part, compat); },
                           [&](const image::PixelPlanes& part) { return tower_->plane_values(part); });
}

Result<std::vector<float>> VisionModel::fixed_row(std::size_t number) const {
    std::vector<float> row = tower_->fixed_row(number);
    if (row.size() != info().output_width) {
        return Status(Code::Internal, "the vision tower has no fixed row " + std::to_string(number));
    }
    const auto bad = std::find_if(row.begin(), row.end(), [](float x) { return !std::isfinite(x); });
    if (bad == row.end()) return row;
    return Status(Code::Corrupt, "entry " + std::to_string(bad - row.begin()) +
                                     " of the row that the vision file puts between tokens is not finite");
}

}  // namespace clasp::model
