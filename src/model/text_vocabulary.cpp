#include <cstdint>
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

std::string byte_token(unsigned byte) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    return {'<', '0', 'x', kDigits[byte / 16], kDigits[byte % 16], '>'};
}

// Which byte a token stands for, libllama reads out of its text, whatever that is; it throws where there is
// none.
Status check_byte_kinds(const GgufReader& file, const std::vector<std::string_view>& tokens) {
    constexpr std::int64_t kByte = 6;
    CLASP_ASSIGN_OR_RETURN(const auto kinds, value_or(read_integers(file, "tokenizer.ggml.token_type",
                                                                    kMaxStrings, INT32_MIN, INT32_MAX),
                                                      std::vector<std::int64_t>()));
    std::unordered_set<std::string> names;
    for (unsigned byte = 0; byte < 256; ++byte) names.insert(byte_token(byte));
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        if (kinds[i] == kByte && names.count(std::string(tokens[i])) == 0) {
            return {Code::Corrupt,
                    "token " + std::to_string(i) +
                        " of the vocabulary stands for a byte, but its text does not say which"};
        }
    }
    return ok_status();
}

// A character that has no token becomes its bytes; libllama throws where one of them has none.
Status check_byte_tokens(const std::vector<std::string_view>& tokens) {
    const std::unordered_set<std::string_view> known(tokens.begin(), tokens.end());
    for (unsigned byte = 0; byte < 256; ++byte) {
        const std::string name = byte_token(byte);
        const char letter = static_cast<char>(byte);
        if (known.count(name) == 0 && (byte == 0 || known.count(std::string_view(&letter, 1)) == 0)) {
            return {Code::Corrupt, "the vocabulary has no token for the byte " + name.substr(1, 4)};
        }
    }
    return ok_status();
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
    CLASP_RETURN_IF_ERROR(check_byte_kinds(file, tokens));
    if (kind == "gpt2") {
        const auto merges = read_strings(file, "tokenizer.ggml.merges", kMaxStrings);
        if (!merges.ok()) return merges.status();
    } else {
        CLASP_RETURN_IF_ERROR(check_byte_tokens(tokens));
    }
    return check_special_ids(file, static_cast<std::int64_t>(tokens.size()));
}

}  // namespace clasp::model
