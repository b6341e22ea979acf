// Vocabularies: what libllama makes of texts is the same with the file that a checkpoint's tokenizer was made
// of and with the converted one.
#include <llama.h>

#include <memory>

#include "convert/vocabulary.h"
#include "convert_case.h"
#include "model/llama_text.h"
#include "model/text_file.h"

namespace clasp {
namespace {

using namespace test;
using testing::Contains;
using testing::HasSubstr;

const std::vector<std::string>& texts() {
    static const std::vector<std::string> list = {
        "",
        "Hello, world!",
        " Hello  world ",
        "How many red cups are on the table?\nAnswer with one word.",
        "tabs\tand\r\nline breaks\n\n\n  ",
        "don't we'll I'M they'RE",
        "1234567890 3.14159 0x1F 12,345.67",
        "caf\u00e9 na\u00efve \u00fcber stra\u00dfe",
        "\u4f60\u662f\u7531\u4e0a\u6d77\u4eba\u5de5\u667a\u80fd\u5b9e\u9a8c\u5ba4",
        "\u041f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440",
        "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645",
        "\U0001f600\U0001f680 emoji \U0001f1e9\U0001f1ea",
        "x = {'a': [1, 2], \"b\": None}  # code",
        "USER: what is this? ASSISTANT:",
        "<|im_start|>user\nhi<|im_end|>\n",
        "<s>[INST] go [/INST]</s>",
        std::string(500, 'a'),
        "a\u0301\u200b\ufeff\u00a0 odd spaces",
    };
    return list;
}

class ConvertTokenizer : public ConvertCase {
   protected:
    void SetUp() override {
        ConvertCase::SetUp();
        if (std::string(llama_source_dir()).empty()) GTEST_SKIP() << "llama.cpp's source tree is not here";
    }
    static std::string vocabulary_file(const std::string& name) {
        return std::string(llama_source_dir()) + "/models/ggml-vocab-" + name + ".gguf";
    }

    // A small model over a real vocabulary, as a checkpoint.
    Pair write_model(const std::string& vocabulary, const std::string& architecture) {
        RandomLlama spec = random_architecture(architecture);
        spec.n_layers = 1;
        spec.width = 32;
        spec.n_heads = spec.n_kv_heads = 2;
        spec.ffn_width = 32;
        spec.type = GGML_TYPE_F16;
        spec.vocabulary_file = vocabulary_file(vocabulary);
        MmprojSpec vision = clip_family_vision();
        vision.output_width = 32;
        Pair pair = {made_text(spec), made_vision(vision)};
        base::Json config = {{"model_type", "llava"},
                             {"text_config", text_config(pair.text)},
                             {"vision_config", clip_config(pair.vision, 1)}};
        auto tensors = text_tensors(pair.text, "language_model.model.", "language_model.lm_head.weight");
        append(tensors, clip_tensors(pair.vision, "vision_tower.vision_model.", 1));
        append(tensors, llava_projector(pair.vision, "multi_modal_projector.linear_1",
                                        "multi_modal_projector.linear_2"));
        write_weights(folder(), tensors, {.dtype = "F16"});
        write_json(folder() / "config.json", config);
        return pair;
    }

    convert::ConvertReport converted(convert::ConvertOptions wanted) {
        wanted.type = wanted.mmproj_type = "f16";
        auto report = convert::convert(wanted);
        EXPECT_TRUE(report.ok()) << report.status().message();
        return report.ok() ? *report : convert::ConvertReport();
    }

    static std::vector<std::vector<std::int32_t>> tokens_of(const std::string& path) {
        llama_model_params params = llama_model_default_params();
        params.vocab_only = true;
        params.load_mode = LLAMA_LOAD_MODE_NONE;  // these files have no data that could be mapped
        const auto file = base::InputFile::open(path);
        const auto loaded = model::load_llama_model(*file, params);
        std::vector<std::vector<std::int32_t>> all;
        EXPECT_TRUE(loaded.ok()) << loaded.status().message();
        if (!loaded.ok()) return all;
        for (const std::string& text : texts()) {
            for (const bool parses_marks : {false, true}) {
                auto tokens = model::tokenize(llama_model_get_vocab(loaded->get()), text, parses_marks);
                EXPECT_TRUE(tokens.ok()) << text;
                all.push_back(tokens.ok() ? *tokens : std::vector<std::int32_t>());
            }
        }
        return all;
    }

    void expect_same_tokens(const std::string& vocabulary) const {
        const auto wanted = tokens_of(vocabulary_file(vocabulary));
        const auto got = tokens_of(text_path());
        ASSERT_EQ(got.size(), wanted.size());
        for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(got[i], wanted[i]) << texts()[i / 2];
    }

