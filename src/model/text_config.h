// The numbers that shape a text model, read from the metadata of its GGUF file and checked before
// anything is built from them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "clasp/status.h"
#include "model/gguf_reader.h"
#include "model/text_family.h"
#include "model/text_rope.h"

namespace clasp::model {

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
    float attention_cap = 0.0F;    // c: logits x become c tanh(x / c); 0 for none
    float final_cap = 0.0F;        // the same for the logits of the vocabulary
    float embedding_scale = 1.0F;  // of rows looked up for text tokens; visual rows enter as they are
    RopeConfig rope;               // of layers without a window
    RopeConfig window_rope;        // of layers with one
    // Rows of pictures bring as many rows more; the k-th is added to the output of block k.
    std::int32_t n_deepstack = 0;
    // Per layer: positions that a query sees, itself included; 0 for all.
    std::vector<std::int32_t> windows;
    const TextFamily* family = nullptr;  // of the table, never null once read

    [[nodiscard]] std::int32_t query_width() const { return n_heads * head_width; }
    [[nodiscard]] std::int32_t kv_width() const { return n_kv_heads * head_width; }
    [[nodiscard]] std::int32_t window_of(std::size_t layer) const { return windows[layer]; }
    [[nodiscard]] const RopeConfig& rope_of(std::size_t layer) const {
        return windows[layer] == 0 ? rope : window_rope;
    }
};

// Unsupported when the file is one of several parts of a model.
Status refuse_parts(const GgufReader& file);

// Reads and checks the metadata of a text model. The vocabulary is that of tokenizer.ggml.tokens.
Result<TextConfig> read_text_config(const GgufReader& file);

// Checks what libllama takes on trust when it loads a vocabulary: array types and lengths, unique
// tokens, special ids inside the vocabulary.
Status check_vocabulary(const GgufReader& file);

// Checks that every tensor the graphs of this architecture read is there in its shape, and that the
// file holds no tensor that they would leave unread.
Status check_text_tensors(const GgufReader& file, const TextConfig& config);

}  // namespace clasp::model
