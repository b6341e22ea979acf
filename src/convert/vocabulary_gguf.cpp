// The tokenizer of another model's GGUF file.
#include "base/mapped_file.h"
#include "base/text.h"
#include "convert/vocabulary.h"
#include "model/gguf_metadata.h"
#include "model/text_config.h"

namespace clasp::convert {
namespace {

using model::GgufReader;

constexpr std::string_view kTokenizerKeys = "tokenizer.";

Result<std::optional<std::uint32_t>> read_token(const GgufReader& reader, const char* name) {
    const std::string key = std::string("tokenizer.ggml.") + name + "_token_id";
    const auto id = model::read_integer(reader, key, 0, static_cast<std::int64_t>(kMaxTokens));
    if (id.ok()) return std::optional(static_cast<std::uint32_t>(*id));
    if (id.status().code() == Code::NotFound) return std::optional<std::uint32_t>();
    return id.status();
}

Result<CopiedVocabulary> copy_vocabulary(const GgufReader& reader) {
    CLASP_RETURN_IF_ERROR(model::check_vocabulary(reader));
    CopiedVocabulary copied;
    for (const model::GgufEntry& entry : reader.entries()) {
        if (entry.key.starts_with(kTokenizerKeys)) copied.keys.set_copy(entry);
    }
    Vocabulary& vocabulary = copied.vocabulary;
    CLASP_ASSIGN_OR_RETURN(const auto kind, model::read_string(reader, "tokenizer.ggml.model"));
    vocabulary.kind = std::string(kind);
    CLASP_ASSIGN_OR_RETURN(const auto texts,
                           model::read_strings(reader, "tokenizer.ggml.tokens", kMaxTokens));
    CLASP_ASSIGN_OR_RETURN(
        const auto types,
        model::value_or(model::read_integers(reader, "tokenizer.ggml.token_type", texts.size(), 1, 6),
                        std::vector<std::int64_t>(texts.size(), 1)));
    std::vector<float> scores(texts.size(), 0.0F);
    if (reader.find("tokenizer.ggml.scores") != nullptr) {
        CLASP_ASSIGN_OR_RETURN(
            scores, model::read_floats(reader, "tokenizer.ggml.scores", texts.size(), -1e30F, 1e30F));
    }
    for (std::size_t i = 0; i < texts.size(); ++i) {
        vocabulary.tokens.push_back(
            {.text = std::string(texts[i]), .score = scores[i], .type = static_cast<TokenType>(types[i])});
    }
    CLASP_ASSIGN_OR_RETURN(vocabulary.bos, read_token(reader, "bos"));
    CLASP_ASSIGN_OR_RETURN(vocabulary.eos, read_token(reader, "eos"));
    CLASP_ASSIGN_OR_RETURN(vocabulary.unknown, read_token(reader, "unknown"));
    CLASP_ASSIGN_OR_RETURN(vocabulary.padding, read_token(reader, "padding"));
    return copied;
}

}  // namespace

Result<CopiedVocabulary> read_vocabulary_gguf(const std::string& path) {
    CLASP_ASSIGN_OR_RETURN(const base::MappedFile mapped, base::MappedFile::open(path));
    const std::string where = base::path_in_quotes(path);
    const auto reader = GgufReader::parse(mapped.bytes());
    if (!reader.ok()) return reader.status().with_context(where);
    auto copied = copy_vocabulary(*reader);
    if (!copied.ok()) return copied.status().with_context(where);
    return copied;
}

}  // namespace clasp::convert
