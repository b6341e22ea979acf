// LLaVA-1.5 and LLaVA-NeXT, of the authors and in Hugging Face's port.
#include <algorithm>

#include "base/text.h"
#include "convert/clip_plan.h"

namespace clasp::convert {
namespace {

using base::Json;

constexpr std::size_t kMaxPinpoints = 128;
constexpr std::int32_t kMaxPinpoint = 1 << 16;

// What both forms of a checkpoint come down to.
struct LlavaParts {
    TextPart text;
    ClipShape shape;
    std::string tower;  // the prefix of its tensors
    TensorPool* tower_pool = nullptr;
    std::string projector1, projector2;
    std::vector<std::int32_t> pinpoints;  // empty: LLaVA-1.5
    std::string merge_type;
    std::string newline;
};

// Widths and heights in turn.
Result<std::vector<std::int32_t>> read_pinpoints(const ModelConfig& config, const std::string& key) {
    const Json& list = config.json()[key];
    std::vector<std::int32_t> sides;
    if (!list.is_array() || list.empty() || list.size() > kMaxPinpoints) {
        return config.wrong(key, "is no list of 1 to " + std::to_string(kMaxPinpoints) + " sizes");
    }
    for (const Json& size : list) {
        std::vector<std::int32_t> pair;
        if (!size.get_to(pair) || pair.size() != 2 || std::min(pair[0], pair[1]) < 1 ||
            std::max(pair[0], pair[1]) > kMaxPinpoint) {
            return config.wrong(key, "holds something else than pairs of pixels");
        }
        sides.insert(sides.end(), pair.begin(), pair.end());
    }
    return sides;
}

// The port reads its pairs as height and width. A list that has every pair both ways means the same either
// way and keeps the authors' order, which decides between two sizes that are equally good.
void turn_pairs(std::vector<std::int32_t>& sides) {
    std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
    std::vector<std::pair<std::int32_t, std::int32_t>> turned;
    for (std::size_t i = 0; i < sides.size(); i += 2) {
        pairs.emplace_back(sides[i], sides[i + 1]);
        turned.emplace_back(sides[i + 1], sides[i]);
    }
    std::sort(pairs.begin(), pairs.end());
    std::sort(turned.begin(), turned.end());
    if (pairs == turned) return;
    for (std::size_t i = 0; i < sides.size(); i += 2) std::swap(sides[i], sides[i + 1]);
}

Status plan_parts(const FamilyInput& input, LlavaParts& parts, ConversionPlan& plan) {
    CLASP_RETURN_IF_ERROR(plan_text(input, parts.text, plan));
    const auto width =
        std::find_if(plan.text.tensors.begin(), plan.text.tensors.end(),
                     [](const auto& tensor) { return tensor.place.name == "token_embd.weight"; });
    const std::uint64_t text_width = width->place.shape.front();
    GgufKeys& keys = plan.vision.keys;
    set_vision_start(input, "mlp", keys);
    set_clip_keys(parts.shape, text_width, keys);
    CLASP_RETURN_IF_ERROR(set_colours(input, clip_colours(), keys));
    keys.set_text("clip.vision.mm_projector_type", "mlp2x_gelu");
    CLASP_RETURN_IF_ERROR(plan_clip_tower(parts.tower, "v.", parts.shape, *parts.tower_pool, plan.vision));
    CLASP_RETURN_IF_ERROR(plan_llava_projector(parts.projector1, parts.projector2, parts.shape, text_width,
                                               *input.pool, plan.vision));
    if (parts.pinpoints.empty()) return ok_status();
    keys.set_integers("clip.vision.image_grid_pinpoints", parts.pinpoints);
    keys.set_text("clip.vision.mm_patch_merge_type", parts.merge_type);
    keys.set_text("clip.vision.image_aspect_ratio", "anyres");
    keys.set_u32("clip.vision.image_crop_resolution", parts.shape.image_size);
    keys.set_u32("clip.vision.image_split_resolution", parts.shape.image_size);
    if (!input.pool->has(parts.newline)) {
        plan.notes.push_back("the checkpoint has no " + tensor_text(parts.newline) +
                             ", so the vision file has no line breaks between rows of tiles");
        return ok_status();
    }
    CLASP_ASSIGN_OR_RETURN(const StoredTensor* const newline, input.pool->take(parts.newline, {text_width}));
    add_tensor(plan.vision, "model.image_newline", TensorUse::Values, *newline);
    return ok_status();
}

// The towers whose numbers are common knowledge; any other says them in a config.json of its own.
Result<ModelConfig> known_tower(const ModelConfig& config, const std::string& name) {
    std::uint64_t side = 0;
    if (name.ends_with("openai/clip-vit-large-patch14-336")) side = 336;
    if (name.ends_with("openai/clip-vit-large-patch14")) side = 224;
    if (side == 0) {
        return config.unsupported(
            "mm_vision_tower",
            "of this tower nothing is known here: name the folder of its config.json with "
            "--vision-tower");
    }
    return ModelConfig(name, Json{{"hidden_size", 1024},
                                  {"intermediate_size", 4096},
                                  {"num_hidden_layers", 24},
                                  {"num_attention_heads", 16},
                                  {"image_size", side},
                                  {"patch_size", 14},
                                  {"hidden_act", "quick_gelu"},
                                  {"layer_norm_eps", 1e-5}});
}

// The authors' tower: inside the checkpoint (LLaVA-1.6), or in a folder of its own (LLaVA-1.5).
Status find_tower(const FamilyInput& input, LlavaParts& parts, std::unique_ptr<TensorPool>& other_pool) {
    const ModelConfig& config = input.config;
    CLASP_ASSIGN_OR_RETURN(const std::string name, config.text("mm_vision_tower"));
    CLASP_ASSIGN_OR_RETURN(const TowerFolder beside, find_tower_folder(input, name));
    ModelConfig tower = beside.config;
    if (beside.folder.empty()) {
        CLASP_ASSIGN_OR_RETURN(tower, known_tower(config, name));
    }
    CLASP_ASSIGN_OR_RETURN(const std::int64_t layer, config.integer("mm_vision_select_layer", -2));
    CLASP_ASSIGN_OR_RETURN(parts.shape, read_clip_shape(tower, layer, "quick_gelu"));
    constexpr const char* kInside = "model.vision_tower.vision_tower.vision_model.";
    constexpr const char* kMark = "embeddings.class_embedding";
    if (input.pool->has(std::string(kInside) + kMark)) {
        parts.tower = kInside;
        parts.tower_pool = input.pool;
        return ok_status();
    }
    if (beside.folder.empty()) {
        return {Code::NotFound, "the checkpoint does not hold the weights of its vision tower " +
                                    base::in_quotes(name) + "; name their folder with --vision-tower"};
    }
    CLASP_ASSIGN_OR_RETURN(Checkpoint other, Checkpoint::open(beside.folder));
    input.others->push_back(std::make_unique<Checkpoint>(std::move(other)));
    other_pool = std::make_unique<TensorPool>(*input.others->back());
    parts.tower_pool = other_pool.get();
    parts.tower = "vision_model.";
    return ok_status();
}

}  // namespace

bool is_llava(const ModelConfig& config) {
    return config.has("mm_vision_tower") && !config.has("mm_video_tower") && !config.has("text_config");
}

Status plan_llava(const FamilyInput& input, ConversionPlan& plan) {
    const ModelConfig& config = input.config;
    LlavaParts parts;
    std::unique_ptr<TensorPool> other_pool;
    std::string class_name = config.architecture();
    if (class_name == "LlavaLlamaForCausalLM") class_name = "LlamaForCausalLM";
    if (class_name == "LlavaMistralForCausalLM") class_name = "MistralForCausalLM";
    if (class_name == "LlavaQwenForCausalLM") class_name = "Qwen2ForCausalLM";
    parts.text = {.source = {.config = config, .body = "model.", .head = "lm_head.weight"},
                  .class_name = class_name};
    CLASP_ASSIGN_OR_RETURN(const std::string projector, config.text("mm_projector_type", "linear"));
    if (projector != "mlp2x_gelu")
        return config.unsupported("mm_projector_type", "mlp2x_gelu can be converted");
    CLASP_ASSIGN_OR_RETURN(const std::string feature, config.text("mm_vision_select_feature", "patch"));
    if (feature != "patch") return config.unsupported("mm_vision_select_feature", "patch can be converted");
    parts.projector1 = "model.mm_projector.0";
    parts.projector2 = "model.mm_projector.2";
    CLASP_ASSIGN_OR_RETURN(const std::string aspect, config.text("image_aspect_ratio", "square"));
    if (aspect == "anyres") {
        CLASP_ASSIGN_OR_RETURN(parts.pinpoints, read_pinpoints(config, "image_grid_pinpoints"));
        CLASP_ASSIGN_OR_RETURN(parts.merge_type, config.text("mm_patch_merge_type", "flat"));
        parts.newline = "model.image_newline";
    } else if (aspect != "pad") {
        if (aspect != "square")
            return config.unsupported("image_aspect_ratio", "pad, square and anyres can be converted");
        plan.notes.emplace_back(
            "the checkpoint squeezes or crops pictures to squares (image_aspect_ratio); here "
            "they are laid on a square of the mean colour, as LLaVA-1.5 does");
    }
    CLASP_RETURN_IF_ERROR(find_tower(input, parts, other_pool));
    return plan_parts(input, parts, plan);
}

bool is_llava_port(const ModelConfig& config) {
    const std::string type = config.json()["model_type"].get<std::string>().value_or("");
    return (type == "llava" || type == "llava_next") && config.is_object("text_config");
}

Status plan_llava_port(const FamilyInput& input, ConversionPlan& plan) {
    const ModelConfig& config = input.config;
    TensorPool& pool = *input.pool;
    LlavaParts parts;
    // Newer saves put everything but the output matrix below "model.".
    const bool is_new = pool.has("model.language_model.embed_tokens.weight");
    const std::string root = is_new ? "model." : "";
    parts.text.source.config = config.part("text_config");
    parts.text.source.body = is_new ? "model.language_model." : "language_model.model.";
    parts.text.source.head = is_new ? "lm_head.weight" : "language_model.lm_head.weight";
    parts.text.class_name = parts.text.source.config.architecture();
    const ModelConfig tower = config.part("vision_config");
    CLASP_ASSIGN_OR_RETURN(const std::string tower_type, tower.text("model_type", "clip_vision_model"));
    if (tower_type != "clip_vision_model") {
        return tower.unsupported("model_type", "towers of the type clip_vision_model can be converted");
    }
    if (config.json()["vision_feature_layer"].is_array()) {
        return config.unsupported("vision_feature_layer", "features of one layer can be converted");
    }
    CLASP_ASSIGN_OR_RETURN(const std::int64_t layer, config.integer("vision_feature_layer", -2));
    CLASP_ASSIGN_OR_RETURN(parts.shape, read_clip_shape(tower, layer, "quick_gelu"));
    CLASP_ASSIGN_OR_RETURN(const std::string strategy,
                           config.text("vision_feature_select_strategy", "default"));
    if (strategy != "default")
        return config.unsupported("vision_feature_select_strategy", "default can be converted");
    CLASP_ASSIGN_OR_RETURN(const std::string activation, config.text("projector_hidden_act", "gelu"));
    if (activation != "gelu") return config.unsupported("projector_hidden_act", "gelu can be converted");
    parts.tower = root + "vision_tower.vision_model.";
    parts.tower_pool = input.pool;
    parts.projector1 = root + "multi_modal_projector.linear_1";
    parts.projector2 = root + "multi_modal_projector.linear_2";
    if (config.json()["model_type"] == Json("llava_next")) {
        CLASP_ASSIGN_OR_RETURN(parts.pinpoints, read_pinpoints(config, "image_grid_pinpoints"));
        turn_pairs(parts.pinpoints);
        parts.merge_type = "spatial_unpad";
        parts.newline = root + "image_newline";
    }
    return plan_parts(input, parts, plan);
}

}  // namespace clasp::convert
