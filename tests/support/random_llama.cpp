#include "support/random_llama.h"

#include <gguf.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace clasp::test {
namespace {

struct FreeGguf {
    void operator()(gguf_context* context) const { gguf_free(context); }
};
using GgufPointer = std::unique_ptr<gguf_context, FreeGguf>;
struct FreeGgml {
    void operator()(ggml_context* context) const { ggml_free(context); }
};
using GgmlPointer = std::unique_ptr<ggml_context, FreeGgml>;
struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
};

// Uniform numbers of mean 0 and standard deviation 1: cheap, and good enough for weights.
class Random {
   public:
    explicit Random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15U + 0x1234567U) {}
    float next() {
        state_ ^= state_ << 13U;
        state_ ^= state_ >> 7U;
        state_ ^= state_ << 17U;
        const auto bits = static_cast<std::int32_t>(static_cast<std::uint32_t>(state_ >> 32U));
        return static_cast<float>(bits) * (1.7320508F / 2147483648.0F);
    }

   private:
    std::uint64_t state_;
};

struct Entry {
    ggml_tensor* tensor;
    float mean;
    float deviation;
};

class Writer {
   public:
    explicit Writer(const RandomLlama& spec) : spec_(spec), file_(gguf_init_empty()) {
        const std::size_t n_tensors = 64 + 20 * static_cast<std::size_t>(spec.n_layers);
        context_.reset(ggml_init(
            {.mem_size = ggml_tensor_overhead() * n_tensors, .mem_buffer = nullptr, .no_alloc = true}));
    }

    bool write(const std::string& path) {
        if (!set_vocabulary()) return false;
        set_keys();
        set_tensors();
        if (!gguf_write_to_file(file_.get(), path.c_str(), true)) return false;
        const std::unique_ptr<std::FILE, CloseFile> out(std::fopen(path.c_str(), "ab"));
        if (out == nullptr) return false;
        Random random(spec_.seed);
        for (const Entry& entry : entries_) {
            if (!write_tensor(out.get(), entry, random)) return false;
        }
        return std::fflush(out.get()) == 0;
    }

   private:
    bool set_vocabulary() {
        if (spec_.vocabulary_file.empty()) {
            set_small_vocabulary();
        } else {
            const GgufPointer source(
                gguf_init_from_file(spec_.vocabulary_file.c_str(), {.no_alloc = true, .ctx = nullptr}));
            if (source == nullptr) return false;
            gguf_set_kv(file_.get(), source.get());
            std::vector<std::string> others;
            for (std::int64_t i = 0; i < gguf_get_n_kv(file_.get()); ++i) {
                const std::string key = gguf_get_key(file_.get(), i);
                if (!key.starts_with("tokenizer.")) others.push_back(key);
            }
            for (const std::string& key : others) gguf_remove_key(file_.get(), key.c_str());
            if (!spec_.control_tokens.empty() || !spec_.word_tokens.empty()) extend_vocabulary();
        }
        if (!spec_.adds_space) gguf_set_val_bool(file_.get(), "tokenizer.ggml.add_space_prefix", false);
        if (!spec_.chat_template.empty()) {
            gguf_set_val_str(file_.get(), "tokenizer.chat_template", spec_.chat_template.c_str());
        }
        const std::int64_t tokens = gguf_find_key(file_.get(), "tokenizer.ggml.tokens");
        vocabulary_ = static_cast<std::int64_t>(gguf_get_arr_n(file_.get(), tokens));
        return true;
    }

