// Folders of which one file is not as it should be: each is refused with one sentence, and nothing is
// written.
#include <sys/stat.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "convert_case.h"
#include "one_sentence.h"

namespace clasp {
namespace {

using namespace test;
using testing::HasSubstr;

class HostileFolder : public ConvertCase {
   protected:
    void SetUp() override {
        ConvertCase::SetUp();
        RandomLlama text = llava_family_text();
        text.n_layers = 1;
        MmprojSpec vision = clip_family_vision();
        vision.n_blocks = 1;
        pair_ = {made_text(text), made_vision(vision)};
        write_llava_port(pair_, {.n_files = 2}, false, false);
        // The engine wants some blocks more than this; the plans below end before it is asked, or it is told.
        config_ = {{"model_type", "llava"},
                   {"text_config", text_config(pair_.text)},
                   {"vision_config", clip_config(pair_.vision, 1)}};
    }
    void refuse(const std::string& sentence) {
        SCOPED_TRACE(sentence);
        const auto report = convert::convert(options());
        expect_sentence(report.status(), sentence);
        EXPECT_FALSE(std::filesystem::exists(text_path()));
        EXPECT_FALSE(std::filesystem::exists(vision_path()));
    }
    void with_file(const std::string& name, const std::string& text, const std::string& sentence) {
        const auto kept = base::read_file((folder() / name).string(), 1U << 30U);
        write_text_file(folder() / name, text);
        refuse(sentence);
        if (kept.ok()) {
            write_text_file(folder() / name, *kept);
        } else {
            std::filesystem::remove(folder() / name);
        }
    }
    void with_config(const std::function<void(base::Json&)>& change, const std::string& sentence) {
        base::Json config = config_;
        change(config);
        with_file("config.json", base::dump_json(config), sentence);
    }

