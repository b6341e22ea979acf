#include "model/foreign_projectors.h"

#include <algorithm>
#include <array>

namespace clasp::model {

namespace {

// A test holds them to the list of the pinned release.
constexpr std::array kForeignProjectors = {
    ForeignProjector{"adapter", "chatglm"},  // GLM-Edge
    ForeignProjector{"cogvlm", "cogvlm"},
    ForeignProjector{"deepseek4v", "deepseek4"},
    ForeignProjector{"deepseekocr", "deepseek2-ocr"},
    ForeignProjector{"deepseekocr2", "deepseek2-ocr"},
    ForeignProjector{"dots3note_a", ""},
    ForeignProjector{"dots3note_v", "dots3note"},
    ForeignProjector{"exaone4_5", "exaone4"},
    ForeignProjector{"gemma3na", ""},
    ForeignProjector{"gemma3nv", "gemma3n"},
    ForeignProjector{"gemma4a", ""},
    ForeignProjector{"gemma4ua", ""},
    ForeignProjector{"gemma4uv", "gemma4"},
    ForeignProjector{"gemma4v", "gemma4"},
    ForeignProjector{"glm4v", "glm4"},
    ForeignProjector{"glma", ""},
    ForeignProjector{"granite4_vision", "granite"},
    ForeignProjector{"granite_speech", ""},
    ForeignProjector{"hunyuanvl", "hunyuan_vl"},
    ForeignProjector{"kimik25", "deepseek2"},
    ForeignProjector{"kimivl", "deepseek2"},
    ForeignProjector{"lfm2", "lfm2"},
    ForeignProjector{"lfm2a", ""},
    ForeignProjector{"llama4", "llama4"},
    ForeignProjector{"meralion", ""},
    ForeignProjector{"mimo_audio", ""},
    ForeignProjector{"mimovl", "mimo2"},
    ForeignProjector{"minicpmv4_6", "qwen35"},
    ForeignProjector{"minimax_m3", "minimax-m3"},
    ForeignProjector{"muse-glimmer", "muse-glimmer"},
    ForeignProjector{"musicflamingo", ""},
    ForeignProjector{"nemotron_v2_vl", "nemotron_h"},
    ForeignProjector{"paddleocr", "paddleocr"},
    ForeignProjector{"parakeet", ""},
    ForeignProjector{"pockettts_gen", ""},
    ForeignProjector{"pockettts_spkenc", ""},
    ForeignProjector{"qwen2a", ""},
    ForeignProjector{"qwen3a", ""},
    ForeignProjector{"qwen3tts_gen", ""},
    ForeignProjector{"qwen3tts_spkenc", ""},
    ForeignProjector{"ultravox", ""},
    ForeignProjector{"voxtral", ""},
    ForeignProjector{"youtuvl", "deepseek2"},
};

}  // namespace

std::span<const ForeignProjector> foreign_projectors() {
    return kForeignProjectors;
}

std::string why_foreign(std::string_view projector_type) {
    const auto* const found =
        std::find_if(kForeignProjectors.begin(), kForeignProjectors.end(),
                     [&](const ForeignProjector& one) { return one.projector_type == projector_type; });
    if (found == kForeignProjectors.end()) return {};
    if (found->decoder.empty()) return "it is for sound";
    return "it goes with text models of the architecture " + std::string(found->decoder) +
           ", which has no decoder here";
}

}  // namespace clasp::model