    // Behind the tokens given, those of the specification.
    void set_tokens(std::vector<std::string> tokens, std::vector<std::int32_t> types,
                    std::vector<float> scores) {
        const auto add = [&](const std::vector<std::string>& more, std::int32_t type) {
            for (const std::string& token : more) {
                tokens.push_back(token);
                types.push_back(type);
                if (!scores.empty()) scores.push_back(0.0F);
            }
        };
        add(spec_.control_tokens, 3);
        add(spec_.word_tokens, 1);
        std::vector<const char*> pointers;
        for (const std::string& token : tokens) pointers.push_back(token.c_str());
        gguf_set_arr_str(file_.get(), "tokenizer.ggml.tokens", pointers.data(), pointers.size());
        gguf_set_arr_data(file_.get(), "tokenizer.ggml.token_type", GGUF_TYPE_INT32, types.data(),
                          types.size());
        if (scores.empty()) return;
        gguf_set_arr_data(file_.get(), "tokenizer.ggml.scores", GGUF_TYPE_FLOAT32, scores.data(),
                          scores.size());
    }

    void extend_vocabulary() {
        const std::int64_t tokens_key = gguf_find_key(file_.get(), "tokenizer.ggml.tokens");
        const std::int64_t types_key = gguf_find_key(file_.get(), "tokenizer.ggml.token_type");
        const std::int64_t scores_key = gguf_find_key(file_.get(), "tokenizer.ggml.scores");
        const std::size_t n = gguf_get_arr_n(file_.get(), tokens_key);
        std::vector<std::string> tokens;
        for (std::size_t i = 0; i < n; ++i) {
            tokens.emplace_back(gguf_get_arr_str(file_.get(), tokens_key, i));
        }
        const auto* types = static_cast<const std::int32_t*>(gguf_get_arr_data(file_.get(), types_key));
        std::vector<float> scores;
        if (scores_key >= 0) {
            const auto* values = static_cast<const float*>(gguf_get_arr_data(file_.get(), scores_key));
            scores.assign(values, values + n);
        }
        set_tokens(std::move(tokens), {types, types + n}, std::move(scores));
    }

    void set_small_vocabulary() {
        std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
        std::vector<std::int32_t> types = {2, 3, 3};  // unknown, control, control
        for (int byte = 0; byte < 256; ++byte) {
            char text[8];
            std::snprintf(text, sizeof text, "<0x%02X>", static_cast<unsigned>(byte));
            tokens.emplace_back(text);
            types.push_back(6);  // byte
        }
        for (char letter = 'a'; letter <= 'z'; ++letter) {
            tokens.emplace_back(1, letter);
            types.push_back(1);  // normal
        }
        gguf_set_val_str(file_.get(), "tokenizer.ggml.model", "llama");
        set_tokens(std::move(tokens), std::move(types), std::vector<float>(3 + 256 + 26, 0.0F));
        gguf_set_val_u32(file_.get(), "tokenizer.ggml.bos_token_id", 1);
        gguf_set_val_u32(file_.get(), "tokenizer.ggml.eos_token_id", 2);
        gguf_set_val_u32(file_.get(), "tokenizer.ggml.unknown_token_id", 0);
    }