    Pair pair_;
    base::Json config_;
};

TEST_F(HostileFolder, Indices) {
    const std::string name = "model.safetensors.index.json";
    with_file(name, "", "model.safetensors.index.json");
    with_file(name, "[]", "no weight_map");
    with_file(name, "{}", "no weight_map");
    with_file(name, R"({"weight_map":{}})", "no weight_map");
    with_file(name, R"({"weight_map":[1]})", "no weight_map");
    with_file(name, R"({"weight_map":{"a":1}})", "no plain name");
    for (const std::string shard :
         {"../model.safetensors", "/etc/model.safetensors", "sub/model.safetensors", "..",
          ".hidden.safetensors", "", "a.bin", "a\\\\b.safetensors", "model.safetensors\\u0000"}) {
        with_file(name, R"({"weight_map":{"a":")" + shard + "\"}}", "no plain name");
    }
    with_file(name, R"({"weight_map":{"a":"missing.safetensors"}})", "missing.safetensors");
    with_file(name, R"({"weight_map":{"nothing":"model-1-of-2.safetensors"}})", "is not in");
    const std::string deep(100, '[');
    with_file(name, deep + std::string(100, ']'), "index.json");
    std::string map;
    for (int i = 0; i < 5000; ++i)
        map += ",\"t" + std::to_string(i) + "\":\"" + std::to_string(i) + ".safetensors\"";
    with_file(name, "{\"weight_map\":{" + map.substr(1) + "}}", "more than 4096 files");
}

TEST_F(HostileFolder, TensorsWithoutEnd) {
    std::string head;
    for (int i = 0; i <= 1 << 17; ++i) {
        head += ",\"" + std::to_string(i) + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
    }
    std::filesystem::remove(folder() / "model.safetensors.index.json");
    with_file("model.safetensors", safetensors_of_head("{" + head.substr(1) + "}", ""),
              "more than 131072 tensors");
}

TEST_F(HostileFolder, FilesThatAreNoFiles) {
    namespace fs = std::filesystem;
    const fs::path shard = folder() / "model-2-of-2.safetensors";
    fs::rename(shard, folder() / "kept");
    fs::create_directory(shard);
    refuse("is a folder");
    fs::remove(shard);
    ASSERT_EQ(mkfifo(shard.c_str(), 0600), 0);
    refuse("is a pipe");
    fs::remove(shard);
    fs::create_symlink("/dev/zero", shard);
    refuse("is a device");
    fs::remove(shard);
    write_text_file(shard, "version https://git-lfs.example/spec/v1\noid sha256:0\nsize 1\n");
    refuse("pointer of git-lfs");
    fs::copy_file(folder() / "model-1-of-2.safetensors", shard, fs::copy_options::overwrite_existing);
    refuse("is also in");
    fs::remove(shard);
    refuse("model-2-of-2.safetensors");
}

TEST_F(HostileFolder, Configs) {
    with_file("config.json", "", "config.json");
    with_file("config.json", "[1]", "config.json");
    with_file("config.json", "{", "config.json");
    with_file("config.json", "{}", "what can be converted is");
    with_file("config.json", R"({"model_type":"qwen2_vl"})", "'qwen2_vl'");
    const auto text = [](const char* key, const base::Json& value) {
        return [=](base::Json& config) { config["text_config"][key] = value; };
    };
    const auto tower = [](const char* key, const base::Json& value) {
        return [=](base::Json& config) { config["vision_config"][key] = value; };
    };
    with_config(text("hidden_size", 0), "hidden_size");
    with_config(text("hidden_size", -1), "hidden_size");
    with_config(text("hidden_size", "96"), "hidden_size");
    with_config(text("hidden_size", 97), "has the shape");
    with_config(text("hidden_size", std::uint64_t{1} << 40U), "hidden_size");
    with_config(text("num_hidden_layers", 2), "has no tensor");
    with_config(text("num_hidden_layers", 100000), "num_hidden_layers");
    with_config(text("num_attention_heads", 5), "num_attention_heads");
    with_config(text("rms_norm_eps", 2.0), "rms_norm_eps");
    with_config(text("rms_norm_eps", "small"), "rms_norm_eps");
    with_config(text("rope_theta", -1.0), "rope_theta");
    with_config(text("rope_scaling", base::Json{{"type", "magic"}}), "rope_scaling");
    with_config(text("rope_scaling", base::Json{{"type", "linear"}}), "factor is missing");
    with_config(text("rope_scaling", base::Json{{"type", "longrope"}}), "phi3 alone");
    with_config(text("hidden_act", "relu"), "hidden_act");
    with_config(text("architectures", base::Json::array({"MambaForCausalLM"})), "MambaForCausalLM");
    with_config(tower("image_size", 28), "has the shape");
    with_config(tower("patch_size", 0), "patch_size");
    with_config(tower("hidden_act", "gelu_new"), "hidden_act");
    with_config(tower("num_attention_heads", 3), "would not load");
    with_config(tower("model_type", "siglip_vision_model"), "siglip_vision_model");
    with_config([](base::Json& config) { config["vision_feature_layer"] = -3; }, "hidden state -3");
    with_config(
        [](base::Json& config) {
            config["vision_feature_layer"] = base::Json::array({-2, -5});
        },
        "one layer");
    with_config([](base::Json& config) { config["vision_feature_select_strategy"] = "full"; }, "default");
    with_config([](base::Json& config) { config["model_type"] = "llava_next"; }, "image_grid_pinpoints");
    with_config(
        [](base::Json& config) {
            config["model_type"] = "llava_next";
            config["image_grid_pinpoints"] = base::Json::array({base::Json::array({336, 0})});
        },
        "pairs of pixels");
}

TEST_F(HostileFolder, ConfigsOfInternVl) {
    RandomLlama text = random_architecture("internlm2");
    text.n_layers = 1;
    MmprojSpec vision = internvl_family_vision();
    vision.projector_width = vision.output_width = 64;
    vision.n_blocks = 1;
    const Pair pair = {made_text(text), made_vision(vision)};
    std::filesystem::remove_all(folder());
    std::filesystem::create_directories(folder());
    write_internvl(pair, {});
    config_ = internvl_config(pair.vision);
    config_["llm_config"] = text_config(pair.text);
    const auto with = [&](const char* key, const base::Json& value, const std::string& sentence) {
        with_config([&](base::Json& config) { config[key] = value; }, sentence);
    };
    with("ps_version", "v1", "ps_version");
    with("downsample_ratio", 0.3, "downsample_ratio");
    with("downsample_ratio", 0.0, "downsample_ratio");
    with("downsample_ratio", 1e-300, "downsample_ratio");
    with("force_image_size", 448, "positions are for 56 pixels");
    with("select_layer", 3, "select_layer");
    with("select_layer", -9, "select_layer");
    with("use_thumbnail", false, "thumbnail");
    with("pad2square", true, "pad2square");
    with("max_dynamic_patch", 0, "max_dynamic_patch");
    with("min_dynamic_patch", 13, "above max_dynamic_patch");
    const auto tower = [&](const char* key, const base::Json& value, const std::string& sentence) {
        with_config([&](base::Json& config) { config["vision_config"][key] = value; }, sentence);
    };
    tower("norm_type", "batch_norm", "norm_type");
    tower("hidden_act", "relu", "hidden_act");
    tower("qk_normalization", true, "has no tensor vision_model.encoder.layers.0.attn.q_norm.weight");
    tower("qkv_bias", false, "is none that this family");
    tower("qkv_bias", "yes", "neither true nor false");
    with_config([](base::Json& config) { config["llm_config"]["num_key_value_heads"] = 4; }, "has the shape");
}

TEST_F(HostileFolder, ConfigsOfTheAuthorsLlava) {
    std::filesystem::remove_all(folder());
    std::filesystem::create_directories(folder());
    write_llava(pair_, {}, false);
    config_ = text_config(pair_.text);
    config_["architectures"] = base::Json::array({"LlavaLlamaForCausalLM"});
    config_["mm_vision_tower"] = "somebody/a-tower";
    config_["mm_projector_type"] = "mlp2x_gelu";
    config_["image_aspect_ratio"] = "pad";
    const auto with = [&](const char* key, const base::Json& value, const std::string& sentence) {
        with_config([&](base::Json& config) { config[key] = value; }, sentence);
    };
    with("mm_projector_type", "linear", "mm_projector_type");
    with("mm_vision_select_feature", "cls_patch", "mm_vision_select_feature");
    with("image_aspect_ratio", "anyres_max_9", "image_aspect_ratio");
    with("image_aspect_ratio", "anyres", "image_grid_pinpoints");
    with("mm_vision_select_layer", -25, "hidden state -25");
    with("mm_vision_tower", "somebody/another", "--vision-tower");
    with("mm_vision_tower", "../../etc", "--vision-tower");
    with("mm_vision_tower", "openai/clip-vit-large-patch14-336", "does not hold the weights");
    with("architectures", base::Json::array({"LlavaMptForCausalLM"}), "LlavaMptForCausalLM");
}

TEST_F(HostileFolder, Tokenizers) {
    with_file("tokenizer.model", "x", "tokenizer.model");
    with_file("tokenizer_config.json", "{", "tokenizer_config.json");
    with_file("tokenizer_config.json", R"({"added_tokens_decoder":{"x":{"content":"y"}}})", "no number");
    with_file("tokenizer_config.json", R"({"added_tokens_decoder":{"7":{}}})", "no text");
    with_file("added_tokens.json", R"({"<x>":-1})", "is not below");
    with_file("added_tokens.json", R"({"<x>":"1"})", "is not below");
    with_file("added_tokens.json", R"({"a":280,"b":280})", "another file");
    with_file("added_tokens.json", R"({"z":270})", "appears twice");
    std::filesystem::remove(folder() / "tokenizer.model");
    refuse("has no tokenizer");
    with_file("tokenizer.json", "{}", "of which type");
    with_file("tokenizer.json", R"({"model":{"type":"Unigram"}})", "--tokenizer-from");
    with_file("tokenizer.json", R"({"model":{"type":"BPE","byte_fallback":true}})", "--tokenizer-from");
    with_file("tokenizer.json", R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[]}})", "cuts text");
    with_file("vocab.json", "{}", "has no tokenizer");
}

