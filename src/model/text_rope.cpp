#include "model/text_rope.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>
#include <vector>

#include "ggml.h"
#include "model/gguf_metadata.h"

namespace clasp::model {
namespace {

constexpr std::int64_t kMaxRopeContext = 1 << 28;
constexpr float kHuge = std::numeric_limits<float>::max();

Result<float> float_or(const GgufReader& file, const std::string& key, float min, float max, float fallback) {
    return value_or(read_float(file, key, min, max), fallback);
}

// The rule by which YaRN corrects the size of the attention logits: ggml_rope_ext multiplies by
// 1 + 0.1 ln(1 / freq_scale) itself, so the factor is divided by that beforehand.
float yarn_attention_factor(float scaling) {
    const float grown = 1.0F + 0.1F * std::log(scaling);
    return (scaling <= 1.0F ? 1.0F : grown) / grown;
}

Result<std::int32_t> read_dimensions(const GgufReader& file, const TextFamily& family,
                                     const std::string& arch, std::int32_t head_width) {
    const std::string key = arch + ".rope.dimension_count";
    CLASP_ASSIGN_OR_RETURN(const std::int64_t n_dims,
                           value_or(read_integer(file, key, 2, 1 << 20), std::int64_t{head_width}));
    const bool fits = family.rotates_part ? n_dims <= head_width && n_dims % 2 == 0 : n_dims == head_width;
    if (!fits) {
        return Status(Code::Unsupported, key + " is " + std::to_string(n_dims) + ", but heads are " +
                                             std::to_string(head_width) + " wide");
    }
    return static_cast<std::int32_t>(n_dims);
}

Status read_sections(const GgufReader& file, const TextFamily& family, const std::string& arch,
                     RopeConfig& rope) {
    const std::string key = arch + ".rope.dimension_sections";
    if (!family.has_planes()) {
        if (file.find(key) == nullptr) return ok_status();
        return {Code::Unsupported, "the text model sets " + key + ", which is not supported"};
    }
    CLASP_ASSIGN_OR_RETURN(const std::vector<std::int64_t> sections,
                           read_integers(file, key, rope.sections.size(), 0, rope.n_dims));
    const std::int64_t sum = std::accumulate(sections.begin(), sections.end(), std::int64_t{0});
    if (sections.size() != rope.sections.size() || sum != rope.n_dims / 2) {
        return {Code::Corrupt, key + " has " + std::to_string(sections.size()) + " entries that sum to " +
                                   std::to_string(sum) + ", not 4 that sum to the " +
                                   std::to_string(rope.n_dims / 2) + " frequencies of a head"};
    }
    if (sections.back() != 0) {
        return {Code::Unsupported, key + " gives " + std::to_string(sections.back()) +
                                       " frequencies to a fourth plane, which is not supported"};
    }
    for (std::size_t i = 0; i < sections.size(); ++i)
        rope.sections[i] = static_cast<std::int32_t>(sections[i]);
    return ok_status();
}

Status read_scaling(const GgufReader& file, const TextFamily& family, const std::string& arch,
                    RopeConfig& rope) {
    const std::string key = arch + ".rope.scaling.";
    CLASP_ASSIGN_OR_RETURN(const std::string_view scaling,
                           value_or(read_string(file, key + "type"), std::string_view("linear")));
    // Long rope is in its tensors of factors; the type only names it.
    const bool is_long = scaling == "longrope" && family.long_rope_factors != Presence::Absent;
    if (scaling != "none" && scaling != "linear" && scaling != "yarn" && !is_long) {
        return {Code::Unsupported, key + "type is \"" + std::string(scaling) +
                                       "\"; none, linear and yarn are known, and longrope for phi3"};
    }
    CLASP_ASSIGN_OR_RETURN(const float old_factor,
                           float_or(file, arch + ".rope.scale_linear", 0.0F, 1e6F, 0.0F));
    CLASP_ASSIGN_OR_RETURN(const float factor, float_or(file, key + "factor", 0.0F, 1e6F, old_factor));
    if (scaling != "none" && factor != 0.0F) rope.freq_scale = 1.0F / factor;

    CLASP_ASSIGN_OR_RETURN(rope.extrapolation, float_or(file, key + "yarn_ext_factor", -1.0F, kHuge, -1.0F));
    if (rope.extrapolation < 0.0F) rope.extrapolation = scaling == "yarn" ? 1.0F : 0.0F;
    CLASP_ASSIGN_OR_RETURN(rope.attention_factor,
                           float_or(file, key + "yarn_attn_factor", 0.0F, kHuge, 1.0F));
    CLASP_ASSIGN_OR_RETURN(rope.beta_fast, float_or(file, key + "yarn_beta_fast", 0.0F, kHuge, 32.0F));
    CLASP_ASSIGN_OR_RETURN(rope.beta_slow, float_or(file, key + "yarn_beta_slow", 0.0F, kHuge, 1.0F));
    CLASP_ASSIGN_OR_RETURN(const float extra_factor, float_or(file, key + "attn_factor", 0.0F, kHuge, 1.0F));
    if (file.find(key + "yarn_log_multiplier") != nullptr) {
        return {Code::Unsupported, key + "yarn_log_multiplier is not supported"};
    }
    if (rope.extrapolation != 0.0F) rope.attention_factor = yarn_attention_factor(1.0F / rope.freq_scale);
    rope.attention_factor *= extra_factor;
    return ok_status();
}

}  // namespace

std::int32_t RopeConfig::mode() const {
    switch (kind) {
        case RopeKind::Normal: break;
        case RopeKind::Neox: return GGML_ROPE_TYPE_NEOX;
        case RopeKind::Mrope: return GGML_ROPE_TYPE_MROPE;
        case RopeKind::Imrope: return GGML_ROPE_TYPE_IMROPE;
    }
    return GGML_ROPE_TYPE_NORMAL;
}

Result<RopeConfig> read_rope(const GgufReader& file, const TextFamily& family, std::int32_t head_width,
                             std::int32_t context_length) {
    const std::string arch(family.architecture);
    RopeConfig rope;
    rope.kind = family.rope;
    CLASP_ASSIGN_OR_RETURN(rope.n_dims, read_dimensions(file, family, arch, head_width));
    CLASP_RETURN_IF_ERROR(read_sections(file, family, arch, rope));
    CLASP_ASSIGN_OR_RETURN(
        const std::int64_t original,
        value_or(read_integer(file, arch + ".rope.scaling.original_context_length", 1, kMaxRopeContext),
                 std::int64_t{context_length}));
    rope.original_context = static_cast<std::int32_t>(original);
    CLASP_ASSIGN_OR_RETURN(rope.freq_base, float_or(file, arch + ".rope.freq_base", 1.0F, kHuge, 10000.0F));
    CLASP_RETURN_IF_ERROR(read_scaling(file, family, arch, rope));
    return rope;
}

Result<RopeConfig> read_window_rope(const GgufReader& file, const TextFamily& family,
                                    const RopeConfig& rope) {
    const std::string key = std::string(family.architecture) + ".rope.freq_base_swa";
    RopeConfig window = rope;
    if (!family.has_window_rope) {
        if (file.find(key) == nullptr) return window;
        return Status(Code::Unsupported, "the text model sets " + key + ", which is not supported");
    }
    CLASP_ASSIGN_OR_RETURN(window.freq_base, float_or(file, key, 1.0F, kHuge, 10000.0F));
    window.freq_scale = 1.0F;
    return window;
}

}  // namespace clasp::model
