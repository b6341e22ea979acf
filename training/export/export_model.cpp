#include "export/export_model.h"

#include <algorithm>

#include "base/float_convert.h"
#include "export/gguf_writer.h"
#include "train/batch.h"

namespace clasp::training {

const char* const kChatTemplate =
    "{% for message in messages %}{% if message['role'] == 'user' %}{{ 'USER: ' + message['content'] }}"
    "{% else %}{{ ' ASSISTANT: ' + message['content'] + eos_token }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ ' ASSISTANT:' }}{% endif %}";

namespace {

using Type = GgufWriter::Type;
constexpr std::uint32_t kMostlyHalf = 1;  // general.file_type
constexpr std::uint32_t kContext = 2048;

// Matrices are stored in half precision, vectors (norms, biases, class token) in full.
Type type_of(const Param& param) {
    return param.rows > 1 ? Type::F16 : Type::F32;
}

class Exporter {
   public:
    Exporter(const Model& model, GgufWriter& writer) : store_(model.store()), writer_(writer) {}

    // Rows [first, first + rows) of a parameter under the file's name.
    void rows(const std::string& from, const std::string& to, int first, int rows) {
        const ParamId id = store_.find(from);
        const Param& param = store_.info(id);
        const std::size_t width = static_cast<std::size_t>(param.columns);
        const std::span<const float> values(store_.value(id) + static_cast<std::size_t>(first) * width,
                                            static_cast<std::size_t>(rows) * width);
        std::vector<std::uint64_t> shape = {width};
        if (rows > 1) shape.push_back(static_cast<std::uint64_t>(rows));
        writer_.add_tensor(to, std::move(shape), values, type_of(param));
    }

    // A part of a vector.
    void slice(const std::string& from, const std::string& to, int first, int count) {
        const float* values = store_.value(store_.find(from)) + first;
        writer_.add_tensor(to, {static_cast<std::uint64_t>(count)},
                           std::span(values, static_cast<std::size_t>(count)), Type::F32);
    }

    void whole(const std::string& from, const std::string& to) {
        rows(from, to, 0, store_.info(store_.find(from)).rows);
    }
    void same(const std::string& name) { whole(name, name); }

    void patch_embedding() {
        const ParamId id = store_.find("v.patch_embd.weight");
        const Param& param = store_.info(id);
        writer_.add_tensor(param.name, {14, 14, 3, static_cast<std::uint64_t>(param.rows)},
                           std::span(store_.value(id), param.size()), Type::F16);
    }

