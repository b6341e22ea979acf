// A language model: weights, vocabulary and chat template of a text GGUF file, loaded by libllama and
// read through its tensor map. Immutable after loading, so any number of sessions may share one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "clasp/log.h"
#include "clasp/status.h"
#include "model/backend.h"
#include "model/load_watch.h"
#include "model/text_config.h"
#include "model/text_file.h"
#include "model/text_model_repack.h"

struct llama_model;
struct llama_vocab;

namespace clasp::model {

// The weights of one block. Matrices are [inputs, outputs] in ggml's order; biases may be null; either
// qkv or the three of q, k and v are set. The tensors belong to the model.
struct BlockWeights {
    ggml_tensor* attention_norm = nullptr;
    ggml_tensor* qkv = nullptr;
    ggml_tensor* qkv_bias = nullptr;
    ggml_tensor* q = nullptr;
    ggml_tensor* q_bias = nullptr;
    ggml_tensor* k = nullptr;
    ggml_tensor* k_bias = nullptr;
    ggml_tensor* v = nullptr;
    ggml_tensor* v_bias = nullptr;
    ggml_tensor* q_norm = nullptr;  // [head_width], null without
    ggml_tensor* k_norm = nullptr;
    ggml_tensor* attention_out = nullptr;
    ggml_tensor* attention_out_bias = nullptr;
    ggml_tensor* attention_post_norm = nullptr;  // of what attention adds, null without
    ggml_tensor* ffn_norm = nullptr;
    ggml_tensor* gate = nullptr;  // null when up is both, gate first
    ggml_tensor* gate_bias = nullptr;
    ggml_tensor* up = nullptr;
    ggml_tensor* up_bias = nullptr;
    ggml_tensor* down = nullptr;
    ggml_tensor* down_bias = nullptr;
    ggml_tensor* ffn_post_norm = nullptr;  // of what the feed-forward part adds, null without
};

struct TextWeights {
    ggml_tensor* token_embedding = nullptr;  // [width, vocabulary]
    ggml_tensor* output_norm = nullptr;
    ggml_tensor* head = nullptr;  // [width, vocabulary]; the embedding when the file ties them
    ggml_tensor* head_bias = nullptr;
    // Divide the frequencies, [n_dims / 2] each; null for plain ones.
    ggml_tensor* rope_factors = nullptr;        // whatever the length
    ggml_tensor* long_rope_factors = nullptr;   // where the original context is exceeded
    ggml_tensor* short_rope_factors = nullptr;  // where it is not
    std::vector<BlockWeights> blocks;
    // Matrices that are multiplied in a layout of our own; the tensor then only says which it is.
    std::unordered_map<const ggml_tensor*, const QuantMatrix*> packed;

    bool has_own_attention = false;  // for prompts, cached_attention.h; else ggml's

    // Null where ggml multiplies.
    [[nodiscard]] const QuantMatrix* packed_form(const ggml_tensor* matrix) const {
        const auto entry = packed.find(matrix);
        return entry != packed.end() ? entry->second : nullptr;
    }
};

struct TextModelOptions {
    // Keep matrices in layouts that are multiplied faster, on the CPU; slower to load.
    bool repack = true;
    DecoderKernels kernels = DecoderKernels::Ours;  // whose layouts and products, if they are repacked
    PackedFolder packed = {};                       // where ours stay between runs
    const LoadWatch* watch = nullptr;               // during the call
    LogSink log = {};
};

class TextModel {
   public:
    // Everything libllama would trust in the file is checked first; see text_file.h. On the CPU the file
    // stays mapped as long as the model lives.
    static Result<std::shared_ptr<const TextModel>> load(const std::string& path,
                                                         std::shared_ptr<Compute> compute,
                                                         const TextModelOptions& options = {});
    ~TextModel();
    TextModel(const TextModel&) = delete;
    TextModel& operator=(const TextModel&) = delete;

    [[nodiscard]] const TextConfig& config() const { return config_; }
    [[nodiscard]] const TextWeights& weights() const { return weights_; }
    [[nodiscard]] const std::shared_ptr<Compute>& compute() const { return compute_; }
    [[nodiscard]] const llama_model* handle() const { return model_.get(); }
    [[nodiscard]] const llama_vocab* vocabulary() const;
    // Null without repacking.
    [[nodiscard]] RepackedWeights* repacked() const { return repacked_.get(); }

    // Control tokens written out in the text become those tokens only if parse_special is set: set it
    // for text of templates, never for text of users. add_bos puts the model's first token in front if
    // the model wants one.
    [[nodiscard]] Result<std::vector<std::int32_t>> tokenize(std::string_view text, bool add_bos,
                                                             bool parse_special) const;
    // The bytes of a token, which may be part of a UTF-8 sequence. Control tokens are empty unless
    // show_special is set.
    [[nodiscard]] std::string piece(std::int32_t token, bool show_special = false) const;
    [[nodiscard]] bool ends_generation(std::int32_t token) const;
    // The texts of all control tokens.
    [[nodiscard]] const std::vector<std::string>& control_tokens() const { return control_tokens_; }
    // The template that the file brings, as Jinja text.
    [[nodiscard]] std::optional<std::string> chat_template() const;

   private:
    TextModel() = default;
    static Result<TextFile> open(const std::string& path, const Compute& compute,
                                 const TextModelOptions& options);
    Status bind_weights();
    void read_control_tokens();

    std::shared_ptr<Compute> compute_;
    base::MappedFile mapped_;  // weights on the CPU; those of a GPU are libllama's
    std::unique_ptr<ggml_backend_buffer, FreeBuffer> buffer_;
    LlamaModelPointer model_;
    std::unique_ptr<RepackedWeights> repacked_;  // null without repacking
    TextConfig config_;
    TextWeights weights_;
    std::vector<std::string> control_tokens_;
};

}  // namespace clasp::model