    void set_keys() {
        gguf_context* const f = file_.get();
        const auto key_of = [&](const char* key) { return spec_.architecture + "." + key; };
        const auto u32 = [&](const char* key, std::int32_t value) {
            gguf_set_val_u32(f, key_of(key).c_str(), static_cast<std::uint32_t>(value));
        };
        const auto f32 = [&](const char* key, float value) {
            gguf_set_val_f32(f, key_of(key).c_str(), value);
        };
        gguf_set_val_str(f, "general.architecture", spec_.architecture.c_str());
        gguf_set_val_str(f, "general.name", spec_.name.c_str());
        u32("context_length", spec_.context_length);
        u32("embedding_length", spec_.width);
        u32("block_count", spec_.n_layers);
        u32("feed_forward_length", spec_.ffn_width);
        u32("attention.head_count", spec_.n_heads);
        u32("attention.head_count_kv", spec_.n_kv_heads);
        u32("rope.dimension_count", spec_.n_rotated != 0 ? spec_.n_rotated : head());
        f32("attention.layer_norm_rms_epsilon", spec_.norm_epsilon);
        f32("rope.freq_base", 10000.0F);
        if (spec_.has_yarn) {
            gguf_set_val_str(f, key_of("rope.scaling.type").c_str(), "yarn");
            f32("rope.scaling.factor", 4.0F);
            u32("rope.scaling.original_context_length", spec_.context_length / 4);
        }
        if (spec_.head_width != 0) {
            u32("attention.key_length", spec_.head_width);
            u32("attention.value_length", spec_.head_width);
        }
        if (!spec_.rope_sections.empty()) {
            gguf_set_arr_data(f, key_of("rope.dimension_sections").c_str(), GGUF_TYPE_INT32,
                              spec_.rope_sections.data(), spec_.rope_sections.size());
        }
        if (spec_.long_rope_from != 0) {
            u32("rope.scaling.original_context_length", spec_.long_rope_from);
            f32("rope.scaling.attn_factor", 1.19F);
        }
        const std::int32_t n_deepstack = std::min(spec_.n_deepstack, spec_.n_layers - 1);
        if (n_deepstack != 0) u32("n_deepstack_layers", n_deepstack);
        if (spec_.window != 0) u32("attention.sliding_window", spec_.window);
        if (spec_.window_pattern != 0) u32("attention.sliding_window_pattern", spec_.window_pattern);
        if (spec_.attention_cap != 0.0F) f32("attn_logit_softcapping", spec_.attention_cap);
        if (spec_.final_cap != 0.0F) f32("final_logit_softcapping", spec_.final_cap);
    }

    [[nodiscard]] std::int32_t head() const {
        return spec_.head_width != 0 ? spec_.head_width : spec_.width / spec_.n_heads;
    }

    void add(const std::string& name, ggml_type type, std::int64_t n0, std::int64_t n1, float mean,
             float deviation) {
        ggml_tensor* tensor = n1 == 0 ? ggml_new_tensor_1d(context_.get(), type, n0)
                                      : ggml_new_tensor_2d(context_.get(), type, n0, n1);
        ggml_set_name(tensor, name.c_str());
        gguf_add_tensor(file_.get(), tensor);
        entries_.push_back({tensor, mean, deviation});
    }

    // A matrix whose output has about `gain` times the size of its input.
    void add_matrix(const std::string& name, std::int64_t inputs, std::int64_t outputs, float gain,
                    bool may_be_q6 = false) {
        const ggml_type type = may_be_q6 && spec_.has_q6_parts ? GGML_TYPE_Q6_K : spec_.type;
        add(name, type, inputs, outputs, 0.0F, gain / std::sqrt(static_cast<float>(inputs)));
    }

    // llama.cpp's choice of the blocks that get more bits: the first and the last eighth, and every third
    // between.
    [[nodiscard]] bool has_more_bits(std::int32_t block) const {
        const std::int32_t eighth = spec_.n_layers / 8;
        return block < eighth || block >= 7 * spec_.n_layers / 8 || (block - eighth) % 3 == 2;
    }

    void add_vector(const std::string& name, std::int64_t n, float mean, float deviation) {
        add(name, GGML_TYPE_F32, n, 0, mean, deviation);
    }

    void set_tensors() {
        // Keeps the size of the hidden states about constant through the blocks.
        const float branch = 1.0F / std::sqrt(2.0F * static_cast<float>(spec_.n_layers));
        const std::int64_t frequencies = (spec_.n_rotated != 0 ? spec_.n_rotated : head()) / 2;
        const bool is_q6 = spec_.has_q6_parts && !spec_.has_own_head;
        add("token_embd.weight", is_q6 ? GGML_TYPE_Q6_K : spec_.type, spec_.width, vocabulary_, 0.0F, 1.0F);
        add_vector("output_norm.weight", spec_.width, 1.0F, 0.1F);
        if (spec_.has_own_head) add_matrix("output.weight", spec_.width, vocabulary_, 4.0F, true);
        if (spec_.has_rope_factors)
            add_vector("rope_freqs.weight", frequencies, spec_.rope_factor, 0.3F * spec_.rope_factor);
        if (spec_.long_rope_from != 0) {
            add_vector("rope_factors_long.weight", frequencies, 4.0F, 1.0F);
            add_vector("rope_factors_short.weight", frequencies, 1.1F, 0.1F);
        }
        for (std::int32_t i = 0; i < spec_.n_layers; ++i) {
            const std::string prefix = "blk." + std::to_string(i) + ".";
            add_attention(prefix, branch, has_more_bits(i));
            add_feed_forward(prefix, branch, has_more_bits(i));
        }
    }

