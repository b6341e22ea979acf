// Video-LLaVA: a tower for pictures and one for clips, of the authors (with attention over time) and in
// Hugging Face's port (without).
#include <algorithm>

#include "base/text.h"
#include "convert/clip_plan.h"

namespace clasp::convert {
namespace {

using base::Json;

constexpr std::uint64_t kMaxFrames = 1024;
constexpr std::size_t kCompareChunk = std::size_t{8} << 20U;

struct VideoLlavaParts {
    TextPart text;
    ClipShape shape;
    std::string image_tower, video_tower;  // prefixes
    std::string projector1, projector2;
    const char* source = "";
    const char* preprocess = "";
};

// Whether two tensors have the same bytes.
Result<bool> are_equal(const StoredTensor& a, const StoredTensor& b) {
    if (a.element != b.element || a.n_bytes != b.n_bytes) return false;
    for (std::uint64_t at = 0; at < a.n_bytes; at += kCompareChunk) {
        const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(kCompareChunk, a.n_bytes - at));
        CLASP_ASSIGN_OR_RETURN(const std::string left, a.source->read(a.offset + at, n));
        CLASP_ASSIGN_OR_RETURN(const std::string right, b.source->read(b.offset + at, n));
        if (left != right) return false;
    }
    return true;
}

// The clips' tower under "vv.", without what equals the pictures' tower: a missing vv.X means v.X.
Status plan_video_tower(const VideoLlavaParts& parts, TensorPool& pool, OutputFile& file) {
    OutputFile clips;
    CLASP_RETURN_IF_ERROR(plan_clip_tower(parts.video_tower, "vv.", parts.shape, pool, clips));
    const std::size_t n_pictures = file.tensors.size();
    for (PlannedTensor& tensor : clips.tensors) {
        const std::string twin = tensor.place.name.substr(1);
        const auto end = file.tensors.begin() + static_cast<std::ptrdiff_t>(n_pictures);
        const auto known = std::find_if(file.tensors.begin(), end,
                                        [&](const PlannedTensor& t) { return t.place.name == twin; });
        if (known != end) {
            CLASP_ASSIGN_OR_RETURN(const bool is_twin, are_equal(*tensor.source, *known->source));
            if (is_twin) continue;
        }
        file.tensors.push_back(std::move(tensor));
    }
    return ok_status();
}

Status plan_temporal_block(const std::string& from, const std::string& to, const ClipShape& shape,
                           std::uint64_t n_frames, TensorPool& pool, OutputFile& file) {
    CLASP_ASSIGN_OR_RETURN(const StoredTensor* const frames,
                           pool.take(from + "temporal_embedding", {n_frames, shape.width}));
    add_tensor(file, to + "t_embd", TensorUse::Values, *frames);
    for (const char* part : {"weight", "bias"}) {
        CLASP_ASSIGN_OR_RETURN(const StoredTensor* const norm,
                               pool.take(from + "temporal_layer_norm1." + part, {shape.width}));
        add_tensor(file, to + "t_ln." + part, TensorUse::Values, *norm);
    }
    for (const char* name : {"q", "k", "v", "out"}) {
        const std::string source = from + "temporal_attn." + name + "_proj.";
        const std::string stored = to + "t_attn_" + name + ".";
        CLASP_ASSIGN_OR_RETURN(const StoredTensor* const weight,
                               pool.take(source + "weight", {shape.width, shape.width}));
        add_tensor(file, stored + "weight", TensorUse::Matrix, *weight);
        CLASP_ASSIGN_OR_RETURN(const StoredTensor* const bias, pool.take(source + "bias", {shape.width}));
        add_tensor(file, stored + "bias", TensorUse::Values, *bias);
    }
    return ok_status();
}

Status plan_video_parts(const FamilyInput& input, VideoLlavaParts& parts, ConversionPlan& plan) {
    TensorPool& pool = *input.pool;
    CLASP_RETURN_IF_ERROR(plan_text(input, parts.text, plan));
    const auto table =
        std::find_if(plan.text.tensors.begin(), plan.text.tensors.end(),
                     [](const auto& tensor) { return tensor.place.name == "token_embd.weight"; });
    const std::uint64_t text_width = table->place.shape.front();
    GgufKeys& keys = plan.vision.keys;
    set_vision_start(input, "videollava", keys);
    set_clip_keys(parts.shape, text_width, keys);
    keys.set_flag("clip.gelu_exact", true);  // what clip.use_gelu means
    CLASP_RETURN_IF_ERROR(set_colours(input, clip_colours(), keys));
    CLASP_RETURN_IF_ERROR(plan_clip_tower(parts.image_tower, "v.", parts.shape, pool, plan.vision));
    CLASP_RETURN_IF_ERROR(plan_video_tower(parts, pool, plan.vision));

    const std::string blocks = parts.video_tower + "encoder.layers.";
    const std::string first = blocks + "0.temporal_embedding";
    const bool is_temporal = pool.has(first);
    std::uint64_t n_frames = 8;
    if (is_temporal) {
        CLASP_ASSIGN_OR_RETURN(const StoredTensor* const frames, pool.take(first));
        n_frames = frames->shape.size() < 2 ? 1 : frames->shape[frames->shape.size() - 2];
        if (n_frames > kMaxFrames) {
            return frames->source->corrupt(tensor_text(first) + " is for " + std::to_string(n_frames) +
                                           " frames; the limit is " + std::to_string(kMaxFrames));
        }
    }
    for (std::uint64_t i = 0; is_temporal && i < parts.shape.n_kept; ++i) {
        CLASP_RETURN_IF_ERROR(plan_temporal_block(blocks + std::to_string(i) + ".",
                                                  "vv.blk." + std::to_string(i) + ".", parts.shape, n_frames,
                                                  pool, plan.vision));
    }
    keys.set_u32("clip.video.frame_count", n_frames);
    keys.set_flag("clip.video.temporal_attention", is_temporal);
    keys.set_flag("clip.video.keep_class_token", true);
    keys.set_u32("clip.video.block_count", parts.shape.n_kept);
    keys.set_text("clip.video.preprocess", parts.preprocess);
    keys.set_text("videollava.source", parts.source);
    return plan_llava_projector(parts.projector1, parts.projector2, parts.shape, text_width, pool,
                                plan.vision);
}

}  // namespace

