// How the authors of each vision family write a question about a picture.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/chat_template.h"
#include "engine/prompt.h"
#include "support/decoder_case.h"
#include "support/gguf_edit.h"
#include "support/vision_fixture.h"

namespace clasp::engine {
namespace {

constexpr const char* kSystem2 =
    "\u4f60\u662f\u7531\u4e0a\u6d77\u4eba\u5de5\u667a\u80fd\u5b9e\u9a8c\u5ba4\u8054\u5408\u5546\u6c64"
    "\u79d1\u6280\u5f00\u53d1\u7684\u4e66\u751f\u591a\u6a21\u6001\u5927\u6a21\u578b\uff0c\u82f1\u6587"
    "\u540d\u53ebInternVL, \u662f\u4e00\u4e2a\u6709\u7528\u65e0\u5bb3\u7684\u4eba\u5de5\u667a\u80fd"
    "\u52a9\u624b\u3002";
constexpr const char* kSystem3 =
    "\u4f60\u662f\u4e66\u751f\u00b7\u4e07\u8c61\uff0c\u82f1\u6587\u540d\u662fInternVL\uff0c\u662f"
    "\u7531\u4e0a\u6d77\u4eba\u5de5\u667a\u80fd\u5b9e\u9a8c\u5ba4\u3001\u6e05\u534e\u5927\u5b66\u53ca"
    "\u591a\u5bb6\u5408\u4f5c\u5355\u4f4d\u8054\u5408\u5f00\u53d1\u7684\u591a\u6a21\u6001\u5927\u8bed"
    "\u8a00\u6a21\u578b\u3002";

model::PictureWords words_of(const test::MmprojSpec& spec, const char* key = nullptr,
                             const char* name = nullptr) {
    test::EditedGguf file = test::EditedGguf::parse(test::random_mmproj(spec));
    if (key != nullptr) file.key(key).set_text(name);
    const std::string bytes = file.bytes();
    const auto info = model::inspect_vision(test::bytes_of(bytes));
    EXPECT_TRUE(info.ok()) << info.status().message();
    return info.ok() ? info->words : model::PictureWords();
}

// The prompt of a question about one picture, control tokens written out.
std::string written(const std::string& architecture, const model::PictureWords& words,
                    const std::string& chat_template = "", const std::string& name = "random") {
    test::RandomLlama spec = test::random_architecture(architecture);
    spec.n_layers = 1;
    spec.chat_template = chat_template;
    spec.name = name;
    spec.adds_space = false;
    spec.control_tokens = {"<|im_start|>",  "<|im_end|>", "<|system|>", "<|user|>",
                           "<|assistant|>", "<|end|>",    "[INST]",     "[/INST]"};
    const auto text = test::load_random_llama("family_prompt", spec);
    Message message;
    message.parts = {{.text = {}, .image = ImageSource()}, {.text = "Why?"}};
    const auto prompt = build_prompt(*text, std::span(&message, 1), {.words = words});
    EXPECT_TRUE(prompt.ok()) << prompt.status().message();
    std::string all;
    for (const PromptPiece& piece : prompt->pieces) {
        if (piece.image >= 0) all += "<image>";
        for (const std::int32_t token : piece.tokens) all += text->piece(token, true);
    }
    // The made-up vocabulary has a mark for each space, and a beginning of each text.
    constexpr std::string_view kSpace = "\u2581";
    for (std::size_t at = all.find(kSpace); at != std::string::npos; at = all.find(kSpace, at)) {
        all.replace(at, kSpace.size(), " ");
    }
    return all.starts_with("<s>") ? all.substr(3) : all;
}

std::string chatml(const std::string& system, const std::string& after_turn) {
    return "<|im_start|>system\n" + system + "<|im_end|>" + after_turn +
           "<|im_start|>user\n<image>\nWhy?<|im_end|>" + after_turn + "<|im_start|>assistant\n";
}

TEST(FamilyPrompts, InternvlTwoAndAHalfAndThreeAreChatmlWithTheirSystemText) {
    const test::MmprojSpec spec = test::internvl_mmproj();
    for (const char* name : {"InternVL2_5 1B", "InternVL2.5-8B", "InternVL3 8B Instruct", "Internvl2_5-4b"}) {
        SCOPED_TRACE(name);
        const model::PictureWords words = words_of(spec, "general.name", name);
        EXPECT_EQ(written("qwen2", words), chatml(kSystem3, "\n"));
        EXPECT_EQ(written("internlm2", words), chatml(kSystem3, "\n"));
    }
    EXPECT_EQ(written("qwen2", words_of(spec)), chatml(kSystem3, "\n")) << "a file that does not say";
}

TEST(FamilyPrompts, InternvlTwoHasNoLineBreakBehindATurn) {
    const test::MmprojSpec spec = test::internvl_mmproj();
    for (const char* key : {"general.name", "general.basename", "general.base_model.0.name"}) {
        SCOPED_TRACE(key);
        const model::PictureWords words = words_of(spec, key, "InternVL2-8B");
        EXPECT_EQ(written("qwen2", words), chatml(kSystem2, ""));
        EXPECT_EQ(written("internlm2", words), chatml(kSystem2, ""));
        EXPECT_EQ(written("phi3", words), "<|system|>\n" + std::string(kSystem2) +
                                              "<|end|><|user|>\n<image>\nWhy?<|end|><|assistant|>\n");
    }
}

TEST(FamilyPrompts, LlavaNextOnYiIsChatmlInOneLinePerTurn) {
    const std::string own =
        "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}";
    const model::PictureWords next = words_of(test::tiled({}));
    EXPECT_EQ(written("llama", next, own), chatml("Answer the questions.", ""));
    // Those on Qwen keep the usual ChatML; LLaVA-1.5 has no words of its own.
    const std::string usual = "<|im_start|>user\n<image>\nWhy?<|im_end|>\n<|im_start|>assistant\n";
    EXPECT_EQ(written("qwen2", next, own), usual);
    EXPECT_EQ(written("llama", words_of({}), own), usual);
}

TEST(FamilyPrompts, LlavaNextOnMistralHasNoSystemText) {
    const std::string own =
        "{{ bos_token }}{% for m in messages %}[INST] {{ m['content'] }} [/INST]{{ eos_token }}{% endfor %}";
    EXPECT_EQ(written("llama", words_of(test::tiled({})), own), "[INST] <image>\nWhy? [/INST]");
}

// Files without a template of their own: who the decoder is, its name or its shape tells.
TEST(FamilyPrompts, LlavaNextKnowsMistralAndYiWithoutATemplate) {
    const model::PictureWords next = words_of(test::tiled({}));
    EXPECT_EQ(written("llama", next, "", "Llava V1.6 Mistral 7B"), "[INST] <image>\nWhy? [/INST]");
    EXPECT_NE(written("llama", words_of({}), "", "BakLLaVA Mistral 7B"), "[INST] <image>\nWhy? [/INST]")
        << "LLaVA-1.5's kind on Mistral was trained with Vicuna's words";
    const auto known = test::load_random_llama("usual_template", {.n_layers = 1});
    model::TextConfig config = known->config();
    EXPECT_EQ(usual_template(config, next), "");
    config.n_layers = 32;
    config.width = 4096;
    config.n_kv_heads = 8;
    config.ffn_width = 14336;
    config.vocabulary = 32064;
    EXPECT_EQ(usual_template(config, next), "llama2");
    EXPECT_EQ(usual_template(config, {}), "");
    config.vocabulary = 128256;
    EXPECT_EQ(usual_template(config, next), "") << "Llama 3";
    config.n_layers = 60;
    config.vocabulary = 64000;
    EXPECT_EQ(usual_template(config, next), "chatml");
}

TEST(FamilyPrompts, VideoLlavaHasASystemSentenceInTheAuthorsModelAlone) {
    const std::string turn = "USER: <image>\nWhy? ASSISTANT:";
    const std::string authors = written("llama", words_of(test::videollava_mmproj()));
    EXPECT_TRUE(authors.starts_with("A chat between a curious human"));
    EXPECT_TRUE(authors.ends_with("to the human's questions. " + turn));
    EXPECT_EQ(written("llama", words_of(test::videollava_mmproj({.has_time = false, .is_port = true}))),
              turn);
}

TEST(FamilyPrompts, LlavaNextOnVicunaIsAsLlavaBefore) {
    EXPECT_EQ(written("llama", words_of(test::tiled({}))),
              "A chat between a curious human and an artificial intelligence assistant. The assistant gives "
              "helpful, detailed, and polite answers to the human's questions. USER: <image>\nWhy? "
              "ASSISTANT:");
}

}  // namespace
}  // namespace clasp::engine
