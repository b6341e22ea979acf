// Prompts without a chat template, as llama-server and OpenAI take them: a text, tokens, both in a list, or a
// text with marks where pictures stand.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "serve/chat_request.h"

namespace clasp::serve {

// Stands in a prompt where a picture does.
inline constexpr std::string_view kMediaMarker = "<__media__>";

struct CompletionRequest {
    ChatRequest chat;
    bool wants_tokens = false;                 // their numbers, in whole replies
    std::vector<std::string> response_fields;  // paths of the reply, "timings/prompt_ms"; empty: all of it
};

// n_vocabulary: tokens are checked against it.
Check read_completion(const base::Json& body, const HttpRequest& http, const ChatContext& context,
                      std::int32_t n_vocabulary, CompletionRequest& completion);
// OpenAI's: the same with its names.
Check read_openai_completion(const base::Json& body, const HttpRequest& http, const ChatContext& context,
                             std::int32_t n_vocabulary, ChatRequest& chat);

// A list of tokens.
Check read_tokens(const base::Json& json, const std::string& place, std::int32_t n_vocabulary,
                  std::vector<std::int32_t>& tokens);
// Texts whose control tokens are meant. libllama's time for one grows with the square of how many there are:
// half a minute for a mebibyte of nothing else.
inline constexpr std::size_t kMaxRawBytes = std::size_t{64} << 10U;
// A prompt in any of its forms into chat.ask, which has its other settings. n_vocabulary: tokens are below
// it.
Check read_prompt(const base::Json& prompt, const ChatContext& context, std::int32_t n_vocabulary,
                  ChatRequest& chat);
Check check_text_size(std::string_view text, const std::string& place);

}  // namespace clasp::serve