bool is_video_llava(const ModelConfig& config) {
    return config.has("mm_video_tower") && !config.has("text_config");
}

Status plan_video_llava(const FamilyInput& input, ConversionPlan& plan) {
    const ModelConfig& config = input.config;
    VideoLlavaParts parts;
    parts.text = {.source = {.config = config, .body = "model.", .head = "lm_head.weight"},
                  .class_name = "LlamaForCausalLM"};
    CLASP_ASSIGN_OR_RETURN(const std::string projector, config.text("mm_projector_type", "linear"));
    if (projector != "mlp2x_gelu")
        return config.unsupported("mm_projector_type", "mlp2x_gelu can be converted");
    CLASP_ASSIGN_OR_RETURN(const std::string name, config.text("mm_image_tower"));
    CLASP_ASSIGN_OR_RETURN(const TowerFolder tower, find_tower_folder(input, name));
    if (tower.folder.empty()) {
        return {Code::NotFound,
                "the checkpoint does not say what its towers compute (hidden_act): name the folder "
                "with the config.json of " +
                    base::in_quotes(name) + " with --vision-tower"};
    }
    CLASP_ASSIGN_OR_RETURN(const std::int64_t layer, config.integer("mm_vision_select_layer", -2));
    CLASP_ASSIGN_OR_RETURN(parts.shape, read_clip_shape(tower.config, layer, std::nullopt));
    parts.image_tower = "model.image_tower.image_tower.";
    parts.video_tower = "model.video_tower.video_tower.";
    parts.projector1 = "model.mm_projector.0";
    parts.projector2 = "model.mm_projector.2";
    parts.source = "authors";
    parts.preprocess = "languagebind";
    return plan_video_parts(input, parts, plan);
}

bool is_video_llava_port(const ModelConfig& config) {
    return config.json()["model_type"] == Json("video_llava") && config.is_object("text_config");
}

Status plan_video_llava_port(const FamilyInput& input, ConversionPlan& plan) {
    const ModelConfig& config = input.config;
    VideoLlavaParts parts;
    const bool is_new = input.pool->has("model.language_model.embed_tokens.weight");
    const std::string root = is_new ? "model." : "";
    parts.text.source.config = config.part("text_config");
    parts.text.source.body = is_new ? "model.language_model." : "language_model.model.";
    parts.text.source.head = is_new ? "lm_head.weight" : "language_model.lm_head.weight";
    parts.text.class_name = parts.text.source.config.architecture();
    CLASP_ASSIGN_OR_RETURN(const std::int64_t layer, config.integer("vision_feature_layer", -2));
    CLASP_ASSIGN_OR_RETURN(parts.shape, read_clip_shape(config.part("vision_config"), layer, "quick_gelu"));
    CLASP_ASSIGN_OR_RETURN(const std::string activation, config.text("projector_hidden_act", "gelu"));
    if (activation != "gelu") return config.unsupported("projector_hidden_act", "gelu can be converted");
    parts.image_tower = root + "image_tower.vision_model.";
    parts.video_tower = root + "video_tower.vision_model.";
    parts.projector1 = root + "multi_modal_projector.linear_1";
    parts.projector2 = root + "multi_modal_projector.linear_2";
    parts.source = "hf";
    parts.preprocess = "clip";
    return plan_video_parts(input, parts, plan);
}

}  // namespace clasp::convert
