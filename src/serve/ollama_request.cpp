#include "serve/ollama_request.h"

#include <utility>

#include "request/settings.h"
#include "serve/completion_request.h"
#include "serve/sampling_fields.h"

namespace clasp::serve {

namespace {

using base::Json;

Refusal not_here(std::string_view field, const std::string& message) {
    return bad_field("unsupported_parameter", std::string(field), message);
}

// {"role", "content", "images"} as {"role", "content": [parts]}. What is wrong with it is found where all
// messages are read.
Json as_parts(const Json& message) {
    const Json* images = message.find("images");
    if (images == nullptr || images->empty()) return message;
    Json parts = Json::array();
    if (images->is_array()) {
        for (const Json& image : *images) parts.push_back({{"type", "image_url"}, {"image_url", image}});
    }
    parts.push_back({{"type", "text"}, {"text", message["content"]}});
    return {{"role", message["role"]}, {"content", std::move(parts)}};
}

// "json", or a schema.
Check read_ollama_format(const Fields& fields, GenerationOptions& generation) {
    const Json* format = fields.find("format");
    if (format == nullptr || *format == Json("")) return std::nullopt;
    if (*format == Json("json")) return use_schema(Json(), "format", generation);
    if (format->is_object()) return use_schema(*format, "format", generation);
    return bad_field("wrong_type", "format", "format takes json or a JSON schema");
}

Check read_common(const Json& body, const HttpRequest& http, const ChatContext& context, ChatRequest& chat,
                  request::Settings& settings) {
    const Fields fields(body);
    std::string model;
    Json tag;
    CLASP_RETURN_IF_REFUSED(fields.read("model", model));
    CLASP_RETURN_IF_REFUSED(read_model(model, context, tag));
    chat.streams = true;
    CLASP_RETURN_IF_REFUSED(fields.read("stream", chat.streams));
    if (const Json* tools = fields.find("tools");
        tools != nullptr && !tools->empty() && !context.options.ignores_tools) {
        return not_here("tools", "\"" + context.card.id + "\" does not support tools");
    }
    const Json nothing = Json::object();
    const Json* given = fields.find("options");
    if (given != nullptr && !given->is_object()) {
        return bad_field("wrong_type", "options", "options takes an object");
    }
    const Fields options(given != nullptr ? *given : nothing, "options.");
    std::optional<long long> n_context;
    CLASP_RETURN_IF_REFUSED(
        options.read("num_ctx", 1, static_cast<long long>(context.card.n_context), n_context));
    const Json* clasp = fields.find("clasp") != nullptr ? fields.find("clasp") : options.find("clasp");
    CLASP_RETURN_IF_REFUSED(read_clasp(tag, http, clasp, context, settings, chat));
    chat.ask.generation = settings.request.generation;
    CLASP_RETURN_IF_REFUSED(
        read_max_tokens(options, {"num_predict"}, context.options.limits, chat, chat.ask.generation));
    CLASP_RETURN_IF_REFUSED(read_sampling(options, chat.ask.generation));
    CLASP_RETURN_IF_REFUSED(read_stop(options, "stop", chat.ask.generation));
    return read_ollama_format(fields, chat.ask.generation);
}

// A prompt that is the model's own, its pictures in front.
Check read_raw(const std::string& prompt, const Json& images, const ChatContext& context,
               const request::Settings& settings, ChatRequest& chat) {
    Json whole = prompt;
    if (images.is_array() && !images.empty()) {
        std::string marks;
        for (std::size_t i = 0; i < images.size(); ++i) marks += kMediaMarker;
        whole = {{"prompt_string", marks + prompt}, {"multimodal_data", images}};
    }
    const GenerationOptions generation = std::move(chat.ask.generation);
    chat.ask = settings.request;
    chat.ask.generation = generation;
    chat.ask.is_raw = true;
    return read_prompt(whole, context, 0, chat);
}

}  // namespace

Check read_ollama_chat(const Json& body, const HttpRequest& http, const ChatContext& context,
                       ChatRequest& chat, bool& is_empty) {
    request::Settings settings;
    CLASP_RETURN_IF_REFUSED(read_common(body, http, context, chat, settings));
    const Json& messages = body["messages"];
    is_empty = messages.is_null() || messages.empty();
    if (is_empty) return std::nullopt;
    if (!messages.is_array()) return bad_field("wrong_type", "messages", "messages takes a list");
    Json list = Json::array();
    for (const Json& message : messages) list.push_back(as_parts(message));
    return read_conversation(list, context, settings, chat);
}

Check read_ollama_generate(const Json& body, const HttpRequest& http, const ChatContext& context,
                           ChatRequest& chat, bool& is_empty) {
    request::Settings settings;
    CLASP_RETURN_IF_REFUSED(read_common(body, http, context, chat, settings));
    const Fields fields(body);
    bool is_raw = false;
    std::string prompt;
    std::string system;
    CLASP_RETURN_IF_REFUSED(fields.read("raw", is_raw));
    CLASP_RETURN_IF_REFUSED(fields.read("prompt", prompt));
    CLASP_RETURN_IF_REFUSED(fields.read("system", system));
    for (const std::string_view key : {"suffix", "template", "context"}) {
        const Json* value = fields.find(key);
        if (value != nullptr && !value->empty() && !(*value == Json("")))
            return not_here(key, std::string(key) + " is not supported");
    }
    is_empty = prompt.empty() && (fields.find("images") == nullptr || fields.find("images")->empty());
    if (is_empty) return std::nullopt;
    if (is_raw) return read_raw(prompt, body["images"], context, settings, chat);
    Json list = Json::array();
    if (!system.empty()) list.push_back({{"role", "system"}, {"content", system}});
    list.push_back(as_parts({{"role", "user"}, {"content", prompt}, {"images", body["images"]}}));
    return read_conversation(list, context, settings, chat);
}

}  // namespace clasp::serve
