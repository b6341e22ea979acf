#include "gguf/export_model.h"

#include <algorithm>

#include "base/float_convert.h"
#include "gguf/layout.h"
#include "gguf/writer.h"
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

void add_tensors(const ParamStore& store, const std::vector<StoredTensor>& tensors, GgufWriter& writer) {
    for (const StoredTensor& tensor : tensors)
        writer.add_tensor(tensor.name, tensor.shape,
                          std::span(store.value(tensor.param) + tensor.first, tensor.count),
                          tensor.is_half ? Type::F16 : Type::F32);
}

// What Video-LLaVA's towers need beside LLaVA's keys. The tower for clips shares all weights with the one for
// pictures (a missing vv.X means v.X) and adds its temporal parts.
void set_clip_keys(const ModelShape& shape, GgufWriter& writer) {
    writer.set("clip.gelu_exact", true);  // where a GELU is meant: the projector's
    writer.set("clip.video.frame_count", shape.frames);
    writer.set("clip.video.temporal_attention", true);
    writer.set("clip.video.keep_class_token", true);
    writer.set("clip.video.block_count", shape.vision_blocks);
    writer.set("clip.video.preprocess", "languagebind");
    writer.set("videollava.source", "authors");
}

}  // namespace

std::string text_path(const std::string& folder, const std::string& name) {
    return folder + "/" + name + ".gguf";
}
std::string mmproj_path(const std::string& folder, const std::string& name) {
    return folder + "/" + name + "-mmproj.gguf";
}
const char* name_of(const Model& model) {
    return model.shape().frames > 1 ? kVideoName : kStillName;
}

GgufWriter text_file(const Model& model, const Vocabulary& vocabulary) {
    const ModelShape& shape = model.shape();
    GgufWriter writer;
    writer.set("general.architecture", "llama");
    writer.set("general.name", shape.frames > 1 ? "CLASP tiny video" : "CLASP tiny");
    writer.set("general.license", "mit");
    writer.set("general.file_type", kMostlyHalf);
    writer.set("llama.context_length", kContext);
    writer.set("llama.embedding_length", shape.width);
    writer.set("llama.block_count", shape.decoder_blocks);
    writer.set("llama.feed_forward_length", shape.decoder_ffn);
    writer.set("llama.attention.head_count", shape.heads);
    writer.set("llama.attention.head_count_kv", shape.heads);
    writer.set("llama.attention.layer_norm_rms_epsilon", kDecoderEpsilon);
    writer.set("llama.rope.dimension_count", shape.width / shape.heads);
    writer.set("llama.rope.freq_base", 10000.0F);
    writer.set("llama.vocab_size", shape.vocabulary);
    writer.set("tokenizer.ggml.model", "gpt2");
    writer.set("tokenizer.ggml.pre", "gpt-2");
    writer.set("tokenizer.ggml.tokens", vocabulary.tokens());
    std::vector<std::int32_t> types(vocabulary.tokens().size(), 1);  // 1 normal, 3 control
    std::fill_n(types.begin(), Vocabulary::kSpecials, 3);
    writer.set("tokenizer.ggml.token_type", types);
    writer.set("tokenizer.ggml.merges", vocabulary.merges());
    writer.set("tokenizer.ggml.bos_token_id", Vocabulary::kBegin);
    writer.set("tokenizer.ggml.eos_token_id", Vocabulary::kEnd);
    writer.set("tokenizer.ggml.padding_token_id", Vocabulary::kPad);
    writer.set("tokenizer.ggml.add_bos_token", true);
    writer.set("tokenizer.ggml.add_eos_token", false);
    writer.set("tokenizer.chat_template", kChatTemplate);

    add_tensors(model.store(), text_tensors(shape, model.store()), writer);
    return writer;
}

GgufWriter mmproj_file(const Model& model) {
    const ModelShape& shape = model.shape();
    GgufWriter writer;
    writer.set("general.architecture", "clip");
    writer.set("general.type", "mmproj");
    const bool clips = shape.frames > 1;
    writer.set("general.name", clips ? "CLASP tiny video vision" : "CLASP tiny vision");
    writer.set("general.license", "mit");
    writer.set("general.file_type", kMostlyHalf);
    writer.set("clip.has_text_encoder", false);
    writer.set("clip.has_vision_encoder", true);
    writer.set("clip.has_llava_projector", true);
    writer.set("clip.projector_type", clips ? "videollava" : "mlp");
    writer.set("clip.use_gelu", false);
    writer.set("clip.vision.image_size", shape.grid * world::kPatch);
    writer.set("clip.vision.patch_size", world::kPatch);
    writer.set("clip.vision.embedding_length", shape.width);
    writer.set("clip.vision.feed_forward_length", shape.vision_ffn);
    writer.set("clip.vision.projection_dim", shape.width);
    writer.set("clip.vision.block_count", shape.vision_blocks);
    writer.set("clip.vision.attention.head_count", shape.heads);
    writer.set("clip.vision.attention.layer_norm_epsilon", kVisionEpsilon);
    writer.set("clip.vision.image_mean", std::vector<float>(std::begin(kImageMean), std::end(kImageMean)));
    writer.set("clip.vision.image_std", std::vector<float>(std::begin(kImageStd), std::end(kImageStd)));
    if (clips) set_clip_keys(shape, writer);

    add_tensors(model.store(), vision_tensors(shape, model.store()), writer);
    return writer;
}

void round_to_exported(Model& model) {
    ParamStore& store = model.store();
    for (ParamId id = 0; id < store.params().size(); ++id) {
        if (!is_stored_in_half(store.info(id))) continue;
        std::span<float> values(store.value(id), store.info(id).size());
        std::ranges::transform(values, values.begin(),
                               [](float x) { return base::half_to_float(base::float_to_half(x)); });
    }
}

}  // namespace clasp::training
