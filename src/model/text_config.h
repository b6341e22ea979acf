// The numbers that shape a text model, read from the metadata of its GGUF file and checked before
// anything is built from them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "clasp/status.h"
#include "model/gguf_reader.h"

namespace clasp::model {

// Constants of the rotary position embedding, in the form that ggml_rope_ext takes.
struct RopeConfig {
    std::int32_t mode = 0;    // a GGML_ROPE_TYPE_ value; the architecture implies it
    std::int32_t n_dims = 0;  // rotated entries of a head
    std::int32_t original_context = 0;
    float freq_base = 10000.0F;
    float freq_scale = 1.0F;
    float extrapolation = 0.0F;  // 1 for YaRN, else 0
    float attention_factor = 1.0F;
    float beta_fast = 32.0F;
    float beta_slow = 1.0F;
};

struct TextConfig {
    std::string architecture;
    std::string name;  // general.name, may be empty
    std::int32_t n_layers = 0;
    std::int32_t width = 0;
    std::int32_t n_heads = 0;
    std::int32_t n_kv_heads = 0;  // divides n_heads
    std::int32_t head_width = 0;
    std::int32_t ffn_width = 0;
    std::int32_t vocabulary = 0;
    std::int32_t context_length = 0;  // what the model was trained for
    float norm_epsilon = 0.0F;
    float attention_scale = 0.0F;
    RopeConfig rope;

    [[nodiscard]] std::int32_t query_width() const { return n_heads * head_width; }
    [[nodiscard]] std::int32_t kv_width() const { return n_kv_heads * head_width; }
};

// What sets one architecture of the llama shape (RMS norm, rotary positions, gated SiLU) apart from
// another. A new one is a line in the table of text_config.cpp.
struct TextFamily {
    std::string_view architecture;  // general.architecture
    std::int32_t rope_mode;
    bool needs_qkv_bias;
};

// Null when the architecture is not known.
const TextFamily* find_text_family(std::string_view architecture);

// The names of all known architectures, comma separated, for messages.
std::string text_family_names();

// Reads and checks the metadata of a text model. The vocabulary is that of tokenizer.ggml.tokens.
Result<TextConfig> read_text_config(const GgufReader& file);

// Checks what libllama takes on trust when it loads a vocabulary: array types and lengths, unique
// tokens, special ids inside the vocabulary.
Status check_vocabulary(const GgufReader& file);

// Checks that every tensor the graphs of this architecture read is there in its shape, and that the
// file holds no tensor that they would leave unread.
Status check_text_tensors(const GgufReader& file, const TextConfig& config);

}  // namespace clasp::model