   private:
    const ParamStore& store_;
    GgufWriter& writer_;
};

}  // namespace

Status export_text_model(const Model& model, const Vocabulary& vocabulary, const std::string& path) {
    const ModelShape& shape = model.shape();
    GgufWriter writer;
    const auto u32 = [&](const std::string& key, int value) {
        writer.set(key, static_cast<std::uint32_t>(value));
    };
    writer.set("general.architecture", "llama");
    writer.set("general.name", "CLASP tiny");
    writer.set("general.license", "mit");
    writer.set("general.file_type", kMostlyHalf);
    writer.set("llama.context_length", kContext);
    u32("llama.embedding_length", shape.width);
    u32("llama.block_count", shape.decoder_blocks);
    u32("llama.feed_forward_length", shape.decoder_ffn);
    u32("llama.attention.head_count", shape.heads);
    u32("llama.attention.head_count_kv", shape.heads);
    writer.set("llama.attention.layer_norm_rms_epsilon", kDecoderEpsilon);
    u32("llama.rope.dimension_count", shape.width / shape.heads);
    writer.set("llama.rope.freq_base", 10000.0F);
    u32("llama.vocab_size", shape.vocabulary);
    writer.set("tokenizer.ggml.model", "gpt2");
    writer.set("tokenizer.ggml.pre", "gpt-2");
    writer.set("tokenizer.ggml.tokens", vocabulary.tokens());
    std::vector<std::int32_t> types(vocabulary.tokens().size(), 1);  // 1 normal, 3 control
    std::fill_n(types.begin(), Vocabulary::kSpecials, 3);
    writer.set("tokenizer.ggml.token_type", types);
    writer.set("tokenizer.ggml.merges", vocabulary.merges());
    u32("tokenizer.ggml.bos_token_id", Vocabulary::kBegin);
    u32("tokenizer.ggml.eos_token_id", Vocabulary::kEnd);
    u32("tokenizer.ggml.padding_token_id", Vocabulary::kPad);
    writer.set("tokenizer.ggml.add_bos_token", true);
    writer.set("tokenizer.ggml.add_eos_token", false);
    writer.set("tokenizer.chat_template", kChatTemplate);

    Exporter out(model, writer);
    out.same("token_embd.weight");
    out.same("output_norm.weight");
    out.same("output.weight");
    for (int i = 0; i < shape.decoder_blocks; ++i) {
        const std::string p = "blk." + std::to_string(i) + ".";
        const int d = shape.width;
        out.same(p + "attn_norm.weight");
        out.rows(p + "attn_qkv.weight", p + "attn_q.weight", 0, d);
        out.rows(p + "attn_qkv.weight", p + "attn_k.weight", d, d);
        out.rows(p + "attn_qkv.weight", p + "attn_v.weight", 2 * d, d);
        out.same(p + "attn_output.weight");
        out.same(p + "ffn_norm.weight");
        out.rows(p + "ffn_gate_up.weight", p + "ffn_gate.weight", 0, shape.decoder_ffn);
        out.rows(p + "ffn_gate_up.weight", p + "ffn_up.weight", shape.decoder_ffn, shape.decoder_ffn);
        out.same(p + "ffn_down.weight");
    }
    return writer.write(path);
}

Status export_mmproj(const Model& model, const std::string& path) {
    const ModelShape& shape = model.shape();
    GgufWriter writer;
    const auto u32 = [&](const std::string& key, int value) {
        writer.set(key, static_cast<std::uint32_t>(value));
    };
    writer.set("general.architecture", "clip");
    writer.set("general.type", "mmproj");
    writer.set("general.name", "CLASP tiny vision");
    writer.set("general.license", "mit");
    writer.set("general.file_type", kMostlyHalf);
    writer.set("clip.has_text_encoder", false);
    writer.set("clip.has_vision_encoder", true);
    writer.set("clip.has_llava_projector", true);
    writer.set("clip.projector_type", "mlp");
    writer.set("clip.use_gelu", false);
    u32("clip.vision.image_size", shape.grid * world::kPatch);
    u32("clip.vision.patch_size", world::kPatch);
    u32("clip.vision.embedding_length", shape.width);
    u32("clip.vision.feed_forward_length", shape.vision_ffn);
    u32("clip.vision.projection_dim", shape.width);
    u32("clip.vision.block_count", shape.vision_blocks);
    u32("clip.vision.attention.head_count", shape.heads);
    writer.set("clip.vision.attention.layer_norm_epsilon", kVisionEpsilon);
    writer.set("clip.vision.image_mean", std::vector<float>(std::begin(kImageMean), std::end(kImageMean)));
    writer.set("clip.vision.image_std", std::vector<float>(std::begin(kImageStd), std::end(kImageStd)));

    Exporter out(model, writer);
    out.same("v.class_embd");
    out.patch_embedding();
    out.same("v.position_embd.weight");
    out.same("v.pre_ln.weight");
    out.same("v.pre_ln.bias");
    for (int i = 0; i < shape.vision_blocks; ++i) {
        const std::string p = "v.blk." + std::to_string(i) + ".";
        const char* const names[] = {"attn_q", "attn_k", "attn_v"};
        for (int part = 0; part < 3; ++part) {
            const std::string to = p + names[part];
            out.rows(p + "attn_qkv.weight", to + ".weight", part * shape.width, shape.width);
            out.slice(p + "attn_qkv.bias", to + ".bias", part * shape.width, shape.width);
        }
        for (const char* tail : {".weight", ".bias"}) {
            out.same(p + "attn_out" + tail);
            out.same(p + "ln1" + tail);
            out.same(p + "ln2" + tail);
            // LLaVA's files call the first layer of the feed-forward part "down" and the second "up".
            out.whole(p + "fc1" + tail, p + "ffn_down" + tail);
            out.whole(p + "fc2" + tail, p + "ffn_up" + tail);
        }
    }
    for (const char* name : {"mm.0.weight", "mm.0.bias", "mm.2.weight", "mm.2.bias"}) out.same(name);
    return writer.write(path);
}

void round_to_exported(Model& model) {
    ParamStore& store = model.store();
    for (ParamId id = 0; id < store.params().size(); ++id) {
        if (type_of(store.info(id)) != Type::F16) continue;
        std::span<float> values(store.value(id), store.info(id).size());
        std::ranges::transform(values, values.begin(),
                               [](float x) { return base::half_to_float(base::float_to_half(x)); });
    }
}

}  // namespace clasp::training
