// Which tensors a text file must, may and must not have, by the row of its architecture.
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "model/text_config.h"
#include "model/weight_types.h"

namespace clasp::model {
namespace {

struct Expected {
    std::int64_t rows;  // ne[0]
    std::int64_t columns;
    bool required;
};

class Table {
   public:
    explicit Table(const TextConfig& config) : config_(config), family_(*config.family) {
        const std::int64_t frequencies = config.rope.n_dims / 2;
        expect("token_embd.weight", config.width, config.vocabulary);
        expect("output_norm.weight", config.width, 1);
        expect("output.weight", config.width, config.vocabulary, family_.head);
        expect("output.bias", config.vocabulary, 1, family_.head_bias);
        expect("rope_freqs.weight", frequencies, 1, family_.rope_factors);
        expect("rope_factors_long.weight", frequencies, 1, family_.long_rope_factors);
        expect("rope_factors_short.weight", frequencies, 1, family_.long_rope_factors);
    }

    void expect_block(const std::string& prefix, bool has_fused_qkv) {
        expect_attention(prefix, has_fused_qkv);
        const TextConfig& c = config_;
        expect(prefix + "ffn_norm.weight", c.width, 1);
        if (family_.has_fused_ffn) {
            expect(prefix + "ffn_up.weight", c.width, 2 * std::int64_t{c.ffn_width});
            expect(prefix + "ffn_up.bias", 2 * std::int64_t{c.ffn_width}, 1, family_.other_biases);
        } else {
            expect(prefix + "ffn_gate.weight", c.width, c.ffn_width);
            expect(prefix + "ffn_gate.bias", c.ffn_width, 1, family_.other_biases);
            expect(prefix + "ffn_up.weight", c.width, c.ffn_width);
            expect(prefix + "ffn_up.bias", c.ffn_width, 1, family_.other_biases);
        }
        expect(prefix + "ffn_down.weight", c.ffn_width, c.width);
        expect(prefix + "ffn_down.bias", c.width, 1, family_.other_biases);
        if (family_.has_post_norms) {
            expect(prefix + "post_attention_norm.weight", c.width, 1);
            expect(prefix + "post_ffw_norm.weight", c.width, 1);
        }
    }

    // Null when the architecture has no such tensor.
    [[nodiscard]] const Expected* find(const std::string& name) const {
        const auto entry = entries_.find(name);
        return entry == entries_.end() ? nullptr : &entry->second;
    }

    Status check_present(const std::unordered_set<std::string_view>& present) const {
        for (const auto& [name, want] : entries_) {
            if (want.required && !present.contains(name)) {
                return {Code::Corrupt, "the text model has no tensor " + name};
            }
        }
        const bool has_long = present.contains("rope_factors_long.weight");
        if (has_long != present.contains("rope_factors_short.weight")) {
            return {Code::Corrupt, std::string("the text model has rotation factors for ") +
                                       (has_long ? "long" : "short") + " texts alone, not for both kinds"};
        }
        return ok_status();
    }

   private:
    void expect(const std::string& name, std::int64_t rows, std::int64_t columns,
                Presence presence = Presence::Required) {
        if (presence == Presence::Absent) return;
        entries_[name] = {rows, columns, presence == Presence::Required};
    }

    void expect_attention(const std::string& prefix, bool has_fused_qkv) {
        const TextConfig& c = config_;
        const std::int64_t queries = c.query_width();
        const std::int64_t keys = c.kv_width();
        expect(prefix + "attn_norm.weight", c.width, 1);
        if (has_fused_qkv) {
            expect(prefix + "attn_qkv.weight", c.width, queries + 2 * keys);
            expect(prefix + "attn_qkv.bias", queries + 2 * keys, 1, family_.qkv_bias);
        } else {
            expect(prefix + "attn_q.weight", c.width, queries);
            expect(prefix + "attn_k.weight", c.width, keys);
            expect(prefix + "attn_v.weight", c.width, keys);
            expect(prefix + "attn_q.bias", queries, 1, family_.qkv_bias);
            expect(prefix + "attn_k.bias", keys, 1, family_.qkv_bias);
            expect(prefix + "attn_v.bias", keys, 1, family_.qkv_bias);
        }
        if (family_.has_qk_norms) {
            expect(prefix + "attn_q_norm.weight", c.head_width, 1);
            expect(prefix + "attn_k_norm.weight", c.head_width, 1);
        }
        expect(prefix + "attn_output.weight", queries, c.width);
        expect(prefix + "attn_output.bias", c.width, 1, family_.other_biases);
    }

    const TextConfig& config_;
    const TextFamily& family_;
    std::unordered_map<std::string, Expected> entries_;
};

bool is_unread_by_all(std::string_view name) {
    return name.ends_with("rotary_emb.inv_freq") || name.ends_with("attn_rot_embd.weight");
}

Status check_tensor(const GgufTensor& tensor, const std::string& name, const Expected& want) {
    const auto& shape = tensor.shape;
    if (shape[0] != want.rows || shape[1] != want.columns || shape[2] != 1 || shape[3] != 1) {
        return {Code::Corrupt, "the tensor " + name + " is " + std::to_string(shape[0]) + " by " +
                                   std::to_string(shape[1]) + ", not " + std::to_string(want.rows) + " by " +
                                   std::to_string(want.columns)};
    }
    // A matrix may have one column too; float32 is right for both.
    const WeightRole role =
        name.ends_with(".bias") || want.columns == 1 ? WeightRole::Values : WeightRole::Matrix;
    return check_weight_type(name, tensor.type, role);
}

}  // namespace

Status check_text_tensors(const GgufReader& file, const TextConfig& config) {
    Table table(config);
    for (std::int32_t i = 0; i < config.n_layers; ++i) {
        const std::string prefix = "blk." + std::to_string(i) + ".";
        table.expect_block(prefix, file.find_tensor(prefix + "attn_qkv.weight") != nullptr);
    }
    std::unordered_set<std::string_view> present;
    for (const GgufTensor& tensor : file.tensors()) {
        const std::string name(tensor.name);
        if (is_unread_by_all(name)) continue;
        const Expected* want = table.find(name);
        if (want == nullptr) {
            return {Code::Unsupported, "the text model has a tensor " + name +
                                           ", which is not supported in the architecture " +
                                           config.architecture};
        }
        CLASP_RETURN_IF_ERROR(check_tensor(tensor, name, *want));
        present.insert(tensor.name);
    }
    return table.check_present(present);
}

}  // namespace clasp::model
