#include "convert/vocabulary.h"

#include <algorithm>

#include "base/text.h"
#include "convert/checkpoint.h"

namespace clasp::convert {
namespace {

using base::Json;

constexpr std::size_t kMaxModelBytes = std::size_t{64} << 20U;

// The folder's own vocabulary: SentencePiece's file, else tokenizer.json, else vocab.json and merges.txt.
Result<Vocabulary> read_own(const std::string& folder, AddedTokens& added) {
    CLASP_ASSIGN_OR_RETURN(const auto pieces, read_small_file(folder, "tokenizer.model", kMaxModelBytes));
    if (pieces) {
        auto vocabulary = read_sentencepiece(*pieces);
        if (!vocabulary.ok()) return vocabulary.status().with_context("tokenizer.model");
        return vocabulary;
    }
    CLASP_ASSIGN_OR_RETURN(const auto json, read_json_file(folder, "tokenizer.json"));
    if (json) return read_tokenizer_json(*json, added);
    CLASP_ASSIGN_OR_RETURN(const auto map, read_json_file(folder, "vocab.json"));
    CLASP_ASSIGN_OR_RETURN(const auto merges, read_small_file(folder, "merges.txt", kMaxModelBytes));
    if (map && merges) {
        CLASP_ASSIGN_OR_RETURN(const auto config, read_json_file(folder, "tokenizer_config.json"));
        std::string tokenizer_class;
        if (config) tokenizer_class = (*config)["tokenizer_class"].get<std::string>().value_or("");
        return read_vocabulary_files(*map, *merges, tokenizer_class);
    }
    return Status(Code::NotFound,
                  base::path_in_quotes(folder) +
                      " has no tokenizer: neither tokenizer.model nor tokenizer.json nor "
                      "vocab.json with merges.txt; --tokenizer-from takes it from a GGUF file");
}

// The number of a special token that a config names by its text, which may be inside an object.
std::optional<std::uint32_t> named_token(const Vocabulary& vocabulary, const Json& name) {
    std::string text;
    if (!name.get_to(text) && !name["content"].get_to(text)) return std::nullopt;
    return vocabulary.find(text);
}

std::optional<bool> read_switch(const Json& value) {
    return value.get<bool>();
}

// What tokenizer_config.json says of special tokens, and config.json where the former says nothing.
Status read_settings(const VocabularyRequest& request, Vocabulary& vocabulary) {
    CLASP_ASSIGN_OR_RETURN(const auto file, read_json_file(request.folder, "tokenizer_config.json"));
    const Json config = file.value_or(Json::object());
    const auto set_token = [&](std::optional<std::uint32_t>& token, const char* name) -> Status {
        if (const auto named = named_token(vocabulary, config[std::string(name) + "_token"])) {
            token = named;
            return ok_status();
        }
        const std::string key = std::string(name) + "_token_id";
        std::uint32_t id = 0;
        if (!token && request.text != nullptr && request.text->json()[key].get_to(id)) token = id;
        return ok_status();
    };
    CLASP_RETURN_IF_ERROR(set_token(vocabulary.bos, "bos"));
    CLASP_RETURN_IF_ERROR(set_token(vocabulary.eos, "eos"));
    CLASP_RETURN_IF_ERROR(set_token(vocabulary.unknown, "unk"));
    CLASP_RETURN_IF_ERROR(set_token(vocabulary.padding, "pad"));
    const bool is_pieces = vocabulary.kind == "llama";
    vocabulary.adds_bos = read_switch(config["add_bos_token"]).value_or(is_pieces);
    vocabulary.adds_eos = read_switch(config["add_eos_token"]).value_or(false);
    if (is_pieces) {
        if (const auto adds = read_switch(config["add_prefix_space"])) vocabulary.adds_space = adds;
    }
    // Its conversations end with this mark, whatever the settings call the end of a text.
    if (request.architecture == "internlm2") {
        if (const auto end = vocabulary.find("<|im_end|>")) vocabulary.eos = end;
    }
    if (request.keeps_template) static_cast<void>(config["chat_template"].get_to(vocabulary.chat_template));
    return ok_status();
}

Status check_tokens(const Vocabulary& vocabulary) {
    struct Named {
        const char* name;
        std::optional<std::uint32_t> id;
    };
    for (const Named& token : {Named{"first", vocabulary.bos}, Named{"last", vocabulary.eos},
                               Named{"unknown", vocabulary.unknown}, Named{"padding", vocabulary.padding}}) {
        if (!token.id || *token.id < vocabulary.tokens.size()) continue;
        return {Code::Corrupt, std::string("the ") + token.name + " token has the number " +
                                   std::to_string(*token.id) + ", but the vocabulary has " +
                                   std::to_string(vocabulary.tokens.size()) + " tokens"};
    }
    if (vocabulary.adds_bos.value_or(false) && !vocabulary.bos) {
        return {Code::Corrupt, "the tokenizer puts a first token before texts but names none"};
    }
    if (vocabulary.adds_eos.value_or(false) && !vocabulary.eos) {
        return {Code::Corrupt, "the tokenizer puts a last token behind texts but names none"};
    }
    return ok_status();
}

void set_tokens(const Vocabulary& vocabulary, GgufKeys& keys) {
    std::vector<std::string> texts;
    std::vector<float> scores;
    std::vector<std::int32_t> types;
    for (const Token& token : vocabulary.tokens) {
        texts.push_back(token.text);
        scores.push_back(token.score);
        types.push_back(static_cast<std::int32_t>(token.type));
    }
    keys.set_texts("tokenizer.ggml.tokens", texts);
    if (vocabulary.kind == "llama") keys.set_floats("tokenizer.ggml.scores", scores);
    keys.set_integers("tokenizer.ggml.token_type", types);
}

void set_keys(const Vocabulary& vocabulary, GgufKeys& keys) {
    keys.set_text("tokenizer.ggml.model", vocabulary.kind);
    keys.set_text("tokenizer.ggml.pre", vocabulary.pre);
    set_tokens(vocabulary, keys);
    if (vocabulary.kind == "gpt2") keys.set_texts("tokenizer.ggml.merges", vocabulary.merges);
    const auto set_id = [&](const char* name, std::optional<std::uint32_t> id) {
        if (id) keys.set_u32(std::string("tokenizer.ggml.") + name + "_token_id", *id);
    };
    set_id("bos", vocabulary.bos);
    set_id("eos", vocabulary.eos);
    set_id("unknown", vocabulary.unknown);
    set_id("padding", vocabulary.padding);
    const auto set_switch = [&](const char* name, std::optional<bool> value) {
        if (value) keys.set_flag(std::string("tokenizer.ggml.") + name, *value);
    };
    set_switch("add_bos_token", vocabulary.adds_bos);
    set_switch("add_eos_token", vocabulary.adds_eos);
    set_switch("add_space_prefix", vocabulary.adds_space);
    if (!vocabulary.chat_template.empty()) {
        keys.set_text("tokenizer.chat_template", vocabulary.chat_template);
    }
}

// Tokens that the folder adds must be those of the file, where it has any at their numbers.
Status check_same_tokens(const AddedTokens& added, const Vocabulary& vocabulary, const std::string& file) {
    for (const auto& [id, entry] : added) {
        if (id >= vocabulary.tokens.size()) continue;
        const Token& token = vocabulary.tokens[id];
        if (token.text == entry.text || token.type == TokenType::Unused || token.text.starts_with("[PAD")) {
            continue;
        }
        return {Code::InvalidArgument, base::path_in_quotes(file) + " has the token " +
                                           base::in_quotes(token.text) + " at " + std::to_string(id) +
                                           ", where the checkpoint has " + base::in_quotes(entry.text) +
                                           ": it is the tokenizer of another model"};
    }
    return ok_status();
}

Status add_copied(const VocabularyRequest& request, const AddedTokens& added, GgufKeys& keys,
                  std::vector<std::string>& notes) {
    CLASP_ASSIGN_OR_RETURN(CopiedVocabulary copied, read_vocabulary_gguf(request.gguf));
    CLASP_RETURN_IF_ERROR(check_same_tokens(added, copied.vocabulary, request.gguf));
    if (copied.vocabulary.tokens.size() > request.n_rows) {
        return {Code::InvalidArgument, base::path_in_quotes(request.gguf) + " has " +
                                           std::to_string(copied.vocabulary.tokens.size()) +
                                           " tokens, more than the " + std::to_string(request.n_rows) +
                                           " rows of the embeddings: it is the tokenizer of another model"};
    }
    CLASP_RETURN_IF_ERROR(fit_vocabulary(added, request.n_rows, copied.vocabulary, notes));
    set_tokens(copied.vocabulary, copied.keys);
    keys.append(copied.keys);
    return ok_status();
}

}  // namespace

std::optional<std::uint32_t> Vocabulary::find(std::string_view text) const {
    const auto found =
        std::find_if(tokens.begin(), tokens.end(), [&](const Token& token) { return token.text == text; });
    if (found == tokens.end()) return std::nullopt;
    return static_cast<std::uint32_t>(found - tokens.begin());
}

Status add_vocabulary(const VocabularyRequest& request, GgufKeys& keys, std::vector<std::string>& notes) {
    CLASP_ASSIGN_OR_RETURN(AddedTokens added, read_added_tokens(request.folder));
    if (!request.gguf.empty()) return add_copied(request, added, keys, notes);
    AddedTokens listed;
    CLASP_ASSIGN_OR_RETURN(Vocabulary vocabulary, read_own(request.folder, listed));
    for (auto& [id, token] : listed) {
        const auto [known, is_new] = added.emplace(id, token);
        known->second.is_control = known->second.is_control || token.is_control;
    }
    CLASP_RETURN_IF_ERROR(fit_vocabulary(added, request.n_rows, vocabulary, notes));
    CLASP_RETURN_IF_ERROR(read_settings(request, vocabulary));
    CLASP_RETURN_IF_ERROR(check_tokens(vocabulary));
    set_keys(vocabulary, keys);
    return ok_status();
}

}  // namespace clasp::convert