    void add_attention(const std::string& prefix, float branch, bool has_more) {
        const std::int64_t queries = std::int64_t{head()} * spec_.n_heads;
        const std::int64_t keys = std::int64_t{head()} * spec_.n_kv_heads;
        const bool has_qkv_biases = spec_.has_biases || spec_.has_qkv_biases;
        add_vector(prefix + "attn_norm.weight", spec_.width, 1.0F, 0.1F);
        // Gains above 1 make attention rows uneven, as those of trained models are.
        if (spec_.has_fused_qkv) {
            add_matrix(prefix + "attn_qkv.weight", spec_.width, queries + 2 * keys, 1.5F);
            if (has_qkv_biases) add_vector(prefix + "attn_qkv.bias", queries + 2 * keys, 0.0F, 0.3F);
        } else {
            add_matrix(prefix + "attn_q.weight", spec_.width, queries, 1.5F);
            add_matrix(prefix + "attn_k.weight", spec_.width, keys, 1.5F);
            add_matrix(prefix + "attn_v.weight", spec_.width, keys, 1.0F, has_more);
            if (has_qkv_biases) {
                add_vector(prefix + "attn_q.bias", queries, 0.0F, 0.3F);
                add_vector(prefix + "attn_k.bias", keys, 0.0F, 0.3F);
                add_vector(prefix + "attn_v.bias", keys, 0.0F, 0.3F);
            }
        }
        if (spec_.has_qk_norms) {
            add_vector(prefix + "attn_q_norm.weight", head(), 1.0F, 0.1F);
            add_vector(prefix + "attn_k_norm.weight", head(), 1.0F, 0.1F);
        }
        add_matrix(prefix + "attn_output.weight", queries, spec_.width, 2.0F * branch);
        if (spec_.has_biases) add_vector(prefix + "attn_output.bias", spec_.width, 0.0F, 0.1F);
        if (spec_.has_post_norms) {
            add_vector(prefix + "post_attention_norm.weight", spec_.width, branch, 0.1F * branch);
        }
    }

    void add_feed_forward(const std::string& prefix, float branch, bool has_more) {
        add_vector(prefix + "ffn_norm.weight", spec_.width, 1.0F, 0.1F);
        if (spec_.has_fused_ffn) {
            add_matrix(prefix + "ffn_up.weight", spec_.width, 2 * std::int64_t{spec_.ffn_width}, 1.0F);
        } else {
            add_matrix(prefix + "ffn_gate.weight", spec_.width, spec_.ffn_width, 1.0F);
            add_matrix(prefix + "ffn_up.weight", spec_.width, spec_.ffn_width, 1.0F);
        }
        add_matrix(prefix + "ffn_down.weight", spec_.ffn_width, spec_.width, 2.0F * branch, has_more);
        if (spec_.has_biases) {
            add_vector(prefix + "ffn_gate.bias", spec_.ffn_width, 0.0F, 0.1F);
            add_vector(prefix + "ffn_up.bias", spec_.ffn_width, 0.0F, 0.1F);
            add_vector(prefix + "ffn_down.bias", spec_.width, 0.0F, 0.1F);
        }
        if (spec_.has_post_norms) {
            add_vector(prefix + "post_ffw_norm.weight", spec_.width, branch, 0.1F * branch);
        }
    }

