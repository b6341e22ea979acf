#include "model/vision_videollava_file.h"

#include <set>
#include <string>
#include <string_view>

#include "base/text.h"
#include "model/gguf_metadata.h"
#include "model/vision_clip_file.h"

namespace clasp::model {

namespace {

constexpr std::int64_t kMinFrames = 2;
constexpr std::int64_t kMaxFrames = 64;
constexpr const char* kFrameCount = "clip.video.frame_count";
constexpr const char* kBlockCount = "clip.video.block_count";
constexpr const char* kTemporal = "clip.video.temporal_attention";
constexpr const char* kFirstTimes = "vv.blk.0.t_embd";

// The authors see the first frame, the last and those between; the port the beginnings of equal parts.
video::SampleRule sampling_of(const VideoLlavaFile& file) {
    video::SampleRule rule;
    rule.places = file.source == VideoLlavaFile::Source::Authors ? video::SampleRule::Places::Floor
                                                                 : video::SampleRule::Places::Starts;
    rule.n_frames = file.n_frames;
    rule.repeats = true;
    rule.is_fixed = file.has_temporal_part;
    return rule;
}

// One of two words.
Result<bool> read_word(const GgufReader& reader, const std::string& key, std::string_view first,
                       std::string_view second) {
    CLASP_ASSIGN_OR_RETURN(const std::string_view word, read_string(reader, key));
    if (word == first) return true;
    if (word == second) return false;
    return Status(Code::Unsupported, key + " is " + base::in_quotes(base::printable(word)) + "; known are " +
                                         std::string(first) + " and " + std::string(second));
}

Status read_temporal_part(const GgufReader& reader, VideoLlavaFile& file) {
    const GgufTensor* times = reader.find_tensor(kFirstTimes);
    CLASP_ASSIGN_OR_RETURN(file.has_temporal_part, value_or(read_flag(reader, kTemporal), times != nullptr));
    if (file.has_temporal_part && times == nullptr) {
        return {Code::Corrupt, std::string(kTemporal) + " is set, but tensor " + kFirstTimes + " is missing"};
    }
    if (!file.has_temporal_part && times != nullptr) {
        return {Code::Corrupt, std::string(kTemporal) + " is not set, but there is tensor " + kFirstTimes};
    }
    const std::int64_t n_rows = times != nullptr ? times->shape[1] : 0;
    if (times != nullptr && n_rows != static_cast<std::int64_t>(file.n_frames)) {
        return {Code::Corrupt, std::string(kFrameCount) + " is " + std::to_string(file.n_frames) +
                                   ", but tensor " + kFirstTimes + " has rows for " + std::to_string(n_rows) +
                                   " frames"};
    }
    return ok_status();
}

// What must not be otherwise, and would be computed wrongly if it were.
Status check_fixed_keys(const GgufReader& reader, const VisionInfo& info) {
    CLASP_RETURN_IF_ERROR(read_flag(reader, "clip.use_gelu").status());
    CLASP_ASSIGN_OR_RETURN(const bool is_exact, value_or(read_flag(reader, "clip.gelu_exact"), true));
    if (!is_exact) {
        return {Code::Unsupported, "clip.gelu_exact is not set, but the GELU of this model is the exact one"};
    }
    if (reader.find("clip.vision.feature_layer") != nullptr) {
        return {Code::Unsupported,
                "clip.vision.feature_layer is set; this model takes the last block that is stored"};
    }
    CLASP_ASSIGN_OR_RETURN(const std::int64_t n_blocks, read_integer(reader, kBlockCount, 1, 1 << 16));
    if (static_cast<std::size_t>(n_blocks) == info.n_blocks) return ok_status();
    return {Code::Unsupported, std::string(kBlockCount) + " is " + std::to_string(n_blocks) +
                                   ", but clip.vision.block_count is " + std::to_string(info.n_blocks) +
                                   "; both towers must be equally deep"};
}

}  // namespace

Result<VideoLlavaFile> read_videollava_file(const GgufReader& reader) {
    VideoLlavaFile file;
    CLASP_ASSIGN_OR_RETURN(file.info, read_vit_info(reader));
    VisionInfo& info = file.info;
    CLASP_RETURN_IF_ERROR(check_fixed_keys(reader, info));
    CLASP_ASSIGN_OR_RETURN(const std::int64_t n_frames,
                           read_integer(reader, kFrameCount, kMinFrames, kMaxFrames));
    file.n_frames = static_cast<std::size_t>(n_frames);
    CLASP_ASSIGN_OR_RETURN(file.keeps_class_rows, read_flag(reader, "clip.video.keep_class_token"));
    CLASP_ASSIGN_OR_RETURN(const bool is_language_bind,
                           read_word(reader, "clip.video.preprocess", "languagebind", "clip"));
    CLASP_ASSIGN_OR_RETURN(const bool is_authors, read_word(reader, "videollava.source", "authors", "hf"));
    file.preprocess =
        is_language_bind ? VideoLlavaFile::Preprocess::LanguageBind : VideoLlavaFile::Preprocess::Clip;
    file.source = is_authors ? VideoLlavaFile::Source::Authors : VideoLlavaFile::Source::Port;
    CLASP_RETURN_IF_ERROR(read_temporal_part(reader, file));

    info.family = "videollava";
    info.projector_type = "videollava";
    info.profile = "llava";
    info.capabilities = {.has_class_token = true, .merge = 1, .merges_inside = true};
    info.feature_layer = info.llama_cpp_feature_layer = info.n_blocks - 1;
    info.is_in_llama_cpp = false;
    info.sampling = sampling_of(file);
    info.words.has_vicuna_system = is_authors;
    const std::size_t n_frame_tokens = info.n_tokens() + (file.keeps_class_rows ? 1 : 0);
    info.clip = ClipInput{.n_frames = file.n_frames,
                          .n_tokens = file.n_frames * n_frame_tokens,
                          .has_class_rows = file.keeps_class_rows,
                          .has_temporal_part = file.has_temporal_part,
                          .source = is_authors ? "authors" : "hf",
                          .preprocess = is_language_bind ? "languagebind" : "clip"};
    return file;
}

Status check_videollava_tensors(const GgufReader& reader, const std::vector<WeightSpec>& specs) {
    std::set<std::string_view> known = {"v.post_ln.weight", "v.post_ln.bias", "vv.post_ln.weight",
                                        "vv.post_ln.bias"};  // behind the block that is read
    for (const WeightSpec& spec : specs) known.insert(spec.parts.begin(), spec.parts.end());
    for (const GgufTensor& tensor : reader.tensors()) {
        const bool is_ours =
            tensor.name.starts_with("v.") || tensor.name.starts_with("vv.") || tensor.name.starts_with("mm.");
        if (!is_ours || known.contains(tensor.name)) continue;
        return {Code::Unsupported, "tensor " + base::printable(tensor.name) +
                                       " is none that Video-LLaVA's towers are known to have"};
    }
    return ok_status();
}

}  // namespace clasp::model
