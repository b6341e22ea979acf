#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ggml.h"
#include "model/gguf_metadata.h"
#include "model/text_config.h"

namespace clasp::model {
namespace {

struct Expected {
    std::int64_t rows;  // ne[0]
    std::int64_t columns;
    bool required;
};

constexpr std::size_t kMaxStrings = 1 << 24;

using Table = std::unordered_map<std::string, Expected>;

void expect_block(Table& table, const TextConfig& c, const std::string& prefix, bool needs_qkv_bias,
                  bool has_fused_qkv) {
    const std::int64_t queries = c.query_width();
    const std::int64_t keys = c.kv_width();
    table[prefix + "attn_norm.weight"] = {c.width, 1, true};
    table[prefix + "ffn_norm.weight"] = {c.width, 1, true};
    if (has_fused_qkv) {
        table[prefix + "attn_qkv.weight"] = {c.width, queries + 2 * keys, true};
        table[prefix + "attn_qkv.bias"] = {queries + 2 * keys, 1, needs_qkv_bias};
    } else {
        table[prefix + "attn_q.weight"] = {c.width, queries, true};
        table[prefix + "attn_k.weight"] = {c.width, keys, true};
        table[prefix + "attn_v.weight"] = {c.width, keys, true};
        table[prefix + "attn_q.bias"] = {queries, 1, needs_qkv_bias};
        table[prefix + "attn_k.bias"] = {keys, 1, needs_qkv_bias};
        table[prefix + "attn_v.bias"] = {keys, 1, needs_qkv_bias};
    }
    table[prefix + "attn_output.weight"] = {queries, c.width, true};
    table[prefix + "attn_output.bias"] = {c.width, 1, false};
    table[prefix + "ffn_gate.weight"] = {c.width, c.ffn_width, true};
    table[prefix + "ffn_gate.bias"] = {c.ffn_width, 1, false};
    table[prefix + "ffn_up.weight"] = {c.width, c.ffn_width, true};
    table[prefix + "ffn_up.bias"] = {c.ffn_width, 1, false};
    table[prefix + "ffn_down.weight"] = {c.ffn_width, c.width, true};
    table[prefix + "ffn_down.bias"] = {c.width, 1, false};
}

bool is_unread_by_all(std::string_view name) {
    return name.ends_with("rotary_emb.inv_freq") || name.ends_with("attn_rot_embd.weight");
}

Status check_special_ids(const GgufReader& file, std::int64_t vocabulary) {
    for (const char* name :
         {"bos", "eos", "eot", "eom", "unknown", "seperator", "padding", "mask", "fim_pre", "fim_suf",
          "fim_mid", "fim_pad", "fim_rep", "fim_sep", "prefix", "suffix", "middle"}) {
        const std::string key = std::string("tokenizer.ggml.") + name + "_token_id";
        // Some converters write the largest number for "none".
        CLASP_ASSIGN_OR_RETURN(const std::int64_t id,
                               value_or(read_integer(file, key, -1, UINT32_MAX), std::int64_t{-1}));
        if (id >= vocabulary && id != UINT32_MAX) {
            return {Code::Corrupt, "the metadata key " + key + " is " + std::to_string(id) +
                                       ", but the vocabulary has " + std::to_string(vocabulary) + " tokens"};
        }
    }
    return ok_status();
}

// libllama sees a token up to its first zero byte and gives empty ones a name.
Status check_unique_tokens(const std::vector<std::string_view>& tokens) {
    std::unordered_set<std::string> seen;
    seen.reserve(tokens.size());
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        std::string token(tokens[i].substr(0, tokens[i].find('\0')));
        if (token.empty()) token = "[EMPTY_" + std::to_string(i) + "]";
        if (!seen.insert(std::move(token)).second) {
            return {Code::Corrupt, "token " + std::to_string(i) + " of the vocabulary appears twice"};
        }
    }
    return ok_status();
}

Status check_parallel_array(const GgufReader& file, std::string_view key, GgufType type, std::size_t n) {
    const GgufEntry* entry = file.find(key);
    if (entry == nullptr) return ok_status();
    if (!entry->is_array || entry->element != type || entry->count != n) {
        return {Code::Corrupt, "the metadata key " + std::string(key) + " is not an array of " +
                                   std::to_string(n) + " " + std::string(gguf_type_name(type))};
    }
    return ok_status();
}

}  // namespace

Status check_vocabulary(const GgufReader& file) {
    CLASP_ASSIGN_OR_RETURN(const std::string_view kind, read_string(file, "tokenizer.ggml.model"));
    if (kind != "llama" && kind != "gpt2") {
        return {Code::Unsupported,
                "the tokenizer is of kind \"" + std::string(kind) + "\"; llama and gpt2 are supported"};
    }
    CLASP_ASSIGN_OR_RETURN(const auto tokens, read_strings(file, "tokenizer.ggml.tokens", kMaxStrings));
    CLASP_RETURN_IF_ERROR(check_unique_tokens(tokens));
    CLASP_RETURN_IF_ERROR(check_parallel_array(file, "tokenizer.ggml.scores", GgufType::F32, tokens.size()));
    CLASP_RETURN_IF_ERROR(
        check_parallel_array(file, "tokenizer.ggml.token_type", GgufType::I32, tokens.size()));
    if (kind == "gpt2") {
        const auto merges = read_strings(file, "tokenizer.ggml.merges", kMaxStrings);
        if (!merges.ok()) return merges.status();
    }
    return check_special_ids(file, static_cast<std::int64_t>(tokens.size()));
}

Status check_text_tensors(const GgufReader& file, const TextConfig& config) {
    const TextFamily* family = find_text_family(config.architecture);
    Table table;
    table["token_embd.weight"] = {config.width, config.vocabulary, true};
    table["output_norm.weight"] = {config.width, 1, true};
    table["output.weight"] = {config.width, config.vocabulary, false};
    table["output.bias"] = {config.vocabulary, 1, false};
    table["rope_freqs.weight"] = {config.rope.n_dims / 2, 1, false};
    for (std::int32_t i = 0; i < config.n_layers; ++i) {
        const std::string prefix = "blk." + std::to_string(i) + ".";
        const bool is_fused = file.find_tensor(prefix + "attn_qkv.weight") != nullptr;
        expect_block(table, config, prefix, family->needs_qkv_bias, is_fused);
    }

    std::unordered_set<std::string_view> present;
    for (const GgufTensor& tensor : file.tensors()) {
        const std::string name(tensor.name);
        if (is_unread_by_all(name)) continue;
        const auto entry = table.find(name);
        if (entry == table.end()) {
            return {Code::Unsupported, "the text model has a tensor " + name + ", which is not supported"};
        }
        const auto& shape = tensor.shape;
        const Expected& want = entry->second;
        if (shape[0] != want.rows || shape[1] != want.columns || shape[2] != 1 || shape[3] != 1) {
            return {Code::Corrupt, "the tensor " + name + " is " + std::to_string(shape[0]) + " by " +
                                       std::to_string(shape[1]) + ", not " + std::to_string(want.rows) +
                                       " by " + std::to_string(want.columns)};
        }
        if (want.columns == 1 && tensor.type != GGML_TYPE_F32) {
            return {Code::Unsupported,
                    "the tensor " + name + " is of type " + ggml_type_name(tensor.type) + ", not f32"};
        }
        present.insert(entry->first);
    }
    for (const auto& [name, want] : table) {
        if (want.required && !present.contains(name)) {
            return {Code::Corrupt, "the text model has no tensor " + name};
        }
    }
    return ok_status();
}

}  // namespace clasp::model
