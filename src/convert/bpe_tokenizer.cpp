// tokenizer.json, and the older pair of vocab.json and merges.txt: byte pairs.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "convert/vocabulary.h"

namespace clasp::convert {
namespace {

using base::Json;

// How text is cut before pairs are merged, by the expression that cuts it and by the class that says so
// without one. Names are those of llama.cpp, which does the cutting.
struct PreTokenizer {
    std::string_view name;
    std::string_view expression;
    std::string_view tokenizer_class;  // empty: none
};

constexpr std::array<PreTokenizer, 2> kPreTokenizers = {
    {{"qwen2",
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
      "Qwen2Tokenizer"},
     {"llama-bpe",
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
      ""}}};

Status bad_tokenizer(const std::string& what) {
    return {Code::Corrupt, "tokenizer.json: " + what};
}

Status cannot_convert(const std::string& what) {
    return {Code::Unsupported, what +
                                   "; take the tokenizer of a GGUF file of the same base model with "
                                   "--tokenizer-from"};
}

// All expressions of a pre-tokenizer, which may be a sequence of several.
void collect_expressions(const Json& pre, std::vector<std::string>& expressions) {
    std::string expression;
    if (pre["pattern"]["Regex"].get_to(expression)) expressions.push_back(std::move(expression));
    for (const Json& part : pre["pretokenizers"]) {
        if (part["pattern"]["Regex"].get_to(expression)) expressions.push_back(std::move(expression));
    }
}

Result<std::string> find_pre_tokenizer(const Json& json) {
    std::vector<std::string> expressions;
    collect_expressions(json["pre_tokenizer"], expressions);
    if (expressions.size() == 1) {
        for (const PreTokenizer& known : kPreTokenizers) {
            if (expressions.front() == known.expression) return std::string(known.name);
        }
    }
    return cannot_convert("tokenizer.json cuts text in a way that is not known here");
}

// Puts every token of a map from texts to numbers at its place.
Status place_tokens(const Json& map, std::vector<Token>& tokens) {
    if (!map.is_object() || map.empty()) return bad_tokenizer("it has no vocabulary");
    std::uint64_t largest = 0;
    for (const auto& [text, number] : map.items()) {
        std::uint64_t id = 0;
        if (!number.get_to(id) || id >= kMaxTokens) {
            return bad_tokenizer("the number of the token " + base::in_quotes(text) + " is not below " +
                                 std::to_string(kMaxTokens));
        }
        largest = std::max(largest, id);
    }
    tokens.resize(static_cast<std::size_t>(largest) + 1);
    for (const auto& [text, number] : map.items()) {
        Token& token = tokens[number.get<std::size_t>().value_or(0)];
        if (text.empty() || text.size() > kMaxTokenBytes || !token.text.empty()) {
            return bad_tokenizer("the token " + base::in_quotes(text) +
                                 " is empty, too long, or shares its number with another");
        }
        token = {.text = text, .score = 0.0F, .type = TokenType::Normal};
    }
    return ok_status();
}

// "a b", or a list of the two.
Result<std::vector<std::string>> read_merges(const Json& list) {
    if (!list.is_array()) return bad_tokenizer("it has no list of merges");
    std::vector<std::string> merges;
    merges.reserve(list.size());
    for (const Json& merge : list) {
        std::string text;
        std::vector<std::string> pair;
        if (merge.get_to(pair) && pair.size() == 2) text = pair[0] + " " + pair[1];
        if (text.empty() && !merge.get_to(text)) return bad_tokenizer("a merge is no pair of texts");
        if (std::count(text.begin(), text.end(), ' ') != 1) {
            return bad_tokenizer("the merge " + base::in_quotes(text) + " is no pair of texts");
        }
        merges.push_back(std::move(text));
    }
    return merges;
}

}  // namespace

Result<Vocabulary> read_tokenizer_json(const Json& json, AddedTokens& added) {
    const Json& model = json["model"];
    std::string type;
    if (!model["type"].get_to(type)) return bad_tokenizer("it does not say of which type it is");
    if (type != "BPE") return cannot_convert("tokenizer.json is of the type " + base::in_quotes(type));
    if (model["byte_fallback"].get<bool>().value_or(false)) {
        return cannot_convert(
            "tokenizer.json is SentencePiece's vocabulary in another form, and the folder has "
            "no tokenizer.model");
    }
    Vocabulary vocabulary;
    vocabulary.kind = "gpt2";
    CLASP_ASSIGN_OR_RETURN(vocabulary.pre, find_pre_tokenizer(json));
    CLASP_RETURN_IF_ERROR(place_tokens(model["vocab"], vocabulary.tokens));
    CLASP_ASSIGN_OR_RETURN(vocabulary.merges, read_merges(model["merges"]));
    for (const Json& token : json["added_tokens"]) {
        std::uint32_t id = 0;
        AddedToken entry;
        if (!token["id"].get_to(id) || !token["content"].get_to(entry.text)) {
            return bad_tokenizer("an added token has no number or no text");
        }
        entry.is_control = token["special"].get<bool>().value_or(false);
        added[id] = std::move(entry);
    }
    return vocabulary;
}

Result<Vocabulary> read_vocabulary_files(const Json& map, std::string_view merges,
                                         const std::string& tokenizer_class) {
    const auto known =
        std::find_if(kPreTokenizers.begin(), kPreTokenizers.end(), [&](const PreTokenizer& pre) {
            return !pre.tokenizer_class.empty() && tokenizer_class.starts_with(pre.tokenizer_class);
        });
    if (known == kPreTokenizers.end()) {
        return cannot_convert("the tokenizer of class " + base::in_quotes(tokenizer_class) +
                              " cuts text in a way that is not known here");
    }
    Vocabulary vocabulary;
    vocabulary.kind = "gpt2";
    vocabulary.pre = std::string(known->name);
    CLASP_RETURN_IF_ERROR(place_tokens(map, vocabulary.tokens));
    for (std::string_view line : base::split(merges, '\n')) {
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.empty() || line.starts_with("#version")) continue;
        if (std::count(line.begin(), line.end(), ' ') != 1) {
            return Status(Code::Corrupt,
                          "merges.txt: the line " + base::in_quotes(line) + " is no pair of texts");
        }
        vocabulary.merges.emplace_back(line);
    }
    return vocabulary;
}

}  // namespace clasp::convert
