#include <algorithm>

#include "base/text.h"
#include "convert/text_plan.h"

namespace clasp::convert {

// Defaults are those of Hugging Face's classes, whose configs leave out what equals them; classes without any
// are always written whole.
std::vector<TextDecoder> text_decoders() {
    constexpr TextDefaults kLlama = {.width = 4096,
                                     .ffn_width = 11008,
                                     .n_layers = 32,
                                     .n_heads = 32,
                                     .context_length = 2048,
                                     .norm_epsilon = 1e-6,
                                     .rope_base = 10000.0};
    constexpr TextDefaults kMistral = {.width = 4096,
                                       .ffn_width = 14336,
                                       .n_layers = 32,
                                       .n_heads = 32,
                                       .n_kv_heads = 8,
                                       .context_length = 131072,
                                       .norm_epsilon = 1e-6,
                                       .rope_base = 10000.0};
    constexpr TextDefaults kRopeAlone = {.rope_base = 10000.0};
    return {
        {"LlamaForCausalLM", "llama", "llama", kLlama, plan_llama},
        {"MistralForCausalLM", "mistral", "llama", kMistral, plan_llama},
        {"Qwen2ForCausalLM", "qwen2", "qwen2", kRopeAlone, plan_llama},
        {"InternLM2ForCausalLM", "internlm2", "internlm2", kRopeAlone, plan_internlm2},
        {"Phi3ForCausalLM", "phi3", "phi3", kRopeAlone, plan_phi3},
    };
}

Result<TextDecoder> find_text_decoder(const std::string& class_name, const std::string& model_type) {
    std::string names;
    for (const TextDecoder& decoder : text_decoders()) {
        if (!class_name.empty() ? decoder.class_name == class_name : decoder.model_type == model_type) {
            return decoder;
        }
        names += (names.empty() ? "" : ", ") + std::string(decoder.class_name);
    }
    return Status(Code::Unsupported, "the decoder is of the class " +
                                         base::in_quotes(class_name.empty() ? model_type : class_name) +
                                         "; those that can be converted are " + names);
}

std::vector<std::uint64_t> heads_in_order(std::uint64_t n_heads, std::uint64_t head_width) {
    std::vector<std::uint64_t> heads;
    for (std::uint64_t i = 0; i < n_heads; ++i) heads.push_back(i * head_width);
    return heads;
}

std::vector<std::uint32_t> neighbour_rows(const std::vector<std::uint64_t>& heads, std::uint64_t head_width) {
    std::vector<std::uint32_t> rows;
    rows.reserve(heads.size() * static_cast<std::size_t>(head_width));
    for (const std::uint64_t head : heads) {
        for (std::uint64_t i = 0; i < head_width / 2; ++i) {
            rows.push_back(static_cast<std::uint32_t>(head + i));
            rows.push_back(static_cast<std::uint32_t>(head + head_width / 2 + i));
        }
    }
    return rows;
}

}  // namespace clasp::convert
