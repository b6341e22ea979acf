#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "model/gguf_metadata.h"
#include "model/text_config.h"

namespace clasp::model {
namespace {

constexpr std::size_t kMaxStrings = 1 << 24;

Status check_special_ids(const GgufReader& file, std::int64_t vocabulary) {
    for (const char* name :
         {"bos", "eos", "eot", "eom", "unknown", "seperator", "padding", "mask", "fim_pre", "fim_suf",
          "fim_mid", "fim_pad", "fim_rep", "fim_sep", "prefix", "suffix", "middle"}) {
        const std::string key = std::string("tokenizer.ggml.") + name + "_token_id";
        // Some converters write the largest number for "none".
        CLASP_ASSIGN_OR_RETURN(const std::int64_t id,
                               value_or(read_integer(file, key, -1, UINT32_MAX), std::int64_t{-1}));
        if (id >= vocabulary && id != UINT32_MAX) {
            return {Code::Corrupt, "the metadata key " + key + " is " + std::to_string(id) +
                                       ", but the vocabulary has " + std::to_string(vocabulary) + " tokens"};
        }
    }
    return ok_status();
}

// libllama sees a token up to its first zero byte and gives empty ones a name.
Status check_unique_tokens(const std::vector<std::string_view>& tokens) {
    std::unordered_set<std::string> seen;
    seen.reserve(tokens.size());
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        std::string token(tokens[i].substr(0, tokens[i].find('\0')));
        if (token.empty()) token = "[EMPTY_" + std::to_string(i) + "]";
        if (!seen.insert(std::move(token)).second) {
            return {Code::Corrupt, "token " + std::to_string(i) + " of the vocabulary appears twice"};
        }
    }
    return ok_status();
}

constexpr std::string_view kHexDigits = "0123456789ABCDEF";

// Of "<0x41>"; nothing of any other text.
std::optional<std::size_t> byte_of(std::string_view token) {
    if (token.size() != 6 || !token.starts_with("<0x") || !token.ends_with('>')) return std::nullopt;
    const std::size_t high = kHexDigits.find(token[3]);
    const std::size_t low = kHexDigits.find(token[4]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    return high * 16 + low;
}

// libllama reads the byte of a token out of its text, whatever that is, and throws where there is none. With
// sentences' pieces (kind "llama") a character that has no token becomes its bytes, and it throws where one
// of them has none.
Status check_bytes(const GgufReader& file, std::string_view kind,
                   const std::vector<std::string_view>& tokens) {
    constexpr std::int64_t kByte = 6;
    CLASP_ASSIGN_OR_RETURN(const auto kinds, value_or(read_integers(file, "tokenizer.ggml.token_type",
                                                                    kMaxStrings, INT32_MIN, INT32_MAX),
                                                      std::vector<std::int64_t>()));
    std::array<bool, 256> is_there = {};
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const std::optional<std::size_t> byte = byte_of(tokens[i]);
        if (byte) is_there[*byte] = true;
        if (tokens[i].size() == 1 && tokens[i][0] != '\0') {
            is_there[static_cast<unsigned char>(tokens[i][0])] = true;
        }
        if (i < kinds.size() && kinds[i] == kByte && !byte) {
            return {Code::Corrupt, "token " + std::to_string(i) +
                                       " of the vocabulary stands for a byte, but its text does not say "
                                       "which"};
        }
    }
    const auto* const absent = std::find(is_there.begin(), is_there.end(), false);
    if (kind != "llama" || absent == is_there.end()) return ok_status();
    const auto byte = static_cast<std::size_t>(absent - is_there.begin());
    return {Code::Corrupt, std::string("the vocabulary has no token for the byte 0x") +
                               kHexDigits[byte / 16] + kHexDigits[byte % 16]};
}

Status check_parallel_array(const GgufReader& file, std::string_view key, GgufType type, std::size_t n) {
    const GgufEntry* entry = file.find(key);
    if (entry == nullptr) return ok_status();
    if (!entry->is_array || entry->element != type || entry->count != n) {
        return {Code::Corrupt, "the metadata key " + std::string(key) + " is not an array of " +
                                   std::to_string(n) + " " + std::string(gguf_type_name(type))};
    }
    return ok_status();
}

}  // namespace

Status check_vocabulary(const GgufReader& file) {
    CLASP_ASSIGN_OR_RETURN(const std::string_view kind, read_string(file, "tokenizer.ggml.model"));
    if (kind != "llama" && kind != "gpt2") {
        return {Code::Unsupported,
                "the tokenizer is of kind \"" + std::string(kind) + "\"; llama and gpt2 are supported"};
    }
    CLASP_ASSIGN_OR_RETURN(const auto tokens, read_strings(file, "tokenizer.ggml.tokens", kMaxStrings));
    CLASP_RETURN_IF_ERROR(check_unique_tokens(tokens));
    CLASP_RETURN_IF_ERROR(check_parallel_array(file, "tokenizer.ggml.scores", GgufType::F32, tokens.size()));
    CLASP_RETURN_IF_ERROR(
        check_parallel_array(file, "tokenizer.ggml.token_type", GgufType::I32, tokens.size()));
    CLASP_RETURN_IF_ERROR(check_bytes(file, kind, tokens));
    if (kind == "gpt2") {
        const auto merges = read_strings(file, "tokenizer.ggml.merges", kMaxStrings);
        if (!merges.ok()) return merges.status();
    }
    return check_special_ids(file, static_cast<std::int64_t>(tokens.size()));
}

}  // namespace clasp::model
