#include "model/text_model.h"

#include <array>
#include <unordered_map>

#include "llama-model.h"
#include "llama.h"
#include "model/cached_attention.h"
#include "model/llama_text.h"

namespace clasp::model {
namespace {

// The same name may stand twice in the map: a tied head has its own copy when the layouts of the
// embedding (rows are read) and of the head (it is multiplied) differ. The copy that is plain host memory
// is the embedding.
struct Named {
    ggml_tensor* first = nullptr;
    ggml_tensor* second = nullptr;
};

// libllama tells how much of the file it has read, and stops when the answer is no.
bool on_reading(float share, void* user) {
    const auto* watch = static_cast<const LoadWatch*>(user);
    watch->tell(static_cast<double>(share));
    return !watch->is_cancelled();
}

bool rows_can_be_read(const ggml_tensor* tensor) {
    return tensor->buffer != nullptr && ggml_backend_buffer_is_host(tensor->buffer);
}

}  // namespace

TextModel::~TextModel() = default;

Result<TextFile> TextModel::open(const std::string& path, const Compute& compute,
                                 const TextModelOptions& options) {
    if (!compute.has_gpu()) return map_text_file(path, compute);
    llama_model_params params = llama_model_default_params();
    std::array<ggml_backend_dev_t, 2> devices = {compute.device(), nullptr};
    params.devices = devices.data();
    params.n_gpu_layers = -1;
    // libllama knows which matrices remain on the CPU.
    params.use_extra_bufts = options.repack;
    if (options.watch != nullptr) {
        params.progress_callback = on_reading;
        params.progress_callback_user_data = const_cast<LoadWatch*>(options.watch);
    }
    return open_text_file(path, params);
}

Result<std::shared_ptr<const TextModel>> TextModel::load(const std::string& path,
                                                         std::shared_ptr<Compute> compute,
                                                         const TextModelOptions& options) {
    const std::shared_ptr<TextModel> result(new TextModel());
    result->compute_ = std::move(compute);
    auto opened = open(path, *result->compute_, options);
    if (options.watch != nullptr && options.watch->is_cancelled()) {
        return Status(Code::Cancelled, "cancelled");
    }
    CLASP_ASSIGN_OR_RETURN(TextFile file, std::move(opened));
    result->config_ = std::move(file.config);
    result->mapped_ = std::move(file.mapped);
    result->buffer_ = std::move(file.buffer);
    result->model_ = std::move(file.model);
    CLASP_RETURN_IF_ERROR(result->bind_weights().with_context(path));
    if (options.repack && !result->compute_->has_gpu()) {
        ThreadPool pool(result->compute_->n_threads());
        auto repacked = RepackedWeights::create(*result->compute_, result->weights_,
                                                {.kernels = options.kernels,
                                                 .folder = options.packed,
                                                 .key = std::move(file.packed_key),
                                                 .log = options.log,
                                                 .watch = options.watch},
                                                pool);
        if (!repacked.ok() && repacked.status().code() == Code::Cancelled) return repacked.status();
        if (!repacked.ok()) return repacked.status().with_context(path);
        result->repacked_ = std::move(*repacked);
        result->weights_.has_own_attention =
            options.kernels == DecoderKernels::Ours && takes_cached_attention(result->config_);
    }
    result->read_control_tokens();
    return std::shared_ptr<const TextModel>(result);
}

Status TextModel::bind_weights() {
    std::unordered_map<std::string, Named> tensors;
    for (const auto& [name, tensor] : llama_internal_get_tensor_map(model_.get())) {
        Named& entry = tensors[name];
        (entry.first == nullptr ? entry.first : entry.second) = tensor;
    }
    std::string absent;
    const auto find = [&](const std::string& name, bool required) -> ggml_tensor* {
        const auto entry = tensors.find(name);
        if (entry != tensors.end()) return entry->second.first;
        if (required && absent.empty()) absent = name;
        return nullptr;
    };

    weights_.token_embedding = find("token_embd.weight", true);
    weights_.head = find("output.weight", false);
    if (weights_.head == nullptr && weights_.token_embedding != nullptr) {
        const Named& tied = tensors["token_embd.weight"];
        weights_.head = tied.second != nullptr ? tied.second : tied.first;
        if (!rows_can_be_read(weights_.token_embedding) && rows_can_be_read(weights_.head)) {
            std::swap(weights_.head, weights_.token_embedding);
        }
    }
    weights_.output_norm = find("output_norm.weight", true);
    weights_.head_bias = find("output.bias", false);
    weights_.rope_factors = find("rope_freqs.weight", false);
    weights_.long_rope_factors = find("rope_factors_long.weight", false);
    weights_.short_rope_factors = find("rope_factors_short.weight", false);
    const TextFamily& family = *config_.family;
    weights_.blocks.resize(static_cast<std::size_t>(config_.n_layers));
    for (std::size_t i = 0; i < weights_.blocks.size(); ++i) {
        const std::string prefix = "blk." + std::to_string(i) + ".";
        BlockWeights& block = weights_.blocks[i];
        block.attention_norm = find(prefix + "attn_norm.weight", true);
        block.qkv = find(prefix + "attn_qkv.weight", false);
        block.qkv_bias = find(prefix + "attn_qkv.bias", false);
        const bool is_split = block.qkv == nullptr;
        block.q = find(prefix + "attn_q.weight", is_split);
        block.q_bias = find(prefix + "attn_q.bias", false);
        block.k = find(prefix + "attn_k.weight", is_split);
        block.k_bias = find(prefix + "attn_k.bias", false);
        block.v = find(prefix + "attn_v.weight", is_split);
        block.v_bias = find(prefix + "attn_v.bias", false);
        block.q_norm = find(prefix + "attn_q_norm.weight", family.has_qk_norms);
        block.k_norm = find(prefix + "attn_k_norm.weight", family.has_qk_norms);
        block.attention_out = find(prefix + "attn_output.weight", true);
        block.attention_out_bias = find(prefix + "attn_output.bias", false);
        block.attention_post_norm = find(prefix + "post_attention_norm.weight", family.has_post_norms);
        block.ffn_norm = find(prefix + "ffn_norm.weight", true);
        block.gate = find(prefix + "ffn_gate.weight", !family.has_fused_ffn);
        block.gate_bias = find(prefix + "ffn_gate.bias", false);
        block.up = find(prefix + "ffn_up.weight", true);
        block.up_bias = find(prefix + "ffn_up.bias", false);
        block.down = find(prefix + "ffn_down.weight", true);
        block.down_bias = find(prefix + "ffn_down.bias", false);
        block.ffn_post_norm = find(prefix + "post_ffw_norm.weight", family.has_post_norms);
    }
    if (!absent.empty()) return {Code::Internal, "libllama did not load the tensor " + absent};
    return ok_status();
}

void TextModel::read_control_tokens() {
    const llama_vocab* vocab = vocabulary();
    for (std::int32_t token = 0; token < config_.vocabulary; ++token) {
        if (!llama_vocab_is_control(vocab, token)) continue;
        std::string text = llama_vocab_get_text(vocab, token);
        if (!text.empty()) control_tokens_.push_back(std::move(text));
    }
}

const llama_vocab* TextModel::vocabulary() const {
    return llama_model_get_vocab(model_.get());
}

Result<std::vector<std::int32_t>> TextModel::tokenize(std::string_view text, bool add_bos,
                                                      bool parse_special) const {
    CLASP_ASSIGN_OR_RETURN(std::vector<std::int32_t> tokens,
                           model::tokenize(vocabulary(), text, parse_special));
    if (add_bos && llama_vocab_get_add_bos(vocabulary())) {
        tokens.insert(tokens.begin(), llama_vocab_bos(vocabulary()));
    }
    return tokens;
}

std::string TextModel::piece(std::int32_t token, bool show_special) const {
    if (token < 0 || token >= config_.vocabulary) return {};
    return model::piece(vocabulary(), token, show_special);
}

bool TextModel::ends_generation(std::int32_t token) const {
    return llama_vocab_is_eog(vocabulary(), token);
}

std::optional<std::string> TextModel::chat_template() const {
    const char* text = llama_model_chat_template(model_.get(), nullptr);
    if (text == nullptr) return std::nullopt;
    return std::string(text);
}

}  // namespace clasp::model
