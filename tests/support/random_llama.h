// Writes text models with random weights and a real vocabulary, as GGUF files of any architecture that the
// engine runs. A new architecture is one entry in random_architectures().
// Rows are written as they are made, so a file of any size needs little memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ggml.h"

namespace clasp::test {

struct RandomLlama {
    std::string architecture = "llama";
    std::string name = "random";
    bool has_qk_norms = false;
    bool has_post_norms = false;
    bool has_fused_ffn = false;
    std::int32_t n_layers = 4;
    std::int32_t width = 64;
    std::int32_t n_heads = 4;
    std::int32_t n_kv_heads = 2;
    std::int32_t head_width = 0;  // 0 for width / n_heads
    std::int32_t n_rotated = 0;   // entries of a head; 0 for all
    std::int32_t ffn_width = 128;
    std::int32_t context_length = 2048;
    ggml_type type = GGML_TYPE_F32;  // of matrices; norms, biases and rotation factors are F32
    // Head, values and the last product of some blocks in Q6_K, as the files that people call Q4_K_M have
    // them.
    bool has_q6_parts = false;
    // Rows are made once and written again and again: for measurements of speed, where large files of some
    // types would take many minutes otherwise.
    bool repeats_rows = false;
    std::uint64_t seed = 1;
    bool has_own_head = true;  // else the head is the embedding
    bool has_fused_qkv = false;
    bool has_qkv_biases = false;
    bool has_biases = false;  // all that llama may have
    bool has_rope_factors = false;
    float rope_factor = 4.0F;  // mean of those factors; a huge one switches rotation off
    bool has_yarn = false;
    std::vector<std::int32_t> rope_sections = {};
    // With factors for texts up to this length and for longer ones; 0 without.
    std::int32_t long_rope_from = 0;
    std::int32_t n_deepstack = 0;
    std::int32_t window = 0;
    std::int32_t window_pattern = 0;  // 0 leaves it to the architecture
    float attention_cap = 0.0F;
    float final_cap = 0.0F;
    float norm_epsilon = 1e-5F;
    std::string chat_template = {};                // none when empty
    std::vector<std::string> control_tokens = {};  // added to the vocabulary
    std::vector<std::string> word_tokens = {};     // the same, as ordinary tokens
    bool adds_space = true;  // before a text, as that of llama does and that of gemma not
    // File whose tokenizer keys are copied; empty for a vocabulary of 3 + 256 + 26 made-up tokens.
    std::string vocabulary_file = {};
};

// False when the file cannot be written or the vocabulary cannot be read.
bool write_random_llama(const std::string& path, const RandomLlama& spec);

// One small model of each architecture of text_family.h, in the shapes of its files: windows, caps, sections,
// long factors and odd head widths included.
std::vector<RandomLlama> random_architectures();

// Aborts the test program when the architecture has no entry.
RandomLlama random_architecture(const std::string& name);

// The same model with rows that every quantised type can have.
RandomLlama widened(RandomLlama spec, ggml_type type);

}  // namespace clasp::test
