// Tokens that the files beside a vocabulary add to it.
#include <unordered_set>

#include "base/text.h"
#include "base/utf8.h"
#include "convert/checkpoint.h"
#include "convert/vocabulary.h"

namespace clasp::convert {
namespace {

using base::Json;

constexpr float kAddedScore = -1000.0F;
constexpr float kUnusedScore = -10000.0F;

// A token that is plainly a mark, whether a file says so or not.
bool looks_like_mark(std::string_view text) {
    return (text.starts_with("<|") && text.ends_with("|>")) || text == "<s>" || text == "</s>" ||
           text == "<pad>" || text == "<unk>" || text == "<mask>";
}

Status add_one(const char* file, const std::string& text, const Json& number, bool is_control,
               AddedTokens& added) {
    std::uint32_t id = 0;
    if (!number.get_to(id) || id >= kMaxTokens) {
        return {Code::Corrupt, std::string(file) + ": the number of the token " + base::in_quotes(text) +
                                   " is not below " + std::to_string(kMaxTokens)};
    }
    if (text.empty() || text.size() > kMaxTokenBytes || base::first_invalid_utf8(text)) {
        return {Code::Corrupt, std::string(file) + ": the text of token " + std::to_string(id) +
                                   " is empty, too long or not UTF-8"};
    }
    const auto [known, is_new] = added.emplace(id, AddedToken{text, is_control});
    if (!is_new && known->second.text != text) {
        return {Code::Corrupt, std::string(file) + ": token " + std::to_string(id) + " is " +
                                   base::in_quotes(text) + ", but another file says " +
                                   base::in_quotes(known->second.text)};
    }
    known->second.is_control = known->second.is_control || is_control;
    return ok_status();
}

}  // namespace

Result<AddedTokens> read_added_tokens(const std::string& folder) {
    AddedTokens added;
    CLASP_ASSIGN_OR_RETURN(const auto list, read_json_file(folder, "added_tokens.json"));
    if (list) {
        for (const auto& [text, number] : list->items()) {
            CLASP_RETURN_IF_ERROR(add_one("added_tokens.json", text, number, looks_like_mark(text), added));
        }
    }
    CLASP_ASSIGN_OR_RETURN(const auto config, read_json_file(folder, "tokenizer_config.json"));
    if (!config) return added;
    for (const auto& [key, token] : (*config)["added_tokens_decoder"].items()) {
        const auto id = base::parse_size(key);
        std::string text;
        if (!id || !token["content"].get_to(text)) {
            return Status(Code::Corrupt, "tokenizer_config.json: the added token " + base::in_quotes(key) +
                                             " has no number or no text");
        }
        const bool is_control = token["special"].get<bool>().value_or(false) || looks_like_mark(text);
        CLASP_RETURN_IF_ERROR(add_one("tokenizer_config.json", text, Json(*id), is_control, added));
    }
    return added;
}

Status fit_vocabulary(const AddedTokens& added, std::uint64_t n_rows, Vocabulary& vocabulary,
                      std::vector<std::string>& notes) {
    if (vocabulary.tokens.size() > n_rows) {
        return {Code::Corrupt, "the vocabulary has " + std::to_string(vocabulary.tokens.size()) +
                                   " tokens, more than the " + std::to_string(n_rows) +
                                   " rows of the embeddings"};
    }
    vocabulary.tokens.resize(static_cast<std::size_t>(n_rows));
    std::size_t n_left_out = 0;
    for (const auto& [id, entry] : added) {
        if (id >= n_rows) {
            ++n_left_out;
            continue;
        }
        Token& token = vocabulary.tokens[id];
        const bool is_known = token.text == entry.text;
        // Bytes and the unknown token stay what they are when a file merely lists them.
        if (is_known && (token.type == TokenType::Byte || token.type == TokenType::Unknown)) continue;
        token = {.text = entry.text,
                 .score = is_known ? token.score : kAddedScore,
                 .type = entry.is_control ? TokenType::Control : TokenType::User};
    }
    if (n_left_out > 0) {
        notes.push_back(std::to_string(n_left_out) + " added tokens lie behind the " +
                        std::to_string(n_rows) + " rows of the embeddings and are left out");
    }
    std::unordered_set<std::string> seen;
    std::size_t n_filled = 0;
    for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
        Token& token = vocabulary.tokens[id];
        if (token.text.empty()) {
            token = {
                .text = "[PAD" + std::to_string(id) + "]", .score = kUnusedScore, .type = TokenType::Unused};
            ++n_filled;
        }
        // A zero byte ends a text for those who read the file: such a piece is written as another character
        // that nothing else uses.
        if (token.text.find('\0') != std::string::npos) token.text = "\xf0\x9f\x90\x89";
        if (!seen.insert(token.text).second) {
            return {Code::Corrupt, "token " + std::to_string(id) + " of the vocabulary, " +
                                       base::in_quotes(token.text) + ", appears twice"};
        }
    }
    if (n_filled > 0) {
        notes.push_back(std::to_string(n_filled) +
                        " rows of the embeddings have no token and got names like [PAD32003]");
    }
    return ok_status();
}

}  // namespace clasp::convert
