#include "serve/completion_request.h"

#include <utility>

#include "base/text.h"
#include "request/message_json.h"
#include "serve/sampling_fields.h"

namespace clasp::serve {

namespace {

using base::Json;

class PromptReader {
   public:
    PromptReader(const ChatContext& context, std::int32_t n_vocabulary, ChatRequest& chat)
        : context_(context), n_vocabulary_(n_vocabulary), chat_(chat) {}

    Check read(const Json& prompt) {
        CLASP_RETURN_IF_REFUSED(read_any(prompt));
        if (chat_.ask.parts.empty()) return bad_field("missing", "prompt", "the prompt is empty");
        CLASP_RETURN_IF_REFUSED(check_text_size(chat_.ask.question, "prompt"));
        return check_pictures(chat_.pictures, context_.options.limits, "prompt");
    }

   private:
    Check read_any(const Json& prompt) {
        if (const std::string* text = prompt.as_string()) {
            add_text(*text);
            return std::nullopt;
        }
        if (prompt.is_object()) return read_media(prompt);
        if (!prompt.is_array()) {
            return bad_field(
                prompt.is_null() ? "missing" : "wrong_type", "prompt",
                "prompt takes a text, a list of tokens, or {\"prompt_string\", \"multimodal_data\"}");
        }
        // A list of one prompt, as some clients send it.
        if (prompt.size() == 1 && !prompt[0].is_number()) return read_any_in_list(prompt[0]);
        return read_list(prompt);
    }

    Check read_any_in_list(const Json& prompt) {
        if (prompt.is_array()) return read_list(prompt);
        return read_any(prompt);
    }

    // Tokens and texts in turns, one prompt.
    Check read_list(const Json& list) {
        bool has_token = false;
        bool has_text = false;
        for (const Json& element : list) {
            has_token = has_token || element.is_number();
            has_text = has_text || element.is_string();
            if (!element.is_number() && !element.is_string()) return several();
        }
        if (has_text && !has_token && list.size() > 1) return several();
        for (const Json& element : list) {
            if (const std::string* text = element.as_string()) {
                add_text(*text);
                continue;
            }
            std::vector<std::int32_t> token;
            CLASP_RETURN_IF_REFUSED(read_tokens(Json::array({element}), "prompt", n_vocabulary_, token));
            std::vector<MessagePart>& parts = chat_.ask.parts;
            if (parts.empty() || parts.back().tokens.empty()) parts.emplace_back();
            parts.back().tokens.push_back(token.front());
        }
        return std::nullopt;
    }

    static Refusal several() {
        return bad_field("unsupported_parameter", "prompt",
                         "one prompt at a time; n asks for several answers");
    }

    Check read_media(const Json& prompt) {
        const Fields fields(prompt, "prompt.");
        std::string text;
        CLASP_RETURN_IF_REFUSED(fields.read("prompt_string", text));
        if (text.empty())
            return bad_field("missing", "prompt.prompt_string", "prompt.prompt_string is missing");
        std::vector<std::string> pictures;
        const Json* data = fields.find("multimodal_data");
        if (data != nullptr && !data->get_to(pictures)) {
            return bad_field("wrong_type", "prompt.multimodal_data",
                             "prompt.multimodal_data takes a list of pictures in base64");
        }
        std::size_t n_marks = 0;
        for (std::string_view rest = text;;) {
            const std::size_t at = rest.find(kMediaMarker);
            add_text(std::string(rest.substr(0, at)));
            if (at == std::string_view::npos) break;
            rest.remove_prefix(at + kMediaMarker.size());
            if (n_marks < pictures.size())
                CLASP_RETURN_IF_REFUSED(add_picture(pictures[n_marks], n_marks + 1));
            ++n_marks;
        }
        if (n_marks == pictures.size()) return std::nullopt;
        return bad_field("out_of_range", "prompt.multimodal_data",
                         "the prompt has " + std::to_string(n_marks) + " marks " + std::string(kMediaMarker) +
                             " for " + std::to_string(pictures.size()) +
                             (pictures.size() == 1 ? " picture" : " pictures"));
    }

    void add_text(const std::string& text) {
        if (text.empty()) return;
        chat_.ask.parts.push_back({.text = text});
        chat_.ask.question += text;
    }

    Check add_picture(const std::string& picture, std::size_t number) {
        const std::string place = "prompt.multimodal_data[" + std::to_string(number - 1) + "]";
        if (number > context_.options.limits.max_images) {
            return bad_field("out_of_range", place,
                             "the prompt has more than the limit of " +
                                 std::to_string(context_.options.limits.max_images) + " pictures");
        }
        std::string_view code;
        auto bytes = request::read_picture(picture, context_.options.pictures,
                                           context_.options.limits.max_image_bytes, code);
        if (!bytes.ok()) {
            return bad_field(std::string(code), place,
                             bytes.status().with_context("image " + std::to_string(number)).message());
        }
        chat_.pictures.push_back(std::move(*bytes));
        chat_.ask.parts.push_back(
            {.text = {}, .image = ImageSource{.bytes = chat_.pictures.back(), .is_still = true}});
        return std::nullopt;
    }

