#include "model/text_family.h"

#include <array>

namespace clasp::model {
namespace {

constexpr Presence kOptional = Presence::Optional;
constexpr Presence kRequired = Presence::Required;

// What a row does not name is as in text_family.h.
constexpr std::array kFamilies = {
    TextFamily{.architecture = "llama",
               .rope_factors = kOptional,
               .qkv_bias = kOptional,
               .other_biases = kOptional,
               .head_bias = kOptional},
    TextFamily{.architecture = "qwen2",
               .rope = RopeKind::Neox,
               .qkv_bias = kRequired,
               .head_bias = kOptional,
               .chat_template = "chatml"},
    TextFamily{
        .architecture = "qwen2vl", .rope = RopeKind::Mrope, .qkv_bias = kRequired, .chat_template = "chatml"},
    TextFamily{
        .architecture = "qwen3", .rope = RopeKind::Neox, .has_qk_norms = true, .chat_template = "chatml"},
    TextFamily{.architecture = "qwen3vl",
               .rope = RopeKind::Imrope,
               .has_qk_norms = true,
               .has_deepstack = true,
               .chat_template = "chatml"},
    TextFamily{.architecture = "internlm2", .head = kRequired, .chat_template = "chatml"},
    TextFamily{.architecture = "phi3",
               .rope = RopeKind::Neox,
               .rotates_part = true,
               .long_rope_factors = kOptional,
               .has_fused_ffn = true,
               .chat_template = "phi3"},
    TextFamily{.architecture = "gemma2",
               .rope = RopeKind::Neox,
               .head = Presence::Absent,
               .has_post_norms = true,
               .activation = GateActivation::GeluTanh,
               .scales_text = true,
               .window = kRequired,
               .window_pattern = 2,
               .attention_cap = kRequired,
               .final_cap = kRequired,
               .width_scale_depth = 46,
               .chat_template = "gemma"},
    TextFamily{.architecture = "gemma3",
               .rope = RopeKind::Neox,
               .has_qk_norms = true,
               .has_post_norms = true,
               .activation = GateActivation::GeluTanh,
               .scales_text = true,
               .images_see_both_ways = true,
               .window = kOptional,
               .window_pattern = 6,
               .has_window_rope = true,
               .final_cap = kOptional,
               .width_scale_depth = 62,
               .chat_template = "gemma"},
};

}  // namespace

std::span<const TextFamily> text_families() {
    return kFamilies;
}

const TextFamily* find_text_family(std::string_view architecture) {
    for (const TextFamily& family : kFamilies) {
        if (family.architecture == architecture) return &family;
    }
    return nullptr;
}

std::string text_family_names() {
    std::string names;
    for (const TextFamily& family : kFamilies) {
        if (!names.empty()) names += ", ";
        names += family.architecture;
    }
    return names;
}

}  // namespace clasp::model
