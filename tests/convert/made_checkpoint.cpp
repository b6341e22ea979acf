#include "made_checkpoint.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include "base/float_convert.h"

namespace clasp::test {
namespace {

using base::Json;
namespace fs = std::filesystem;

std::uint16_t rounded_bfloat(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U);
}

std::string bytes_of(const std::vector<float>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

// Rows of one head, one below the other, from the order of arch llama (neighbours turn) to halves.
std::vector<float> in_halves(const std::vector<float>& rows, std::size_t n_heads, std::size_t row_width) {
    const std::size_t head = rows.size() / row_width / n_heads;
    std::vector<float> out(rows.size());
    for (std::size_t h = 0; h < n_heads; ++h) {
        for (std::size_t i = 0; i < head / 2; ++i) {
            for (std::size_t j = 0; j < 2; ++j) {
                const std::size_t from = h * head + 2 * i + j;
                const std::size_t to = h * head + j * (head / 2) + i;
                for (std::size_t x = 0; x < row_width; ++x)
                    out[to * row_width + x] = rows[from * row_width + x];
            }
        }
    }
    return out;
}

const EditedKey& find_key(const EditedGguf& file, const std::string& name) {
    for (const EditedKey& key : file.keys) {
        if (key.name == name) return key;
    }
    std::cerr << "the file has no key " << name << '\n';
    std::abort();
}

const EditedTensor& find_made(const EditedGguf& file, const std::string& name) {
    for (const EditedTensor& tensor : file.tensors) {
        if (tensor.name == name) return tensor;
    }
    std::cerr << "the file has no tensor " << name << '\n';
    std::abort();
}

bool has_tensor(const EditedGguf& file, const std::string& name) {
    for (const EditedTensor& tensor : file.tensors) {
        if (tensor.name == name) return true;
    }
    return false;
}

template <typename T>
T scalar_of(const EditedKey& key) {
    T value{};
    std::memcpy(&value, key.value.data() + 4, sizeof(T));
    return value;
}

MadeTensor made_of(const std::string& name, std::vector<std::uint64_t> shape,
                   const std::vector<float>& values) {
    return {.name = name, .dtype = "F32", .shape = std::move(shape), .data = bytes_of(values)};
}

// Queries and keys as the checkpoint has them.
void add_turned(std::vector<MadeTensor>& out, const EditedGguf& file, const std::string& stored,
                const std::string& name, std::size_t n_heads) {
    MadeTensor tensor = renamed(file, stored, name);
    if (n_heads != 0) {
        const std::size_t width = tensor.shape.size() > 1 ? tensor.shape[1] : 1;
        tensor.data = bytes_of(in_halves(floats_of(tensor.data, "F32"), n_heads, width));
    }
    out.push_back(std::move(tensor));
}

// InternLM2: for every head of keys the queries' heads that use it, the keys, the values.
MadeTensor fused_wqkv(const EditedGguf& file, const std::string& block, const std::string& name) {
    const std::size_t n_heads = key_u32(file, "internlm2.attention.head_count");
    const std::size_t n_kv = key_u32(file, "internlm2.attention.head_count_kv");
    const std::size_t width = key_u32(file, "internlm2.embedding_length");
    const std::size_t head = width / n_heads;
    const auto q = in_halves(tensor_values(find_made(file, block + "attn_q.weight")), n_heads, width);
    const auto k = in_halves(tensor_values(find_made(file, block + "attn_k.weight")), n_kv, width);
    const auto v = tensor_values(find_made(file, block + "attn_v.weight"));
    std::vector<float> fused;
    const auto add_head = [&](const std::vector<float>& rows, std::size_t h) {
        const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(h * head * width);
        fused.insert(fused.end(), begin, begin + static_cast<std::ptrdiff_t>(head * width));
    };
    for (std::size_t g = 0; g < n_kv; ++g) {
        for (std::size_t i = 0; i < n_heads / n_kv; ++i) add_head(q, g * (n_heads / n_kv) + i);
        add_head(k, g);
        add_head(v, g);
    }
    return made_of(name, {fused.size() / width, width}, fused);
}

void write_bytes(const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

// Fields of protocol buffers.
std::string varint(std::uint64_t value) {
    std::string out;
    for (; value >= 128; value >>= 7U) out.push_back(static_cast<char>(value % 128 + 128));
    out.push_back(static_cast<char>(value));
    return out;
}

std::string field(int number, const std::string& bytes) {
    return varint(static_cast<std::uint64_t>(number) * 8 + 2) + varint(bytes.size()) + bytes;
}

std::string field(int number, std::uint64_t value) {
    return varint(static_cast<std::uint64_t>(number) * 8) + varint(value);
}

}  // namespace

std::string as_dtype(const std::string& float_bytes, const std::string& dtype) {
    if (dtype == "F32") return float_bytes;
    std::string out;
    for (const float value : floats_of(float_bytes, "F32")) {
        if (dtype == "F64") {
            put_number(out, static_cast<double>(value));
        } else {
            put_number(out, dtype == "F16" ? base::float_to_half(value) : rounded_bfloat(value));
        }
    }
    return out;
}

std::vector<float> floats_of(const std::string& bytes, const std::string& dtype) {
    std::vector<float> values;
    const std::size_t width = dtype == "F32" ? 4 : 2;
    for (std::size_t at = 0; at + width <= bytes.size(); at += width) {
        if (width == 4) {
            float value = 0.0F;
            std::memcpy(&value, bytes.data() + at, 4);
            values.push_back(value);
        } else {
            std::uint16_t bits = 0;
            std::memcpy(&bits, bytes.data() + at, 2);
            values.push_back(dtype == "F16" ? base::half_to_float(bits) : base::bfloat_to_float(bits));
        }
    }
    return values;
}

void write_weights(const fs::path& folder, const std::vector<MadeTensor>& tensors,
                   const CheckpointForm& form) {
    const std::string stem = form.is_torch ? "pytorch_model" : "model";
    const std::string ending = form.is_torch ? ".bin" : ".safetensors";
    Json map = Json::object();
    for (std::size_t i = 0; i < form.n_files; ++i) {
        std::vector<MadeTensor> part;
        const std::string name = form.n_files == 1 ? stem + ending
                                                   : stem + "-" + std::to_string(i + 1) + "-of-" +
                                                         std::to_string(form.n_files) + ending;
        for (std::size_t t = i; t < tensors.size(); t += form.n_files) {
            part.push_back(tensors[t]);
            if (part.back().dtype == "F32") {
                part.back().data = as_dtype(part.back().data, form.dtype);
                part.back().dtype = form.dtype;
            }
            map[part.back().name] = name;
        }
        if (form.is_torch) {
            MadeZip zip = made_archive(part, i % 2 == 0);
            zip.is_64 = form.is_64;
            write_bytes(folder / name, zip.bytes());
        } else {
            write_bytes(folder / name, made_safetensors(part));
        }
    }
    if (form.n_files == 1) return;
    write_json(folder / (stem + ending + ".index.json"),
               {{"metadata", {{"total_size", 1}}}, {"weight_map", map}});
}

void write_text_file(const fs::path& path, const std::string& text) {
    write_bytes(path, text);
}

void write_json(const fs::path& path, const Json& json) {
    write_bytes(path, base::dump_json(json));
}

MadeTensor renamed(const EditedGguf& file, const std::string& stored, const std::string& name) {
    const EditedTensor& tensor = find_made(file, stored);
    return made_of(name, {tensor.shape.rbegin(), tensor.shape.rend()}, tensor_values(tensor));
}

std::vector<MadeTensor> text_tensors(const EditedGguf& file, const std::string& body,
                                     const std::string& head) {
    const std::string arch = key_text(file, "general.architecture");
    const std::size_t n_heads = arch == "llama" ? key_u32(file, arch + ".attention.head_count") : 0;
    const std::size_t n_kv = arch == "llama" ? key_u32(file, arch + ".attention.head_count_kv") : 0;
    const bool is_internlm2 = arch == "internlm2";
    std::vector<MadeTensor> out;
    out.push_back(renamed(file, "token_embd.weight",
                          body + (is_internlm2 ? "tok_embeddings.weight" : "embed_tokens.weight")));
    out.push_back(renamed(file, "output_norm.weight", body + "norm.weight"));
    if (has_tensor(file, "output.weight")) out.push_back(renamed(file, "output.weight", head));
    for (std::uint32_t i = 0; i < key_u32(file, arch + ".block_count"); ++i) {
        const std::string from = "blk." + std::to_string(i) + ".";
        const std::string to = body + "layers." + std::to_string(i) + ".";
        const auto add = [&](const char* stored, const char* name) {
            if (has_tensor(file, from + stored)) out.push_back(renamed(file, from + stored, to + name));
        };
        if (is_internlm2) {
            out.push_back(fused_wqkv(file, from, to + "attention.wqkv.weight"));
            add("attn_output.weight", "attention.wo.weight");
            add("attn_norm.weight", "attention_norm.weight");
            add("ffn_norm.weight", "ffn_norm.weight");
            add("ffn_gate.weight", "feed_forward.w1.weight");
            add("ffn_up.weight", "feed_forward.w3.weight");
            add("ffn_down.weight", "feed_forward.w2.weight");
            continue;
        }
        add("attn_norm.weight", "input_layernorm.weight");
        add("ffn_norm.weight", "post_attention_layernorm.weight");
        add("attn_output.weight", "self_attn.o_proj.weight");
        add("ffn_down.weight", "mlp.down_proj.weight");
        if (arch == "phi3") {
            add("attn_qkv.weight", "self_attn.qkv_proj.weight");
            add("ffn_up.weight", "mlp.gate_up_proj.weight");
            continue;
        }
        add("ffn_gate.weight", "mlp.gate_proj.weight");
        add("ffn_up.weight", "mlp.up_proj.weight");
        add_turned(out, file, from + "attn_q.weight", to + "self_attn.q_proj.weight", n_heads);
        add_turned(out, file, from + "attn_k.weight", to + "self_attn.k_proj.weight", n_kv);
        add("attn_v.weight", "self_attn.v_proj.weight");
        if (!has_tensor(file, from + "attn_q.bias")) continue;
        add_turned(out, file, from + "attn_q.bias", to + "self_attn.q_proj.bias", n_heads);
        add_turned(out, file, from + "attn_k.bias", to + "self_attn.k_proj.bias", n_kv);
        add("attn_v.bias", "self_attn.v_proj.bias");
    }
    return out;
}

Json text_config(const EditedGguf& file) {
    const std::string arch = key_text(file, "general.architecture");
    const auto u32 = [&](const char* key) { return key_u32(file, arch + "." + key); };
    std::string name = "LlamaForCausalLM";
    if (arch == "qwen2") name = "Qwen2ForCausalLM";
    if (arch == "internlm2") name = "InternLM2ForCausalLM";
    if (arch == "phi3") name = "Phi3ForCausalLM";
    Json config = {
        {"architectures", Json::array({name})},
        {"model_type", arch},
        {"hidden_size", u32("embedding_length")},
        {"intermediate_size", u32("feed_forward_length")},
        {"num_hidden_layers", u32("block_count")},
        {"num_attention_heads", u32("attention.head_count")},
        {"num_key_value_heads", u32("attention.head_count_kv")},
        {"max_position_embeddings", u32("context_length")},
        {"rms_norm_eps", static_cast<double>(key_f32(file, arch + ".attention.layer_norm_rms_epsilon"))},
        {"rope_theta", static_cast<double>(key_f32(file, arch + ".rope.freq_base"))},
        {"hidden_act", "silu"},
        {"tie_word_embeddings", !has_tensor(file, "output.weight")},
        {"vocab_size", key_texts(file, "tokenizer.ggml.tokens").size()}};
    if (!has_tensor(file, "rope_factors_long.weight")) return config;
    const double head = u32("embedding_length") / static_cast<double>(u32("attention.head_count"));
    config["partial_rotary_factor"] = u32("rope.dimension_count") / head;
    config["original_max_position_embeddings"] = u32("rope.scaling.original_context_length");
    Json scaling = {{"type", "longrope"}};
    for (const char* kind : {"long", "short"}) {
        Json factors = Json::array();
        for (const float factor :
             tensor_values(find_made(file, std::string("rope_factors_") + kind + ".weight"))) {
            factors.push_back(static_cast<double>(factor));
        }
        scaling[std::string(kind) + "_factor"] = factors;
    }
    config["rope_scaling"] = scaling;
    return config;
}

std::string sentencepiece_of(const EditedGguf& file, std::size_t n_own) {
    const auto tokens = key_texts(file, "tokenizer.ggml.tokens");
    const auto types = key_array<std::int32_t>(file, "tokenizer.ggml.token_type");
    const auto scores = key_array<float>(file, "tokenizer.ggml.scores");
    std::string out;
    for (std::size_t i = 0; i < n_own; ++i) {
        std::string piece = field(1, tokens[i]) + varint(2 * 8 + 5);
        put_number(piece, scores[i]);
        if (types[i] != 1) piece += field(3, static_cast<std::uint64_t>(types[i]));
        out += field(1, piece);
    }
    out += field(2, field(3, std::uint64_t{2}) + field(40, std::uint64_t{0}) + field(41, std::uint64_t{1}) +
                        field(42, std::uint64_t{2}) + field(43, ~std::uint64_t{0}));
    return out + field(3, field(1, std::string("identity")) + field(3, std::uint64_t{1}));
}

void write_tokenizer(const fs::path& folder, const EditedGguf& file, std::size_t n_own) {
    const auto tokens = key_texts(file, "tokenizer.ggml.tokens");
    write_bytes(folder / "tokenizer.model", sentencepiece_of(file, n_own));
    Json decoder = Json::object();
    for (std::size_t i = n_own; i < tokens.size(); ++i) {
        decoder[std::to_string(i)] = {{"content", tokens[i]}, {"special", true}};
    }
    write_json(folder / "tokenizer_config.json",
               {{"add_bos_token", true}, {"bos_token", "<s>"}, {"added_tokens_decoder", decoder}});
}

std::vector<MadeTensor> clip_tensors(const EditedGguf& file, const std::string& prefix, std::size_t n_more) {
    std::vector<MadeTensor> out;
    out.push_back(renamed(file, "v.class_embd", prefix + "embeddings.class_embedding"));
    out.push_back(renamed(file, "v.patch_embd.weight", prefix + "embeddings.patch_embedding.weight"));
    out.push_back(renamed(file, "v.position_embd.weight", prefix + "embeddings.position_embedding.weight"));
    for (const std::string part : {"weight", "bias"}) {
        out.push_back(renamed(file, "v.pre_ln." + part, prefix + "pre_layrnorm." + part));
        out.push_back(renamed(file, "v.pre_ln." + part, prefix + "post_layernorm." + part));
    }
    const std::uint32_t n_blocks = key_u32(file, "clip.vision.block_count");
    for (std::size_t i = 0; i < n_blocks + n_more; ++i) {
        const std::string from = "v.blk." + std::to_string(std::min<std::size_t>(i, n_blocks - 1)) + ".";
        const std::string to = prefix + "encoder.layers." + std::to_string(i) + ".";
        // Names of the two matrices of the feed-forward layer depend on the file's converter.
        const bool is_swapped = find_made(file, from + "ffn_down.weight").shape[0] ==
                                static_cast<std::int64_t>(key_u32(file, "clip.vision.embedding_length"));
        for (const std::string part : {".weight", ".bias"}) {
            for (const auto& [stored, name] : {std::pair{"ln1", "layer_norm1"},
                                               {"ln2", "layer_norm2"},
                                               {"attn_q", "self_attn.q_proj"},
                                               {"attn_k", "self_attn.k_proj"},
                                               {"attn_v", "self_attn.v_proj"},
                                               {"attn_out", "self_attn.out_proj"},
                                               {is_swapped ? "ffn_down" : "ffn_up", "mlp.fc1"},
                                               {is_swapped ? "ffn_up" : "ffn_down", "mlp.fc2"}}) {
                out.push_back(renamed(file, from + stored + part, to + name + part));
            }
        }
    }
    MadeTensor ids = {
        .name = prefix + "embeddings.position_ids", .dtype = "I64", .shape = {1, 2}, .data = {}};
    ids.data.assign(16, '\0');
    out.push_back(std::move(ids));
    return out;
}

Json clip_config(const EditedGguf& file, std::size_t n_more) {
    const auto u32 = [&](const char* key) { return key_u32(file, std::string("clip.vision.") + key); };
    return {
        {"model_type", "clip_vision_model"},
        {"hidden_size", u32("embedding_length")},
        {"intermediate_size", u32("feed_forward_length")},
        {"num_hidden_layers", u32("block_count") + n_more},
        {"num_attention_heads", u32("attention.head_count")},
        {"image_size", u32("image_size")},
        {"patch_size", u32("patch_size")},
        {"hidden_act", "quick_gelu"},
        {"layer_norm_eps", static_cast<double>(key_f32(file, "clip.vision.attention.layer_norm_epsilon"))}};
}

std::vector<MadeTensor> llava_projector(const EditedGguf& file, const std::string& first,
                                        const std::string& second) {
    return {renamed(file, "mm.0.weight", first + ".weight"), renamed(file, "mm.0.bias", first + ".bias"),
            renamed(file, "mm.2.weight", second + ".weight"), renamed(file, "mm.2.bias", second + ".bias")};
}

std::vector<MadeTensor> internvl_tensors(const EditedGguf& file) {
    std::vector<MadeTensor> out;
    const auto add = [&](const std::string& stored, const std::string& name) {
        if (has_tensor(file, stored)) out.push_back(renamed(file, stored, name));
    };
    add("v.class_embd", "vision_model.embeddings.class_embedding");
    out.back().shape = {1, 1, out.back().shape[0]};
    add("v.position_embd.weight", "vision_model.embeddings.position_embedding");
    out.back().shape.insert(out.back().shape.begin(), 1);
    add("v.patch_embd.weight", "vision_model.embeddings.patch_embedding.weight");
    add("v.patch_embd.bias", "vision_model.embeddings.patch_embedding.bias");
    for (std::uint32_t i = 0; i < key_u32(file, "clip.vision.block_count"); ++i) {
        const std::string from = "v.blk." + std::to_string(i) + ".";
        const std::string to = "vision_model.encoder.layers." + std::to_string(i) + ".";
        for (const std::string part : {"weight", "bias"}) {
            if (has_tensor(file, from + "attn_q." + part)) {
                MadeTensor fused = renamed(file, from + "attn_q." + part, to + "attn.qkv." + part);
                fused.data += renamed(file, from + "attn_k." + part, "").data;
                fused.data += renamed(file, from + "attn_v." + part, "").data;
                fused.shape[0] *= 3;
                out.push_back(std::move(fused));
            }
            add(from + "ln1." + part, to + "norm1." + part);
            add(from + "ln2." + part, to + "norm2." + part);
            add(from + "attn_out." + part, to + "attn.proj." + part);
            add(from + "ffn_up." + part, to + "mlp.fc1." + part);
            add(from + "ffn_down." + part, to + "mlp.fc2." + part);
        }
        add(from + "ls1.weight", to + "ls1");
        add(from + "ls2.weight", to + "ls2");
        add(from + "attn_q_norm.weight", to + "attn.q_norm.weight");
        add(from + "attn_k_norm.weight", to + "attn.k_norm.weight");
    }
    for (const std::string number : {"0", "1", "3"}) {
        for (const std::string part : {".weight", ".bias"}) {
            add("mm.model.mlp." + number + part, "mlp1." + number + part);
        }
    }
    return out;
}

Json internvl_config(const EditedGguf& file) {
    Json tower = clip_config(file, 0);
    tower["model_type"] = "intern_vit_6b";
    tower["hidden_act"] = "gelu";
    tower["norm_type"] = has_tensor(file, "v.blk.0.ln1.bias") ? "layer_norm" : "rms_norm";
    tower["qkv_bias"] = has_tensor(file, "v.blk.0.attn_q.bias");
    tower["qk_normalization"] = has_tensor(file, "v.blk.0.attn_q_norm.weight");
    return {{"architectures", Json::array({"InternVLChatModel"})},
            {"model_type", "internvl_chat"},
            {"downsample_ratio", 1.0 / key_u32(file, "clip.vision.projector.scale_factor")},
            {"ps_version", "v2"},
            {"select_layer", -1},
            {"template", "internlm2-chat"},
            {"dynamic_image_size", true},
            {"min_dynamic_patch", 1},
            {"max_dynamic_patch", 12},
            {"use_thumbnail", true},
            {"force_image_size", key_u32(file, "clip.vision.image_size")},
            {"vision_config", tower}};
}

EditedGguf read_gguf(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    return EditedGguf::parse(bytes.str());
}

std::vector<float> tensor_values(const EditedTensor& tensor) {
    if (tensor.type == 0) return floats_of(tensor.data, "F32");
    if (tensor.type == 1) return floats_of(tensor.data, "F16");
    if (tensor.type == 30) return floats_of(tensor.data, "BF16");
    std::cerr << tensor.name << " is quantised\n";
    std::abort();
}

std::uint32_t key_u32(const EditedGguf& file, const std::string& name) {
    return scalar_of<std::uint32_t>(find_key(file, name));
}

float key_f32(const EditedGguf& file, const std::string& name) {
    return scalar_of<float>(find_key(file, name));
}

std::string key_text(const EditedGguf& file, const std::string& name) {
    return find_key(file, name).value.substr(12);
}

template <typename T>
std::vector<T> key_array(const EditedGguf& file, const std::string& name) {
    const std::string& bytes = find_key(file, name).value;
    std::uint64_t n = 0;
    std::memcpy(&n, bytes.data() + 8, sizeof n);
    std::vector<T> values(n);
    std::memcpy(values.data(), bytes.data() + 16, n * sizeof(T));
    return values;
}
template std::vector<float> key_array(const EditedGguf&, const std::string&);
template std::vector<std::int32_t> key_array(const EditedGguf&, const std::string&);

std::vector<std::string> key_texts(const EditedGguf& file, const std::string& name) {
    const std::string& bytes = find_key(file, name).value;
    std::uint64_t n = 0;
    std::memcpy(&n, bytes.data() + 8, sizeof n);
    std::vector<std::string> texts;
    std::size_t at = 16;
    for (std::uint64_t i = 0; i < n; ++i) {
        std::uint64_t length = 0;
        std::memcpy(&length, bytes.data() + at, sizeof length);
        texts.push_back(bytes.substr(at + 8, length));
        at += 8 + length;
    }
    return texts;
}

}  // namespace clasp::test
