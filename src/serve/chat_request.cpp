#include "serve/chat_request.h"

#include <algorithm>
#include <array>
#include <random>
#include <span>
#include <utility>

#include "base/text.h"
#include "clasp/image.h"
#include "request/conflicts.h"
#include "request/json_request.h"
#include "request/message_json.h"
#include "request/question_text.h"

namespace clasp::serve {

namespace {

using base::Json;
using request::Scope;
using request::Settings;

constexpr long long kMaxSeed = 4294967295;

Refusal unsupported(std::string_view param, std::string message) {
    return bad_field("unsupported_parameter", std::string(param), std::move(message));
}

// What says how much is kept; a caller who says one of these does not mean what was said before.
constexpr std::array<std::string_view, 3> kAmounts = {"budget", "schedule", "vanilla"};

void forget_amount(Settings& settings) {
    settings.request.vanilla = false;
    settings.request.forced_stages.clear();
    settings.request.schedule_name.clear();
    for (const std::string_view name : kAmounts) settings.given.erase(std::string(name));
}

Json single(const base::JsonMember& member) {
    return Json::object({{member.key, member.value}});
}

// One object of options over what is there already.
Check read_level(const Json& object, std::string_view by, const std::string& place, Settings& settings,
                 ChatRequest& chat) {
    constexpr std::array kScopes = {Scope::Asking};
    constexpr std::array<std::string_view, 3> kOurs = {"map", "history", "report"};
    const bool says_amount = std::any_of(kAmounts.begin(), kAmounts.end(),
                                         [&](std::string_view name) { return object.contains(name); });
    if (says_amount) {
        forget_amount(settings);
        chat.budget_by = by;
    }
    for (const base::JsonMember& member : object.items()) {
        if (std::find(kOurs.begin(), kOurs.end(), member.key) != kOurs.end()) continue;
        if (member.value.is_null()) continue;
        const Status status = request::read_options(single(member), kScopes, kOurs, settings);
        if (status.ok()) continue;
        return bad_field(status.code() == Code::TooLarge ? "out_of_range" : "invalid_value",
                         place + base::escaped(member.key, 64), status.message());
    }
    return std::nullopt;
}

Check read_reply_options(const Json& object, ChatRequest& chat) {
    const Fields fields(object, "clasp.");
    CLASP_RETURN_IF_REFUSED(fields.read("report", chat.reports));
    std::string map = "none";
    std::string history = "reselect";
    CLASP_RETURN_IF_REFUSED(fields.read("map", map));
    CLASP_RETURN_IF_REFUSED(fields.read("history", history));
    if (map == "final") {
        chat.map = MapKind::Final;
    } else if (map == "stages") {
        chat.map = MapKind::Stages;
    } else if (map != "none") {
        return bad_field("invalid_value", "clasp.map",
                         "clasp.map takes none, final or stages, not " + base::in_quotes(map));
    }
    if (history != "reselect") {
        return unsupported("clasp.history",
                           "clasp.history takes reselect: every question chooses its tokens anew");
    }
    return std::nullopt;
}

std::span<const std::uint8_t> image_bytes(const std::string& picture) {
    return {reinterpret_cast<const std::uint8_t*>(picture.data()), picture.size()};
}

// Pictures by their headers: each, and all together.
Check check_pictures(const std::list<std::string>& pictures, const RequestLimits& limits) {
    std::size_t n_pixels = 0;
    std::size_t number = 0;
    for (const std::string& picture : pictures) {
        ++number;
        const auto header = read_image_header(image_bytes(picture), ImageOptions());
        if (!header.ok()) {
            return bad_field(header.status().code() == Code::TooLarge ? "image_too_large" : "image_invalid",
                             "messages",
                             header.status().with_context("image " + std::to_string(number)).message());
        }
        n_pixels +=
            static_cast<std::size_t>(header->size.width) * static_cast<std::size_t>(header->size.height);
        if (n_pixels > limits.max_pixels) {
            return bad_field("image_too_large", "messages",
                             "the pictures up to image " + std::to_string(number) + " have " +
                                 std::to_string(n_pixels) + " pixels, at most " +
                                 std::to_string(limits.max_pixels));
        }
    }
    return std::nullopt;
}

// The last message becomes the question. Its pictures stand in front of its words, as the models were
// trained, unless words and pictures take turns in it.
void split_question(std::vector<Message> messages, AskRequest& ask) {
    Message last = std::move(messages.back());
    messages.pop_back();
    ask.history = std::move(messages);
    std::size_t n_texts = 0;
    for (const MessagePart& part : last.parts) {
        if (part.image) {
            ask.images.push_back(*part.image);
            continue;
        }
        ++n_texts;
        if (!ask.question.empty()) ask.question += '\n';
        ask.question += part.text;
    }
    if (n_texts < 2 || ask.images.empty()) return;
    ask.parts = std::move(last.parts);
    ask.images.clear();
}

Check check_tools(const Fields& fields, const ChatContext& context) {
    const Json* choice = fields.find("tool_choice");
    const bool is_none =
        choice != nullptr && choice->as_string() != nullptr && *choice->as_string() == "none";
    for (const std::string_view key : {"tools", "functions"}) {
        const Json* tools = fields.find(key);
        if (tools == nullptr || tools->empty() || is_none || context.options.ignores_tools) continue;
        return unsupported(key, "\"" + context.card.id + "\" does not support tools");
    }
    return std::nullopt;
}

// Fields that would change the answer and cannot be honoured, unless they say what happens anyway.
Check check_unsupported(const Fields& fields) {
    for (const std::string_view key :
         {"audio", "web_search_options", "suffix", "grammar", "json_schema", "logit_bias"}) {
        if (fields.find(key) != nullptr) return unsupported(key, std::string(key) + " is not supported");
    }
    bool is_on = false;
    CLASP_RETURN_IF_REFUSED(fields.read("logprobs", is_on));
    if (is_on || fields.find("top_logprobs") != nullptr) {
        return unsupported("logprobs", "probabilities of tokens are not supported");
    }
    CLASP_RETURN_IF_REFUSED(fields.read("echo", is_on));
    if (is_on) return unsupported("echo", "echo is not supported");
    std::optional<long long> best_of;
    CLASP_RETURN_IF_REFUSED(fields.read("best_of", 1, 1, best_of));
    if (const Json* modalities = fields.find("modalities")) {
        for (const Json& modality : *modalities) {
            if (!(modality == Json("text"))) return unsupported("modalities", "answers are text alone");
        }
    }
    if (const Json* format = fields.find("response_format")) {
        const std::string* type = (*format)["type"].as_string();
        if (type == nullptr || *type != "text") {
            return unsupported("response_format", "response_format takes {\"type\": \"text\"}");
        }
    }
    return std::nullopt;
}

}  // namespace

Check read_model(const std::string& model, const ChatContext& context, Json& tag) {
    tag = Json();
    const std::string& id = context.card.id;
    if (model.empty() || model == id || model == id + ":latest") return std::nullopt;
    const bool is_ours = model.starts_with(id + ":");
    const std::string word = is_ours ? model.substr(id.size() + 1) : std::string();
    if (const auto preset = context.options.presets.find(word);
        is_ours && preset != context.options.presets.end()) {
        tag = preset->second;
        return std::nullopt;
    }
    if (is_ours && word == "vanilla") {
        tag = Json::object({{"vanilla", true}});
        return std::nullopt;
    }
    if (is_ours && parse_budget(base::lower(word)).ok()) {
        tag = Json::object({{"budget", word}});
        return std::nullopt;
    }
    return context.options.is_strict_model ? no_such_model(model, id) : std::nullopt;
}

Check no_such_model(const std::string& model, const std::string& id) {
    return Refusal{
        .status = 404,
        .type = "not_found_error",
        .code = "model_not_found",
        .message = "the model " + base::in_quotes(model) + " is not here; " + base::in_quotes(id) + " is",
        .param = "model"};
}

Check read_clasp(const Json& tag, const HttpRequest& http, const Json* body, const ChatContext& context,
                 Settings& settings, ChatRequest& chat) {
    settings = context.options.settings;
    settings.given.clear();
    if (settings.request.policy.classes.empty()) settings.request.policy = context.policy;
    CLASP_RETURN_IF_REFUSED(read_level(tag, "tag", "model, as clasp.", settings, chat));
    Json headers = Json::object();
    if (const std::string* budget = http.header("X-Clasp-Budget")) headers["budget"] = *budget;
    if (const std::string* method = http.header("X-Clasp-Method")) headers["method"] = *method;
    CLASP_RETURN_IF_REFUSED(read_level(headers, "header", "header, as clasp.", settings, chat));
    if (body != nullptr) {
        if (!body->is_object()) return bad_field("wrong_type", "clasp", "clasp takes an object");
        CLASP_RETURN_IF_REFUSED(read_reply_options(*body, chat));
        CLASP_RETURN_IF_REFUSED(read_level(*body, "body", "clasp.", settings, chat));
    }
    Status status = request::check_conflicts(settings, request::Caller::Json);
    if (status.ok()) status = request::check_choices(settings.request, settings.request.policy);
    if (!status.ok()) return bad_field("invalid_value", "clasp", status.message());
    return std::nullopt;
}

Check read_max_tokens(const Fields& fields, const std::vector<std::string_view>& names, ChatRequest& chat,
                      GenerationOptions& generation) {
    std::optional<long long> wanted;
    for (const std::string_view name : names) {
        std::optional<long long> value;
        // -1 and -2 mean "as long as it goes" to llama-server and Ollama.
        CLASP_RETURN_IF_REFUSED(fields.read(name, -2, static_cast<long long>(kMaxAnswerTokens), value));
        if (value && *value == 0) {
            return bad_field("out_of_range", fields.name(name),
                             fields.name(name) + " must be at least 1, got 0");
        }
        if (!wanted) wanted = value;
    }
    chat.has_max_tokens = wanted && *wanted > 0;
    if (chat.has_max_tokens) generation.max_tokens = static_cast<std::size_t>(*wanted);
    return std::nullopt;
}

Check read_sampling(const Fields& fields, GenerationOptions& generation) {
    std::optional<double> temperature;
    std::optional<double> top_p;
    std::optional<long long> seed;
    CLASP_RETURN_IF_REFUSED(fields.read("temperature", 0.0, 2.0, temperature));
    CLASP_RETURN_IF_REFUSED(fields.read("top_p", 0.000001, 1.0, top_p));
    CLASP_RETURN_IF_REFUSED(fields.read("seed", -1, kMaxSeed, seed));
    if (temperature) generation.temperature = *temperature;
    if (top_p) generation.top_p = *top_p;
    if (seed) generation.seed = *seed < 0 ? std::random_device()() : static_cast<std::uint32_t>(*seed);
    CLASP_RETURN_IF_REFUSED(fields.read_texts("stop", kMaxStops, kMaxStopBytes, generation.stop));

    std::optional<long long> top_k;
    std::optional<double> min_p;
    std::optional<double> frequency;
    std::optional<double> presence;
    std::optional<double> repeat;
    CLASP_RETURN_IF_REFUSED(fields.read("top_k", -1, 1 << 20, top_k));
    CLASP_RETURN_IF_REFUSED(fields.read("min_p", 0.0, 1.0, min_p));
    CLASP_RETURN_IF_REFUSED(fields.read("frequency_penalty", -2.0, 2.0, frequency));
    CLASP_RETURN_IF_REFUSED(fields.read("presence_penalty", -2.0, 2.0, presence));
    CLASP_RETURN_IF_REFUSED(fields.read("repeat_penalty", 0.01, 10.0, repeat));
    if (top_k) generation.top_k = static_cast<std::int32_t>(std::max(0LL, *top_k));
    if (min_p) generation.min_p = *min_p;
    if (frequency) generation.frequency_penalty = *frequency;
    if (presence) generation.presence_penalty = *presence;
    if (repeat) generation.repeat_penalty = *repeat;
    return std::nullopt;
}

Check read_conversation(const Json& messages, const ChatContext& context, const Settings& settings,
                        ChatRequest& chat) {
    request::MessageFault fault;
    auto read = request::read_messages(messages, {.max_images = context.options.limits.max_images}, &fault);
    if (!read.ok()) return bad_field(std::string(fault.code), fault.place, read.status().message());
    chat.pictures = std::move(read->pictures);
    CLASP_RETURN_IF_REFUSED(check_pictures(chat.pictures, context.options.limits));
    if (read->messages.back().role != Message::Role::User) {
        return bad_field("unsupported_content", "messages", "the last message must be the user's");
    }
    const GenerationOptions generation = std::move(chat.ask.generation);
    chat.ask = settings.request;
    chat.ask.generation = generation;
    split_question(std::move(read->messages), chat.ask);
    const Status question = request::check_question(chat.ask.question);
    if (!question.ok()) return bad_field("missing", "messages", question.message());
    return std::nullopt;
}

Check read_openai_chat(const Json& body, const HttpRequest& http, const ChatContext& context,
                       ChatRequest& chat) {
    const Fields fields(body);
    std::string model;
    Json tag;
    CLASP_RETURN_IF_REFUSED(fields.read("model", model));
    CLASP_RETURN_IF_REFUSED(read_model(model, context, tag));
    CLASP_RETURN_IF_REFUSED(fields.read("stream", chat.streams));
    if (const Json* stream_options = fields.find("stream_options")) {
        CLASP_RETURN_IF_REFUSED(
            Fields(*stream_options, "stream_options.").read("include_usage", chat.wants_usage));
    }
    CLASP_RETURN_IF_REFUSED(fields.read("return_progress", chat.wants_progress));
    std::optional<long long> n;
    CLASP_RETURN_IF_REFUSED(
        fields.read("n", 1, static_cast<long long>(context.options.limits.max_choices), n));
    if (n) chat.n_choices = static_cast<std::size_t>(*n);
    CLASP_RETURN_IF_REFUSED(check_tools(fields, context));
    CLASP_RETURN_IF_REFUSED(check_unsupported(fields));
    Settings settings;
    CLASP_RETURN_IF_REFUSED(read_clasp(tag, http, fields.find("clasp"), context, settings, chat));
    chat.ask.generation = settings.request.generation;
    CLASP_RETURN_IF_REFUSED(read_max_tokens(fields, {"max_completion_tokens", "max_tokens", "n_predict"},
                                            chat, chat.ask.generation));
    CLASP_RETURN_IF_REFUSED(read_sampling(fields, chat.ask.generation));
    return read_conversation(body["messages"], context, settings, chat);
}

}  // namespace clasp::serve
