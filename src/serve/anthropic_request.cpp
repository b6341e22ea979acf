#include "serve/anthropic_request.h"

#include <utility>

#include "base/text.h"
#include "serve/sampling_fields.h"

namespace clasp::serve {

namespace {

using base::Json;

// A block as chat completions have it. What is wrong inside is found where all messages are read.
Check part_of_block(const Json& block, const std::string& place, Json& parts) {
    const std::string* type = block["type"].as_string();
    if (type != nullptr && *type == "text") {
        parts.push_back({{"type", "text"}, {"text", block["text"]}});
        return std::nullopt;
    }
    if (type == nullptr || *type != "image") {
        return bad_field("unsupported_content", place,
                         place + ".type takes text or image" +
                             (type != nullptr ? ", not " + base::in_quotes(*type) : std::string()));
    }
    const Json& source = block["source"];
    const std::string* kind = source["type"].as_string();
    const bool is_url = kind != nullptr && *kind == "url";
    if (!is_url && (kind == nullptr || *kind != "base64")) {
        return bad_field("unsupported_content", place + ".source",
                         place + ".source.type takes base64: the bytes come with the request");
    }
    parts.push_back({{"type", "image_url"}, {"image_url", is_url ? source["url"] : source["data"]}});
    return std::nullopt;
}

Check blocks_as_parts(const Json& content, const std::string& place, Json& parts) {
    if (!content.is_array()) {
        parts = content;
        return std::nullopt;
    }
    parts = Json::array();
    for (std::size_t i = 0; i < content.size(); ++i) {
        CLASP_RETURN_IF_REFUSED(part_of_block(content[i], place + "[" + std::to_string(i) + "]", parts));
    }
    return std::nullopt;
}

Check read_all_messages(const Json& body, Json& messages) {
    messages = Json::array();
    if (!body["system"].is_null() && !(body["system"] == Json(""))) {
        Json content;
        CLASP_RETURN_IF_REFUSED(blocks_as_parts(body["system"], "system", content));
        messages.push_back({{"role", "system"}, {"content", std::move(content)}});
    }
    const Json& given = body["messages"];
    if (!given.is_array() || given.empty()) {
        return bad_field(given.is_null() ? "missing" : "wrong_type", "messages",
                         "messages takes a list with at least one message");
    }
    for (std::size_t i = 0; i < given.size(); ++i) {
        Json content;
        CLASP_RETURN_IF_REFUSED(
            blocks_as_parts(given[i]["content"], "messages[" + std::to_string(i) + "].content", content));
        messages.push_back({{"role", given[i]["role"]}, {"content", std::move(content)}});
    }
    return std::nullopt;
}

}  // namespace

Check read_anthropic(const Json& body, const HttpRequest& http, const ChatContext& context,
                     ChatRequest& chat) {
    const Fields fields(body);
    request::Settings settings;
    CLASP_RETURN_IF_REFUSED(read_head(fields, http, context, settings, chat));
    GenerationOptions& generation = chat.ask.generation;
    CLASP_RETURN_IF_REFUSED(
        read_max_tokens(fields, {"max_tokens"}, context.options.limits, chat, generation));
    CLASP_RETURN_IF_REFUSED(read_sampling(fields, generation));
    CLASP_RETURN_IF_REFUSED(read_stop(fields, "stop_sequences", generation));
    Json messages;
    CLASP_RETURN_IF_REFUSED(read_all_messages(body, messages));
    return read_conversation(messages, context, settings, chat);
}

}  // namespace clasp::serve
