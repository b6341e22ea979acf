#include "clasp/inspect.h"

#include <algorithm>
#include <map>

#include "base/mapped_file.h"
#include "base/text.h"
#include "engine/default_policy.h"
#include "engine/pair_check.h"
#include "model/gguf_metadata.h"
#include "model/gguf_reader.h"
#include "model/text_config.h"
#include "model/text_file.h"
#include "model/vision_model.h"

namespace clasp {

namespace {

constexpr std::string_view kVisionArchitecture = "clip";

std::string text_value(const model::GgufReader& file, std::string_view key) {
    const auto value = model::read_string(file, key);
    return value.ok() ? std::string(*value) : std::string();
}

void count_tensors(const model::GgufReader& file, GgufFileInfo& info) {
    std::map<std::string, std::size_t> types;
    info.n_tensors = file.tensors().size();
    for (const model::GgufTensor& tensor : file.tensors()) {
        std::size_t n = 1;
        for (const std::int64_t extent : tensor.shape) n *= static_cast<std::size_t>(extent);
        info.n_parameters += n;
        types[ggml_type_name(tensor.type)] += n;
    }
    info.types.assign(types.begin(), types.end());
    std::stable_sort(info.types.begin(), info.types.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
}

Status read_vision(std::span<const std::byte> bytes, GgufFileInfo& info) {
    CLASP_ASSIGN_OR_RETURN(const model::VisionInfo vision, model::inspect_vision(bytes));
    VisionFileInfo out;
    out.family = vision.family;
    out.projector = vision.projector_type;
    out.image_size = vision.image_size;
    out.patch_size = vision.patch_size;
    out.merge = vision.capabilities.merge;
    out.n_branches = vision.branch_layers.size();
    out.grid = vision.grid;
    out.n_blocks = vision.n_blocks;
    out.width = vision.width;
    out.n_heads = vision.n_heads;
    out.ffn_width = vision.ffn_width;
    out.output_width = vision.output_width;
    out.feature_layer = vision.feature_layer;
    out.llama_cpp_feature_layer = vision.llama_cpp_feature_layer;
    out.is_in_llama_cpp = vision.is_in_llama_cpp;
    out.differences = vision.differences;
    out.exactness = vision.exactness;
    if (vision.clip) {
        out.clip = ClipTowerInfo{.n_frames = vision.clip->n_frames,
                                 .n_tokens = vision.clip->n_tokens,
                                 .has_class_rows = vision.clip->has_class_rows,
                                 .has_temporal_part = vision.clip->has_temporal_part,
                                 .source = vision.clip->source,
                                 .preprocess = vision.clip->preprocess};
    }
    if (vision.token_range) {
        out.min_tokens = vision.token_range->min;
        out.max_tokens = vision.token_range->max;
    }
    out.min_tiles = vision.min_tiles;
    out.max_tiles = vision.max_tiles;
    out.tile_words = vision.tile_words;
    if (vision.tiles) {
        out.resolutions = vision.tiles->resolutions;
        out.tile_merge = model::tile_merge_name(vision.tiles->merge);
    }
    out.note = vision.note;
    info.vision = out;
    return ok_status();
}

Status read_text(const base::InputFile& input, const model::GgufReader& file, GgufFileInfo& info) {
    CLASP_ASSIGN_OR_RETURN(const model::TextConfig config, model::read_text_config(file));
    TextFileInfo out;
    out.n_layers = static_cast<std::size_t>(config.n_layers);
    out.width = static_cast<std::size_t>(config.width);
    out.ffn_width = static_cast<std::size_t>(config.ffn_width);
    out.n_heads = static_cast<std::size_t>(config.n_heads);
    out.n_kv_heads = static_cast<std::size_t>(config.n_kv_heads);
    out.head_width = static_cast<std::size_t>(config.head_width);
    out.vocabulary = static_cast<std::size_t>(config.vocabulary);
    out.context_length = static_cast<std::size_t>(config.context_length);
    out.n_deepstack = static_cast<std::size_t>(config.n_deepstack);
    info.text = out;
    return model::check_text_file(input, file);
}

}  // namespace

Result<GgufFileInfo> inspect_gguf(const std::string& path) {
    CLASP_ASSIGN_OR_RETURN(const base::InputFile input, base::InputFile::open(path));
    CLASP_ASSIGN_OR_RETURN(const base::MappedFile mapped, base::MappedFile::map(input));
    auto file = model::GgufReader::parse(mapped.bytes());
    if (!file) return file.status().with_context(base::path_in_quotes(path));
    GgufFileInfo info;
    info.path = path;
    info.n_bytes = mapped.bytes().size();
    info.architecture = text_value(*file, "general.architecture");
    info.name = text_value(*file, "general.name");
    count_tensors(*file, info);
    const Status usable = info.architecture == kVisionArchitecture ? read_vision(mapped.bytes(), info)
                                                                   : read_text(input, *file, info);
    info.is_supported = usable.ok();
    info.reason = usable.message();
    if (info.is_supported && info.text) {
        info.needs = "a vision file that gives tokens of width " + std::to_string(info.text->width) +
                     " for questions about pictures, and none for questions in text";
    }
    if (info.is_supported && info.vision) {
        info.needs = "a text model of width " + std::to_string(info.vision->output_width);
    }
    return info;
}

Result<ImageLayout> inspect_picture(const std::string& path, PixelSize picture, Compat compat,
                                    const PictureDetail& detail) {
    CLASP_ASSIGN_OR_RETURN(const base::MappedFile mapped, base::MappedFile::open(path));
    auto layout = model::plan_vision(mapped.bytes(), picture, {compat, detail});
    if (!layout) return layout.status().with_context(base::path_in_quotes(path));
    return layout;
}

Result<Policy> inspect_policy(const std::string& model, const std::string& mmproj) {
    Result<model::VisionInfo> vision = Status(Code::NotFound, "no vision file");
    if (!mmproj.empty()) {
        if (const auto mapped = base::MappedFile::open(mmproj))
            vision = model::inspect_vision(mapped->bytes());
    }
    CLASP_ASSIGN_OR_RETURN(engine::DefaultPolicy chosen,
                           engine::default_policy(model, vision ? &*vision : nullptr));
    return std::move(chosen.policy);
}

Status check_pair(const GgufFileInfo& text, const GgufFileInfo& vision) {
    const auto usable = [](const GgufFileInfo& info) -> Status {
        if (info.is_supported) return ok_status();
        return Status(Code::Unsupported, info.reason).with_context(base::path_in_quotes(info.path));
    };
    CLASP_RETURN_IF_ERROR(usable(text));
    CLASP_RETURN_IF_ERROR(usable(vision));
    if (!text.text) return {Code::InvalidArgument, base::path_in_quotes(text.path) + " is not a text model"};
    if (!vision.vision) {
        return {Code::InvalidArgument, base::path_in_quotes(vision.path) + " is not a vision file"};
    }
    return engine::check_pair(
        {text.path, text.text->width, text.text->context_length, text.text->n_deepstack},
        {vision.path, vision.vision->output_width, vision.vision->grid.height * vision.vision->grid.width,
         vision.vision->n_branches});
}

}  // namespace clasp
