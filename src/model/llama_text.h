// Text in and out of libllama: tokens, pieces and chat templates, for any vocabulary it knows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/status.h"

struct llama_chat_message;
struct llama_vocab;

namespace clasp::model {

// Never adds a beginning or end token. `parse_special`: the names of control tokens mean the tokens.
Result<std::vector<std::int32_t>> tokenize(const llama_vocab* vocabulary, std::string_view text,
                                           bool parse_special);

// The bytes of one token of the vocabulary.
std::string piece(const llama_vocab* vocabulary, std::int32_t token, bool show_special);

// Ends where the assistant begins to speak. Nothing when libllama does not know the template.
std::optional<std::string> apply_chat_template(const std::string& chat_template,
                                               std::span<const llama_chat_message> messages);

}  // namespace clasp::model
