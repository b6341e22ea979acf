// What sets one decoder architecture apart from another, as data. Every decoder here is a stack of blocks
// with RMS norms, rotary positions, grouped heads and a gated feed-forward part; the rest is a row of the
// table in text_family.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace clasp::model {

enum class RopeKind : std::uint8_t {
    Normal,  // neighbouring entries of a head turn together
    Neox,    // entry i turns with entry i + half
    Mrope,   // as Neox, with frequencies divided among planes of positions by sections
    Imrope,  // the same, with planes taking turns
};

enum class Presence : std::uint8_t { Absent, Optional, Required };

enum class GateActivation : std::uint8_t { Silu, GeluTanh };

struct TextFamily {
    std::string_view architecture;  // general.architecture
    RopeKind rope = RopeKind::Normal;
    // May rotate fewer entries of a head than it has; the others stay as they are.
    bool rotates_part = false;
    Presence rope_factors = Presence::Absent;       // rope_freqs.weight
    Presence long_rope_factors = Presence::Absent;  // rope_factors_long.weight and rope_factors_short.weight

    Presence qkv_bias = Presence::Absent;
    Presence other_biases = Presence::Absent;  // attention output, gate, up, down
    Presence head = Presence::Optional;        // output.weight; without it the embedding is the head
    Presence head_bias = Presence::Absent;
    bool has_qk_norms = false;    // per head, before the rotation
    bool has_post_norms = false;  // of what attention and feed-forward add, before it is added
    bool has_fused_ffn = false;   // ffn_up.weight is gate and up, one after the other
    GateActivation activation = GateActivation::Silu;

    // Rows of text tokens are multiplied by the root of the width; visual rows enter as they are.
    bool scales_text = false;
    // Rows of pictures get more of their picture after the first blocks (n_deepstack_layers).
    bool has_deepstack = false;
    // Tokens of one picture see each other, not only what stands before them.
    bool images_see_both_ways = false;

    // attention.sliding_window: a query sees so many positions, itself included. Absent: not read.
    Presence window = Presence::Absent;
    // Without attention.sliding_window_pattern, every n-th layer has no window.
    std::int32_t window_pattern = 0;
    bool has_window_rope = false;  // layers with a window have a rotation base of their own

    Presence attention_cap = Presence::Absent;  // attn_logit_softcapping
    Presence final_cap = Presence::Absent;      // final_logit_softcapping
    // The depth at which attention is scaled by the width per head instead of the heads' own width; 0: none.
    std::int32_t width_scale_depth = 0;

    // By libllama's name, for files that bring no chat template it knows; empty: that of LLaVA-1.5.
    std::string_view chat_template = {};

    [[nodiscard]] bool has_planes() const { return rope == RopeKind::Mrope || rope == RopeKind::Imrope; }
};

std::span<const TextFamily> text_families();

// Null when the architecture is not known.
const TextFamily* find_text_family(std::string_view architecture);

// The names of all known architectures, comma separated, for messages.
std::string text_family_names();

}  // namespace clasp::model