    const ChatContext& context_;
    const std::int32_t n_vocabulary_;
    ChatRequest& chat_;
};

// What both have, and the prompt.
Check read_common_completion(const Json& body, const HttpRequest& http, const ChatContext& context,
                             std::int32_t n_vocabulary, ChatRequest& chat) {
    const Fields fields(body);
    request::Settings settings;
    CLASP_RETURN_IF_REFUSED(read_head(fields, http, context, settings, chat));
    CLASP_RETURN_IF_REFUSED(check_unsupported(fields));
    chat.ask = settings.request;
    chat.ask.is_raw = true;
    GenerationOptions& generation = chat.ask.generation;
    CLASP_RETURN_IF_REFUSED(
        read_max_tokens(fields, {"n_predict", "max_tokens"}, context.options.limits, chat, generation));
    CLASP_RETURN_IF_REFUSED(read_sampling(fields, generation));
    CLASP_RETURN_IF_REFUSED(read_stop(fields, "stop", generation));
    CLASP_RETURN_IF_REFUSED(read_format(fields, generation));
    return read_prompt(body["prompt"], context, n_vocabulary, chat);
}

Check read_n_likely(const Fields& fields, std::string_view name, GenerationOptions& generation) {
    std::optional<long long> n;
    CLASP_RETURN_IF_REFUSED(fields.read(name, 0, static_cast<long long>(kMaxLikely), n));
    if (n && *n > 0) generation.n_likely = static_cast<std::size_t>(*n);
    return std::nullopt;
}

}  // namespace

Check read_prompt(const Json& prompt, const ChatContext& context, std::int32_t n_vocabulary,
                  ChatRequest& chat) {
    return PromptReader(context, n_vocabulary, chat).read(prompt);
}

Check check_text_size(std::string_view text, const std::string& place) {
    if (text.size() <= kMaxRawBytes) return std::nullopt;
    return bad_field(
        "out_of_range", place,
        place + " has " + std::to_string(text.size()) + " bytes, at most " + std::to_string(kMaxRawBytes));
}

Check read_tokens(const Json& json, const std::string& place, std::int32_t n_vocabulary,
                  std::vector<std::int32_t>& tokens) {
    if (!json.is_array()) {
        return bad_field(json.is_null() ? "missing" : "wrong_type", place, place + " takes a list of tokens");
    }
    for (const Json& element : json) {
        const auto token = element.get<std::int32_t>();
        if (!element.is_number() || (!token && element.is_number_float())) {
            return bad_field("wrong_type", place, place + " takes whole numbers");
        }
        if (!token || *token < 0 || *token >= n_vocabulary) {
            return bad_field("out_of_range", place,
                             place + " takes tokens from 0 to " + std::to_string(n_vocabulary - 1) +
                                 ", got " + base::dump_json(element));
        }
        tokens.push_back(*token);
    }
    return std::nullopt;
}

Check read_completion(const Json& body, const HttpRequest& http, const ChatContext& context,
                      std::int32_t n_vocabulary, CompletionRequest& completion) {
    const Fields fields(body);
    ChatRequest& chat = completion.chat;
    CLASP_RETURN_IF_REFUSED(read_common_completion(body, http, context, n_vocabulary, chat));
    CLASP_RETURN_IF_REFUSED(read_n_likely(fields, "n_probs", chat.ask.generation));
    CLASP_RETURN_IF_REFUSED(fields.read("return_tokens", completion.wants_tokens));
    bool is_after_sampling = false;
    CLASP_RETURN_IF_REFUSED(fields.read("post_sampling_probs", is_after_sampling));
    if (is_after_sampling) {
        return bad_field("unsupported_parameter", "post_sampling_probs",
                         "probabilities are those of the model, before sampling");
    }
    if (const Json* list = fields.find("response_fields");
        list != nullptr && !list->get_to(completion.response_fields)) {
        return bad_field("wrong_type", "response_fields", "response_fields takes a list of names");
    }
    chat.wants_tokens = chat.streams;
    return std::nullopt;
}

Check read_openai_completion(const Json& body, const HttpRequest& http, const ChatContext& context,
                             std::int32_t n_vocabulary, ChatRequest& chat) {
    const Fields fields(body);
    CLASP_RETURN_IF_REFUSED(read_common_completion(body, http, context, n_vocabulary, chat));
    CLASP_RETURN_IF_REFUSED(read_stream_options(fields, context, chat));
    CLASP_RETURN_IF_REFUSED(read_n_likely(fields, "logprobs", chat.ask.generation));
    CLASP_RETURN_IF_REFUSED(read_n_likely(fields, "n_probs", chat.ask.generation));
    chat.wants_tokens = chat.ask.generation.n_likely.has_value();
    return std::nullopt;
}

}  // namespace clasp::serve