    bool write_tensor(std::FILE* out, const Entry& entry, Random& random) const {
        const ggml_tensor* t = entry.tensor;
        const std::int64_t n_rows = t->ne[1];
        const std::int64_t at_once = std::max<std::int64_t>(1, (1 << 20) / t->ne[0]);
        std::vector<float> values;
        std::vector<std::uint8_t> bytes;
        for (std::int64_t row = 0; row < n_rows; row += at_once) {
            const std::int64_t n = std::min(at_once, n_rows - row);
            const std::size_t n_bytes = ggml_row_size(t->type, t->ne[0]) * static_cast<std::size_t>(n);
            if (row > 0 && spec_.repeats_rows) {
                if (std::fwrite(bytes.data(), 1, n_bytes, out) != n_bytes) return false;
                continue;
            }
            values.resize(static_cast<std::size_t>(n * t->ne[0]));
            for (float& value : values) value = entry.mean + entry.deviation * random.next();
            bytes.resize(n_bytes);
            if (t->type == GGML_TYPE_F32) {
                std::memcpy(bytes.data(), values.data(), bytes.size());
            } else {
                ggml_quantize_chunk(t->type, values.data(), bytes.data(), 0, n, t->ne[0], nullptr);
            }
            if (std::fwrite(bytes.data(), 1, bytes.size(), out) != bytes.size()) return false;
        }
        const std::size_t alignment = gguf_get_alignment(file_.get());
        bytes.assign(GGML_PAD(ggml_nbytes(t), alignment) - ggml_nbytes(t), 0);
        return std::fwrite(bytes.data(), 1, bytes.size(), out) == bytes.size();
    }

    const RandomLlama& spec_;
    GgufPointer file_;
    GgmlPointer context_;
    std::int64_t vocabulary_ = 0;
    std::vector<Entry> entries_;
};

}  // namespace

bool write_random_llama(const std::string& path, const RandomLlama& spec) {
    return Writer(spec).write(path);
}

std::vector<RandomLlama> random_architectures() {
    const std::vector<std::int32_t> sections = {2, 3, 3, 0};
    return {
        {.architecture = "llama"},
        {.architecture = "qwen2", .has_own_head = false, .has_qkv_biases = true},
        // libllama v0.5.0 does not read this architecture's epsilon and computes with 0.
        {.architecture = "qwen2vl",
         .has_own_head = false,
         .has_qkv_biases = true,
         .rope_sections = sections,
         .norm_epsilon = 0.0F},
        {.architecture = "qwen3", .has_qk_norms = true, .head_width = 32},
        {.architecture = "qwen3vl", .has_qk_norms = true, .rope_sections = {3, 3, 2, 0}, .n_deepstack = 2},
        {.architecture = "internlm2"},
        {.architecture = "phi3",
         .has_fused_ffn = true,
         .n_rotated = 12,
         .has_fused_qkv = true,
         .long_rope_from = 300},
        {.architecture = "gemma2",
         .has_post_norms = true,
         .has_own_head = false,
         .window = 24,
         .attention_cap = 3.0F,
         .final_cap = 20.0F},
        {.architecture = "gemma3",
         .has_qk_norms = true,
         .has_post_norms = true,
         .n_heads = 6,
         .n_kv_heads = 3,
         .head_width = 16,
         .has_own_head = false,
         .window = 16,
         .window_pattern = 3},
    };
}

RandomLlama random_architecture(const std::string& name) {
    for (const RandomLlama& spec : random_architectures()) {
        if (spec.architecture == name) return spec;
    }
    std::fprintf(stderr, "there is no random model of architecture %s\n", name.c_str());
    std::abort();
}

RandomLlama widened(RandomLlama spec, ggml_type type) {
    spec.type = type;
    spec.n_layers = 3;
    spec.width = 256;
    spec.n_heads = 4;
    spec.n_kv_heads = 2;
    spec.ffn_width = 512;
    if (spec.head_width != 0) spec.head_width = 64;
    if (spec.n_rotated != 0) spec.n_rotated = 48;
    for (std::int32_t& section : spec.rope_sections) section *= 4;
    return spec;
}

}  // namespace clasp::test
