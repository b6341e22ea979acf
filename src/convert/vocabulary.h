// The tokens of a model and how text becomes tokens, as the keys of a GGUF file say it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/status.h"
#include "convert/gguf_keys.h"
#include "convert/model_config.h"

namespace clasp::convert {

// Numbered as in SentencePiece's files and in GGUF.
enum class TokenType : std::int32_t { Normal = 1, Unknown, Control, User, Unused, Byte };

struct Token {
    std::string text;
    float score = 0.0F;
    TokenType type = TokenType::Unused;
};

struct Vocabulary {
    std::string kind;  // tokenizer.ggml.model: "llama" is SentencePiece, "gpt2" byte pairs
    std::string pre;   // tokenizer.ggml.pre: how text is cut before pairs are merged
    std::vector<Token> tokens;
    std::vector<std::string> merges;  // of byte pairs
    std::optional<std::uint32_t> bos, eos, unknown, padding;
    std::optional<bool> adds_bos, adds_eos, adds_space;
    std::string chat_template;

    [[nodiscard]] std::optional<std::uint32_t> find(std::string_view text) const;
};

inline constexpr std::size_t kMaxTokens = std::size_t{1} << 22U;
inline constexpr std::size_t kMaxTokenBytes = 4096;

// A token that files beside the vocabulary add to it or describe anew.
struct AddedToken {
    std::string text;
    bool is_control = false;
};
using AddedTokens = std::map<std::uint32_t, AddedToken>;

// SentencePiece's tokenizer.model. Errors have no path.
Result<Vocabulary> read_sentencepiece(std::string_view bytes);
// tokenizer.json of byte pairs, with the tokens that it adds.
Result<Vocabulary> read_tokenizer_json(const base::Json& json, AddedTokens& added);
// vocab.json and merges.txt, the two halves of older checkpoints; how text is cut is the tokenizer class's.
Result<Vocabulary> read_vocabulary_files(const base::Json& vocabulary, std::string_view merges,
                                         const std::string& tokenizer_class);
// The keys of another model's file, as they are; their tokens are read too.
struct CopiedVocabulary {
    GgufKeys keys;
    Vocabulary vocabulary;
};
Result<CopiedVocabulary> read_vocabulary_gguf(const std::string& path);

struct VocabularyRequest {
    std::string folder;
    std::string gguf;                   // --tokenizer-from; empty: the folder's own
    std::uint64_t n_rows = 0;           // of the embeddings
    std::string architecture;           // of the text model
    const ModelConfig* text = nullptr;  // its config, for the numbers of special tokens
    // Some families' templates are for lists of pictures and texts, which no reader of GGUF files
    // understands.
    bool keeps_template = false;
};

// Sets all tokenizer.* keys; notes get sentences about what was left out or filled in.
Status add_vocabulary(const VocabularyRequest& request, GgufKeys& keys, std::vector<std::string>& notes);

// added_tokens.json, tokenizer_config.json and special_tokens_map.json of a folder.
Result<AddedTokens> read_added_tokens(const std::string& folder);
// Lets a vocabulary have exactly n_rows tokens: added ones at their places, names where there is none.
Status fit_vocabulary(const AddedTokens& added, std::uint64_t n_rows, Vocabulary& vocabulary,
                      std::vector<std::string>& notes);

}  // namespace clasp::convert
