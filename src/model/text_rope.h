// The rotary positions of a text model: its constants, read from the metadata of its file.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "clasp/status.h"
#include "model/gguf_reader.h"
#include "model/text_family.h"

namespace clasp::model {

// Constants of the rotation, in the form that ggml_rope_ext and ggml_rope_multi take.
struct RopeConfig {
    RopeKind kind = RopeKind::Normal;
    std::int32_t n_dims = 0;  // rotated entries of a head
    // Frequencies that each plane of positions turns; they sum to n_dims / 2. All 0 without planes.
    std::array<std::int32_t, 4> sections = {};
    std::int32_t original_context = 0;
    float freq_base = 10000.0F;
    float freq_scale = 1.0F;
    float extrapolation = 0.0F;  // 1 for YaRN, else 0
    float attention_factor = 1.0F;
    float beta_fast = 32.0F;
    float beta_slow = 1.0F;

    // A GGML_ROPE_TYPE_ value.
    [[nodiscard]] std::int32_t mode() const;
    // Numbers that say where a token stands.
    [[nodiscard]] std::size_t n_planes() const {
        return kind == RopeKind::Mrope || kind == RopeKind::Imrope ? 4 : 1;
    }
};

Result<RopeConfig> read_rope(const GgufReader& file, const TextFamily& family, std::int32_t head_width,
                             std::int32_t context_length);

// The rotation of layers that see a window only, given that of the others.
Result<RopeConfig> read_window_rope(const GgufReader& file, const TextFamily& family, const RopeConfig& rope);

}  // namespace clasp::model
