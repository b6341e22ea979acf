// From the tensors and the config of a decoder to a text file. A decoder is a row of the table in
// text_decoders.cpp and a file with its plan.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "convert/model_config.h"
#include "convert/tensor_pool.h"

namespace clasp::convert {

// Where the decoder is in the checkpoint.
struct TextSource {
    ModelConfig config;  // with hidden_size, num_hidden_layers and so on
    std::string body;    // before "layers.0. ...": "model."
    std::string head;    // the output matrix: "lm_head.weight"
};

// What all decoders have in common, read from the config and checked with the tensors.
struct TextShape {
    std::uint64_t width = 0;
    std::uint64_t n_rows = 0;  // of the embeddings
    std::uint64_t ffn_width = 0;
    std::uint64_t n_layers = 0;
    std::uint64_t n_heads = 0;
    std::uint64_t n_kv_heads = 0;
    std::uint64_t head_width = 0;
    std::uint64_t context_length = 0;

    [[nodiscard]] std::uint64_t query_width() const { return n_heads * head_width; }
    [[nodiscard]] std::uint64_t kv_width() const { return n_kv_heads * head_width; }
};

// The numbers that a config may leave to the class that reads it; 0: it may not.
struct TextDefaults {
    std::uint64_t width = 0;
    std::uint64_t ffn_width = 0;
    std::uint64_t n_layers = 0;
    std::uint64_t n_heads = 0;
    std::uint64_t n_kv_heads = 0;  // 0: as many as heads
    std::uint64_t context_length = 0;
    double norm_epsilon = 0.0;
    double rope_base = 0.0;
};

struct TextDecoder {
    std::string_view class_name;    // "LlamaForCausalLM"
    std::string_view model_type;    // "llama"
    std::string_view architecture;  // of GGUF
    TextDefaults defaults;
    Status (*plan)(const TextSource& source, const TextDecoder& decoder, TensorPool& pool,
                   ConversionPlan& plan);
};

std::vector<TextDecoder> text_decoders();
// By the class, else by the type. Error: unsupported, with the classes that can be converted.
Result<TextDecoder> find_text_decoder(const std::string& class_name, const std::string& model_type);

Status plan_llama(const TextSource& source, const TextDecoder& decoder, TensorPool& pool,
                  ConversionPlan& plan);
Status plan_internlm2(const TextSource& source, const TextDecoder& decoder, TensorPool& pool,
                      ConversionPlan& plan);
Status plan_phi3(const TextSource& source, const TextDecoder& decoder, TensorPool& pool,
                 ConversionPlan& plan);

// Shared by the plans.
// The shape, from the config and the table of embeddings (this name behind the body's), and the tensors at
// both ends: the table, the last norm, and the output matrix, which small models share with the table.
Result<TextShape> plan_text_start(const TextSource& source, const TextDecoder& decoder,
                                  const std::string& table, TensorPool& pool, ConversionPlan& plan);
// A tensor of a block that goes into the file as it is. Vectors are values, all else is a matrix.
struct TextRow {
    const char* name;    // in the checkpoint
    const char* stored;  // in the file
    std::vector<std::uint64_t> shape;
};
Status plan_text_rows(const std::string& from, const std::string& to, std::span<const TextRow> rows,
                      TensorPool& pool, ConversionPlan& plan);
// All keys but those of the tokenizer; `n_rotated` entries of a head turn with the position.
Status set_text_keys(const ModelConfig& config, const TextDecoder& decoder, const TextShape& shape,
                     std::uint64_t n_rotated, ConversionPlan& plan);

// Rows of queries or keys in the order in which arch llama turns neighbours: in every head row 2i + j comes
// from row j * width / 2 + i. `heads` are the first rows of the heads in the source.
std::vector<std::uint32_t> neighbour_rows(const std::vector<std::uint64_t>& heads, std::uint64_t head_width);
// First rows of heads that follow each other.
std::vector<std::uint64_t> heads_in_order(std::uint64_t n_heads, std::uint64_t head_width);

}  // namespace clasp::convert