    // tokenizer.json of a vocabulary of byte pairs.
    static base::Json tokenizer_json(const EditedGguf& file, const std::string& expression) {
        const auto tokens = key_texts(file, "tokenizer.ggml.tokens");
        const auto types = key_array<std::int32_t>(file, "tokenizer.ggml.token_type");
        std::vector<base::JsonMember> map;
        base::Json added = base::Json::array();
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            if (types[i] == 1) {
                map.push_back({tokens[i], base::Json(i)});
            } else {
                added.push_back({{"id", i}, {"content", tokens[i]}, {"special", types[i] == 3}});
            }
        }
        base::Json merges = base::Json::array();
        for (const std::string& merge : key_texts(file, "tokenizer.ggml.merges")) merges.push_back(merge);
        const base::Json pre = {
            {"type", "Sequence"},
            {"pretokenizers",
             base::Json::array({base::Json{{"type", "Split"}, {"pattern", {{"Regex", expression}}}},
                                base::Json{{"type", "ByteLevel"}}})}};
        base::Json model = {{"type", "BPE"}, {"merges", merges}};
        model["vocab"] = base::Json::object(std::move(map));
        return {{"added_tokens", added}, {"pre_tokenizer", pre}, {"model", model}};
    }
};

constexpr const char* kQwenExpression =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kLlama3Expression =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

TEST_F(ConvertTokenizer, SentencePieceOfLlama) {
    const Pair pair = write_model("llama-spm", "llama");
    write_tokenizer(folder(), pair.text, key_texts(pair.text, "tokenizer.ggml.tokens").size());
    converted(options());
    expect_same_tokens("llama-spm");
}

TEST_F(ConvertTokenizer, SentencePieceOfPhi3WithAddedTokens) {
    const Pair pair = write_model("phi-3", "llama");
    constexpr std::size_t kOwn = 32000;  // the tokens behind them are added ones
    write_tokenizer(folder(), pair.text, kOwn);
    converted(options());
    expect_same_tokens("phi-3");
}

TEST_F(ConvertTokenizer, BytePairsOfQwen2) {
    const Pair pair = write_model("qwen2", "qwen2");
    write_json(folder() / "tokenizer.json", tokenizer_json(pair.text, kQwenExpression));
    converted(options());
    EXPECT_EQ(key_text(read_gguf(text_path()), "tokenizer.ggml.pre"), "qwen2");
    expect_same_tokens("qwen2");
}

TEST_F(ConvertTokenizer, BytePairsOfLlama3) {
    const Pair pair = write_model("llama-bpe", "llama");
    write_json(folder() / "tokenizer.json", tokenizer_json(pair.text, kLlama3Expression));
    write_json(folder() / "tokenizer_config.json",
               {{"add_bos_token", true}, {"bos_token", "<|begin_of_text|>"}});
    converted(options());
    expect_same_tokens("llama-bpe");
}

TEST_F(ConvertTokenizer, BytePairsInTheTwoOlderFiles) {
    const Pair pair = write_model("qwen2", "qwen2");
    const base::Json json = tokenizer_json(pair.text, kQwenExpression);
    write_json(folder() / "vocab.json", json["model"]["vocab"]);
    std::string merges = "#version: 0.2\n";
    for (const std::string& merge : key_texts(pair.text, "tokenizer.ggml.merges")) merges += merge + "\n";
    write_text_file(folder() / "merges.txt", merges);
    base::Json decoder = base::Json::object();
    for (const base::Json& token : json["added_tokens"]) {
        decoder[std::to_string(token["id"].get<int>().value_or(-1))] = {{"content", token["content"]},
                                                                        {"special", token["special"]}};
    }
    write_json(folder() / "tokenizer_config.json",
               {{"tokenizer_class", "Qwen2Tokenizer"}, {"added_tokens_decoder", decoder}});
    converted(options());
    expect_same_tokens("qwen2");
}

TEST_F(ConvertTokenizer, TheTokenizerOfAnotherFile) {
    write_model("llama-spm", "llama");
    auto wanted = options();
    wanted.tokenizer_from = vocabulary_file("llama-spm");
    converted(wanted);
    expect_same_tokens("llama-spm");
}

TEST_F(ConvertTokenizer, TheTokenizerOfAnotherModelIsRefused) {
    write_model("llama-spm", "llama");
    auto wanted = options();
    wanted.tokenizer_from = vocabulary_file("qwen2");
    const auto larger = convert::convert(wanted);
    ASSERT_FALSE(larger.ok());
    EXPECT_THAT(larger.status().message(), HasSubstr("tokenizer of another model"));
    wanted.tokenizer_from = vocabulary_file("llama-spm");
    write_json(folder() / "added_tokens.json", {{"<image>", 31999}});
    const auto other = convert::convert(wanted);
    ASSERT_FALSE(other.ok());
    EXPECT_THAT(other.status().message(), HasSubstr("where the checkpoint has '<image>'"));
}

TEST(Vocabulary, IsFittedToTheRowsOfTheEmbeddings) {
    convert::Vocabulary vocabulary;
    vocabulary.tokens = {{"<unk>", 0.0F, convert::TokenType::Unknown},
                         {"a", -1.0F, convert::TokenType::Normal}};
    vocabulary.tokens.push_back({std::string(1, '\0'), -2.0F, convert::TokenType::Normal});
    std::vector<std::string> notes;
    const convert::AddedTokens added = {{3, {"<image>", true}}, {4, {"word", false}}, {9, {"<pad>", true}}};
    ASSERT_TRUE(convert::fit_vocabulary(added, 6, vocabulary, notes).ok());
    ASSERT_EQ(vocabulary.tokens.size(), 6U);
    EXPECT_EQ(vocabulary.tokens[2].text, "\U0001f409");
    EXPECT_EQ(vocabulary.tokens[3].type, convert::TokenType::Control);
    EXPECT_EQ(vocabulary.tokens[4].type, convert::TokenType::User);
    EXPECT_EQ(vocabulary.tokens[5].text, "[PAD5]");
    EXPECT_EQ(vocabulary.tokens[5].type, convert::TokenType::Unused);
    EXPECT_THAT(notes, Contains(HasSubstr("1 added tokens lie behind the 6 rows")));
    EXPECT_THAT(notes, Contains(HasSubstr("1 rows of the embeddings have no token")));
    EXPECT_FALSE(convert::fit_vocabulary({}, 5, vocabulary, notes).ok());
}

}  // namespace
}  // namespace clasp