TEST_F(HostileFolder, WeightsThatAreNoNumbers) {
    auto tensors = text_tensors(pair_.text, "language_model.model.", "language_model.lm_head.weight");
    append(tensors, clip_tensors(pair_.vision, "vision_tower.vision_model.", 1));
    append(tensors,
           llava_projector(pair_.vision, "multi_modal_projector.linear_1", "multi_modal_projector.linear_2"));
    std::filesystem::remove(folder() / "model.safetensors.index.json");
    const auto with = [&](const std::string& name, float value, const std::string& type,
                          const std::string& sentence) {
        auto changed = tensors;
        for (MadeTensor& tensor : changed) {
            if (tensor.name == name) std::memcpy(tensor.data.data() + 40, &value, sizeof value);
        }
        write_weights(folder(), changed, {});
        auto wanted = options();
        wanted.type = wanted.mmproj_type = type;
        const auto report = convert::convert(wanted);
        expect_sentence(report.status(), sentence);
        EXPECT_THAT(report.status().message(), HasSubstr("element 10"));
        EXPECT_FALSE(std::filesystem::exists(text_path()));
    };
    const std::string matrix = "language_model.model.layers.0.mlp.up_proj.weight";
    with(matrix, std::nanf(""), "f32", "no finite number");
    with(matrix, INFINITY, "q8_0", "no finite number");
    with(matrix, 70000.0F, "f16", "choose the type bf16");
    auto more = tensors;
    more.push_back(
        {.name = "language_model.model.layers.0.adapter", .dtype = "F32", .shape = {1}, .data = "abcd"});
    write_weights(folder(), more, {});
    refuse("is none that this family");
    auto whole = tensors;
    for (MadeTensor& tensor : whole) {
        if (tensor.name == matrix) {
            tensor.dtype = "U8";
            tensor.data.resize(tensor.data.size() / 4);
        }
    }
    write_weights(folder(), whole, {});
    refuse("is of the type U8");
}

}  // namespace
}  // namespace clasp
