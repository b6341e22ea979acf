#include "model/llama_text.h"

#include <exception>
#include <limits>

#include "llama.h"

namespace clasp::model {

Result<std::vector<std::int32_t>> tokenize(const llama_vocab* vocabulary, std::string_view text,
                                           bool parse_special) {
    constexpr std::size_t kMaxBytes = 1U << 28;
    if (text.size() > kMaxBytes) {
        return Status(Code::TooLarge, "a text of " + std::to_string(text.size()) + " bytes exceeds " +
                                          std::to_string(kMaxBytes));
    }
    std::vector<std::int32_t> tokens(text.size() + 2);
    std::int32_t n = 0;
    try {
        const auto call = [&] {
            return llama_tokenize(vocabulary, text.data(), static_cast<std::int32_t>(text.size()),
                                  tokens.data(), static_cast<std::int32_t>(tokens.size()), false,
                                  parse_special);
        };
        n = call();
        // Some vocabularies write a space as several bytes, and bytes as tokens.
        if (n < 0 && n != std::numeric_limits<std::int32_t>::min()) {
            tokens.resize(static_cast<std::size_t>(-n));
            n = call();
        }
    } catch (const std::exception& error) {
        return Status(Code::Corrupt, std::string("the vocabulary cannot write this text: ") + error.what());
    }
    if (n < 0) return Status(Code::TooLarge, "the text has too many tokens");
    tokens.resize(static_cast<std::size_t>(n));
    return tokens;
}

std::string piece(const llama_vocab* vocabulary, std::int32_t token, bool show_special) {
    std::string text(64, '\0');
    const auto call = [&] {
        return llama_token_to_piece(vocabulary, token, text.data(), static_cast<std::int32_t>(text.size()), 0,
                                    show_special);
    };
    std::int32_t n = call();
    if (n < 0) {
        text.resize(static_cast<std::size_t>(-n));
        n = call();
    }
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return text;
}

std::optional<std::string> apply_chat_template(const std::string& chat_template,
                                               std::span<const llama_chat_message> messages) {
    std::size_t size = 512;
    for (const llama_chat_message& message : messages) size += 2 * std::string_view(message.content).size();
    std::string text(size, '\0');
    const auto call = [&] {
        return llama_chat_apply_template(chat_template.c_str(), messages.data(), messages.size(), true,
                                         text.data(), static_cast<std::int32_t>(text.size()));
    };
    std::int32_t n = call();
    if (n > static_cast<std::int32_t>(text.size())) {
        text.resize(static_cast<std::size_t>(n));
        n = call();
    }
    if (n < 0) return std::nullopt;
    text.resize(static_cast<std::size_t>(n));
    return text;
}

}  // namespace clasp::model
