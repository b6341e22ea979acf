#include "serve/responses_request.h"

#include <utility>

#include "base/text.h"
#include "serve/sampling_fields.h"

namespace clasp::serve {

namespace {

using base::Json;

// A part of an item as chat completions have it. What is wrong inside is found where all messages are read.
Check part_of_input(const Json& part, const std::string& place, Json& parts) {
    const std::string* type = part["type"].as_string();
    if (type != nullptr && (*type == "input_text" || *type == "output_text" || *type == "text")) {
        parts.push_back({{"type", "text"}, {"text", part["text"]}});
        return std::nullopt;
    }
    if (type == nullptr || *type != "input_image") {
        return bad_field("unsupported_content", place,
                         place + ".type takes input_text, output_text or input_image" +
                             (type != nullptr ? ", not " + base::in_quotes(*type) : std::string()));
    }
    if (!part["file_id"].is_null()) {
        return bad_field("unsupported_content", place + ".file_id",
                         "no files are kept here; send the picture as image_url, data:image/png;base64,...");
    }
    parts.push_back(
        {{"type", "image_url"}, {"image_url", {{"url", part["image_url"]}, {"detail", part["detail"]}}}});
    return std::nullopt;
}

Check message_of_item(const Json& item, const std::string& place, Json& messages) {
    const std::string* type = item["type"].as_string();
    if (type != nullptr && *type != "message") {
        return bad_field("unsupported_content", place,
                         place + ".type takes message, not " + base::in_quotes(*type));
    }
    Json content = item["content"];
    if (content.is_array()) {
        Json parts = Json::array();
        for (std::size_t i = 0; i < content.size(); ++i) {
            CLASP_RETURN_IF_REFUSED(
                part_of_input(content[i], place + ".content[" + std::to_string(i) + "]", parts));
        }
        content = std::move(parts);
    }
    messages.push_back({{"role", item["role"]}, {"content", std::move(content)}});
    return std::nullopt;
}

// The instructions stand in front of everything, also of a system message.
void add_instructions(const std::string& instructions, Json& messages) {
    if (instructions.empty()) return;
    const std::string* role = messages[0]["role"].as_string();
    const std::string* said = messages[0]["content"].as_string();
    if (role != nullptr && (*role == "system" || *role == "developer") && said != nullptr) {
        messages[0]["content"] = instructions + "\n" + *said;
        return;
    }
    Json all = Json::array({Json::object({{"role", "system"}, {"content", instructions}})});
    for (const Json& message : messages) all.push_back(message);
    messages = std::move(all);
}

Check read_input(const Json& input, const std::string& instructions, Json& messages) {
    messages = Json::array();
    if (input.is_string()) {
        messages.push_back({{"role", "user"}, {"content", input}});
    } else if (input.is_array() && !input.empty()) {
        for (std::size_t i = 0; i < input.size(); ++i) {
            CLASP_RETURN_IF_REFUSED(message_of_item(input[i], "input[" + std::to_string(i) + "]", messages));
        }
    } else {
        return bad_field(input.is_null() ? "missing" : "wrong_type", "input",
                         "input takes a text or a list with at least one item");
    }
    add_instructions(instructions, messages);
    return std::nullopt;
}

Check read_text_format(const Fields& fields, GenerationOptions& generation) {
    const Json* text = fields.find("text");
    if (text == nullptr) return std::nullopt;
    const Json& format = (*text)["format"];
    const std::string* type = format["type"].as_string();
    if (format.is_null() || (type != nullptr && *type == "text")) return std::nullopt;
    if (type != nullptr && *type == "json_object") return use_schema(Json(), "text.format", generation);
    if (type != nullptr && *type == "json_schema" && !format["schema"].is_null()) {
        return use_schema(format["schema"], "text.format.schema", generation);
    }
    return bad_field("unsupported_parameter", "text.format",
                     "text.format takes text, json_object, or json_schema with a schema");
}

Check check_stateless(const Fields& fields) {
    for (const std::string_view key : {"previous_response_id", "conversation", "prompt"}) {
        if (fields.find(key) == nullptr) continue;
        return bad_field("unsupported_parameter", std::string(key),
                         "nothing is remembered between requests; send the whole conversation as input");
    }
    bool is_background = false;
    CLASP_RETURN_IF_REFUSED(fields.read("background", is_background));
    if (!is_background) return std::nullopt;
    return bad_field("unsupported_parameter", "background", "requests do not run in the background");
}

}  // namespace

Check read_responses(const Json& body, const HttpRequest& http, const ChatContext& context,
                     ResponsesRequest& responses) {
    const Fields fields(body);
    ChatRequest& chat = responses.chat;
    request::Settings settings;
    CLASP_RETURN_IF_REFUSED(read_head(fields, http, context, settings, chat));
    CLASP_RETURN_IF_REFUSED(check_stateless(fields));
    GenerationOptions& generation = chat.ask.generation;
    CLASP_RETURN_IF_REFUSED(
        read_max_tokens(fields, {"max_output_tokens"}, context.options.limits, chat, generation));
    CLASP_RETURN_IF_REFUSED(read_sampling(fields, generation));
    CLASP_RETURN_IF_REFUSED(read_stop(fields, "stop", generation));
    CLASP_RETURN_IF_REFUSED(read_text_format(fields, generation));
    std::string instructions;
    CLASP_RETURN_IF_REFUSED(fields.read("instructions", instructions));
    if (!instructions.empty()) responses.instructions = instructions;
    Json messages;
    CLASP_RETURN_IF_REFUSED(read_input(body["input"], instructions, messages));
    return read_conversation(messages, context, settings, chat);
}

}  // namespace clasp::serve
