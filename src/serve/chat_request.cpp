#include "serve/chat_request.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>

#include "base/text.h"
#include "clasp/image.h"
#include "request/conflicts.h"
#include "request/json_request.h"
#include "request/message_json.h"
#include "request/option_table.h"
#include "request/question_text.h"
#include "serve/sampling_fields.h"

namespace clasp::serve {

namespace {

using base::Json;
using request::Scope;
using request::Settings;

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

// Whether a value has a type that the option takes, whatever its value.
bool has_type_of(const request::Row& row, const Json& value) {
    if (row.option.is_repeatable && (value.is_array() || value.is_object())) return true;
    switch (row.option.type) {
        case request::OptionType::Flag: return value.is_boolean();
        case request::OptionType::Integer:
        case request::OptionType::Number: return value.is_number();
        default: return value.is_string() || (row.takes_number && value.is_number());
    }
}

// What a clasp object may set.
constexpr std::array kScopes = {Scope::Asking, Scope::Time};

// What is wrong with one option of the object, for programs.
std::string code_of(const base::JsonMember& member) {
    for (const request::Row& row : request::option_table()) {
        if (std::find(kScopes.begin(), kScopes.end(), row.scope) == kScopes.end()) continue;
        if (row.key != member.key) continue;
        return has_type_of(row, member.value) ? "out_of_range" : "wrong_type";
    }
    return "unsupported_parameter";
}

// Where options come from.
struct Level {
    std::string_view by;  // as the reply says it
    // The field that a client has to change for an option.
    std::string (*param)(std::string_view key);
};
constexpr Level kTag = {"tag", [](std::string_view) { return std::string("model"); }};
constexpr Level kHeader = {"header", [](std::string_view key) {
                               return std::string(key == "budget" ? "X-Clasp-Budget" : "X-Clasp-Method");
                           }};
constexpr Level kBody = {"body",
                         [](std::string_view key) { return "clasp." + base::escaped(std::string(key), 64); }};

// One object of options over what is there already.
Check read_level(const Json& object, const Level& level, Settings& settings, ChatRequest& chat) {
    constexpr std::array<std::string_view, 2> kOurs = {"map", "report"};
    const bool says_amount = std::any_of(kAmounts.begin(), kAmounts.end(),
                                         [&](std::string_view name) { return object.contains(name); });
    if (says_amount) {
        forget_amount(settings);
        chat.budget_by = level.by;
    }
    for (const base::JsonMember& member : object.items()) {
        if (std::find(kOurs.begin(), kOurs.end(), member.key) != kOurs.end()) continue;
        if (member.value.is_null()) continue;
        const Status status = request::read_options(single(member), kScopes, kOurs, settings);
        if (status.ok()) continue;
        return bad_field(code_of(member), level.param(member.key), status.message());
    }
    return std::nullopt;
}

Check read_reply_options(const Json& object, ChatRequest& chat) {
    const Fields fields(object, "clasp.");
    CLASP_RETURN_IF_REFUSED(fields.read("report", chat.reports));
    std::string map = "none";
    CLASP_RETURN_IF_REFUSED(fields.read("map", map));
    if (map == "final") {
        chat.map = MapKind::Final;
    } else if (map == "stages") {
        chat.map = MapKind::Stages;
    } else if (map != "none") {
        return bad_field("out_of_range", "clasp.map",
                         "clasp.map takes none, final or stages, not " + base::in_quotes(map));
    }
    return std::nullopt;
}

std::span<const std::uint8_t> image_bytes(const std::string& picture) {
    return {reinterpret_cast<const std::uint8_t*>(picture.data()), picture.size()};
}

bool is_picture(const MessagePart& part) {
    return part.image.has_value();
}

// Blank words beside a picture are no words: some clients send one text with every picture, said or not.
void drop_blank_words(Message& message) {
    if (std::none_of(message.parts.begin(), message.parts.end(), is_picture)) return;
    std::erase_if(message.parts, [](const MessagePart& part) {
        return !is_picture(part) && part.text.find_first_not_of(" \t\r\n") == std::string::npos;
    });
}

// A question about pictures has them first, wherever its sender put them; it must not change its order once
// it is part of what was said before.
void put_pictures_first(Message& message) {
    const auto n_pictures = std::count_if(message.parts.begin(), message.parts.end(), is_picture);
    if (static_cast<std::size_t>(n_pictures) + 1 < message.parts.size()) return;
    std::stable_partition(message.parts.begin(), message.parts.end(), is_picture);
}

// The last message becomes the question. Its pictures stand in front of its words, as the models were
// trained, unless words and pictures take turns in it.
void split_question(std::vector<Message> messages, AskRequest& ask) {
    for (Message& message : messages) put_pictures_first(message);
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

// Models know one system message, in front of everything. What comes as several is one there, in its order.
void gather_system(std::vector<Message>& messages) {
    Message all = {Message::Role::System, {}};
    for (const Message& message : messages) {
        if (message.role != Message::Role::System) continue;
        for (const MessagePart& part : message.parts) {
            if (!all.parts.empty()) all.parts.push_back({.text = "\n"});
            all.parts.push_back(part);
        }
    }
    std::erase_if(messages, [](const Message& message) { return message.role == Message::Role::System; });
    if (!all.parts.empty()) messages.insert(messages.begin(), std::move(all));
}

// Two messages of the same side, one after the other, are one of two lines.
void join_neighbours(std::vector<Message>& messages) {
    std::vector<Message> joined;
    for (Message& message : messages) {
        if (joined.empty() || joined.back().role != message.role) {
            joined.push_back(std::move(message));
            continue;
        }
        std::vector<MessagePart>& parts = joined.back().parts;
        for (MessagePart& part : message.parts) {
            const bool is_first = &part == &message.parts.front();
            if (is_first && !part.image && !parts.empty() && !parts.back().image) {
                parts.back().text += "\n" + part.text;
            } else {
                parts.push_back(std::move(part));
            }
        }
    }
    messages = std::move(joined);
}

// What the server gives pictures of some detail, where the request says nothing of a budget and all of its
// pictures have the same detail.
void use_detail(const std::vector<std::string>& details, const std::map<std::string, BudgetSpec>& budgets,
                ChatRequest& chat) {
    const bool is_one = !details.empty() && std::all_of(details.begin(), details.end(), [&](const auto& one) {
        return one == details.front();
    });
    const auto budget = is_one ? budgets.find(details.front()) : budgets.end();
    if (budget == budgets.end() || chat.budget_by != "default") return;
    chat.ask.vanilla = false;
    chat.ask.forced_stages.clear();
    chat.ask.schedule_name.clear();
    chat.ask.budget = budget->second;
    chat.budget_by = "detail";
}

// How llama-server spells that the last message, the assistant's, is to be continued; it is anyway.
Check check_continued(const Fields& fields, const ChatRequest& chat) {
    bool is_continued = false;
    bool begins_anew = chat.ask.answer_begin.empty();
    CLASP_RETURN_IF_REFUSED(fields.read("continue_final_message", is_continued));
    CLASP_RETURN_IF_REFUSED(fields.read("add_generation_prompt", begins_anew));
    if (is_continued && chat.ask.answer_begin.empty()) {
        return bad_field("unsupported_parameter", "continue_final_message",
                         "continue_final_message needs words of the assistant as the last message");
    }
    if (is_continued && begins_anew) {
        return bad_field("unsupported_parameter", "continue_final_message",
                         "continue_final_message and add_generation_prompt exclude each other");
    }
    if (!begins_anew && chat.ask.answer_begin.empty()) {
        return bad_field("unsupported_parameter", "add_generation_prompt",
                         "add_generation_prompt: false needs words of the assistant as the last message");
    }
    return std::nullopt;
}

}  // namespace

namespace {

// llama-server's fields that change what is told of an answer, not the answer.
Check read_stream_manners(const Fields& fields, ChatRequest& chat) {
    constexpr long long kLongest = 86'400;
    CLASP_RETURN_IF_REFUSED(fields.read("return_progress", chat.wants_progress));
    CLASP_RETURN_IF_REFUSED(fields.read("timings_per_token", chat.wants_timings));
    CLASP_RETURN_IF_REFUSED(fields.read("verbose", chat.is_verbose));
    std::optional<long long> ping;
    CLASP_RETURN_IF_REFUSED(fields.read("sse_ping_interval", -1, kLongest, ping));
    if (ping) chat.silence.reset();
    if (ping && *ping > 0) chat.silence = std::chrono::seconds(*ping);
    return std::nullopt;
}

// Options that are well by themselves.
Check check_together(const Settings& settings) {
    const Status conflict = request::check_conflicts(settings, request::Caller::Json);
    if (!conflict.ok()) {
        const char* param = settings.request.vanilla ? "clasp.vanilla" : "clasp";
        if (!settings.request.vanilla && settings.is_given("schedule")) param = "clasp.schedule";
        return bad_field("unsupported_parameter", param, conflict.message());
    }
    AskRequest without_class = settings.request;
    without_class.class_choice.clear();
    const Status method = request::check_choices(without_class, settings.request.policy);
    if (!method.ok()) return bad_field("out_of_range", "clasp.method", method.message());
    const Status choice = request::check_choices(settings.request, settings.request.policy);
    if (!choice.ok()) return bad_field("out_of_range", "clasp.class", choice.message());
    return std::nullopt;
}

}  // namespace

Check check_tools(const Fields& fields, const ChatContext& context) {
    const std::pair<std::string_view, std::string_view> kinds[] = {{"tools", "tool_choice"},
                                                                   {"functions", "function_call"}};
    for (const auto& [key, how] : kinds) {
        const Json* tools = fields.find(key);
        if (tools == nullptr || tools->empty() || context.options.ignores_tools) continue;
        const Json* choice = fields.find(how);
        // OpenAI's words, and Anthropic's object.
        if (choice != nullptr && (*choice == Json("none") || (*choice)["type"] == Json("none"))) continue;
        return unsupported(key, "\"" + context.card.id + "\" does not support tools");
    }
    return std::nullopt;
}

Check check_unsupported(const Fields& fields) {
    for (const std::string_view key : {"audio", "web_search_options", "suffix"}) {
        if (fields.find(key) != nullptr) return unsupported(key, std::string(key) + " is not supported");
    }
    bool is_on = false;
    CLASP_RETURN_IF_REFUSED(fields.read("echo", is_on));
    if (is_on) return unsupported("echo", "echo is not supported");
    std::optional<long long> best_of;
    CLASP_RETURN_IF_REFUSED(fields.read("best_of", 0, std::numeric_limits<int>::max(), best_of));
    if (best_of && *best_of > 1) return unsupported("best_of", "best_of above 1 is not supported");
    if (const Json* modalities = fields.find("modalities")) {
        if (!modalities->is_array()) return bad_field("wrong_type", "modalities", "modalities takes a list");
        for (const Json& modality : *modalities) {
            if (!(modality == Json("text"))) return unsupported("modalities", "answers are text alone");
        }
    }
    return std::nullopt;
}

Check check_pictures(const std::list<std::string>& pictures, const RequestLimits& limits,
                     const std::string& place) {
    std::size_t n_pixels = 0;
    std::size_t number = 0;
    for (const std::string& picture : pictures) {
        ++number;
        const auto header = read_image_header(image_bytes(picture), ImageOptions());
        if (!header.ok()) {
            return bad_field(header.status().code() == Code::TooLarge ? "image_too_large" : "image_invalid",
                             place,
                             picture_fault(header.status().with_context("image " + std::to_string(number))));
        }
        n_pixels +=
            static_cast<std::size_t>(header->size.width) * static_cast<std::size_t>(header->size.height);
        if (n_pixels > limits.max_pixels) {
            return bad_field("image_too_large", place,
                             "the pictures up to image " + std::to_string(number) + " have " +
                                 std::to_string(n_pixels) + " pixels, at most " +
                                 std::to_string(limits.max_pixels));
        }
    }
    return std::nullopt;
}

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
    CLASP_RETURN_IF_REFUSED(read_level(tag, kTag, settings, chat));
    Json headers = Json::object();
    if (const std::string* budget = http.header("X-Clasp-Budget")) headers["budget"] = *budget;
    if (const std::string* method = http.header("X-Clasp-Method")) headers["method"] = *method;
    CLASP_RETURN_IF_REFUSED(read_level(headers, kHeader, settings, chat));
    if (body != nullptr) {
        if (!body->is_object()) return bad_field("wrong_type", "clasp", "clasp takes an object");
        CLASP_RETURN_IF_REFUSED(read_reply_options(*body, chat));
        CLASP_RETURN_IF_REFUSED(read_level(*body, kBody, settings, chat));
    }
    CLASP_RETURN_IF_REFUSED(check_together(settings));
    return std::nullopt;
}

Check read_conversation(const Json& messages, const ChatContext& context, const Settings& settings,
                        ChatRequest& chat) {
    request::MessageFault fault;
    const RequestLimits& limits = context.options.limits;
    auto read = request::read_messages(messages,
                                       {.max_messages = limits.max_messages,
                                        .max_parts = limits.max_parts,
                                        .max_images = limits.max_images,
                                        .max_text_bytes = limits.max_text_bytes,
                                        .max_image_bytes = limits.max_image_bytes,
                                        .sources = context.options.pictures},
                                       &fault);
    if (!read.ok()) return bad_field(std::string(fault.code), fault.place, read.status().message());
    chat.pictures = std::move(read->pictures);
    CLASP_RETURN_IF_REFUSED(check_pictures(chat.pictures, limits, "messages"));
    const GenerationOptions generation = std::move(chat.ask.generation);
    chat.ask = settings.request;
    chat.ask.generation = generation;
    use_detail(read->details, context.options.detail_budgets, chat);
    gather_system(read->messages);
    if (read->messages.back().role == Message::Role::Assistant && read->messages.size() > 1) {
        for (const MessagePart& part : read->messages.back().parts) chat.ask.answer_begin += part.text;
        read->messages.pop_back();
    }
    if (read->messages.back().role != Message::Role::User) {
        return bad_field("unsupported_content", "messages",
                         "the last message must be the user's, or words of the assistant behind it");
    }
    for (Message& message : read->messages) drop_blank_words(message);
    join_neighbours(read->messages);
    split_question(std::move(read->messages), chat.ask);
    const Status question = request::check_question(chat.ask.question);
    if (!question.ok()) return bad_field("missing", "messages", question.message());
    return std::nullopt;
}

Check read_head(const Fields& fields, const HttpRequest& http, const ChatContext& context, Settings& settings,
                ChatRequest& chat) {
    std::string model;
    Json tag;
    CLASP_RETURN_IF_REFUSED(fields.read("model", model));
    CLASP_RETURN_IF_REFUSED(read_model(model, context, tag));
    CLASP_RETURN_IF_REFUSED(fields.read("stream", chat.streams));
    CLASP_RETURN_IF_REFUSED(read_stream_manners(fields, chat));
    CLASP_RETURN_IF_REFUSED(check_tools(fields, context));
    CLASP_RETURN_IF_REFUSED(read_clasp(tag, http, fields.find("clasp"), context, settings, chat));
    chat.ask.generation = settings.request.generation;
    return std::nullopt;
}

Check read_stream_options(const Fields& fields, const ChatContext& context, ChatRequest& chat) {
    if (const Json* stream_options = fields.find("stream_options")) {
        CLASP_RETURN_IF_REFUSED(
            Fields(*stream_options, "stream_options.").read("include_usage", chat.wants_usage));
    }
    std::optional<long long> n;
    CLASP_RETURN_IF_REFUSED(
        fields.read("n", 1, static_cast<long long>(context.options.limits.max_choices), n));
    if (n) chat.n_choices = static_cast<std::size_t>(*n);
    return std::nullopt;
}

Check read_openai_chat(const Json& body, const HttpRequest& http, const ChatContext& context,
                       ChatRequest& chat) {
    const Fields fields(body);
    Settings settings;
    CLASP_RETURN_IF_REFUSED(read_head(fields, http, context, settings, chat));
    CLASP_RETURN_IF_REFUSED(read_stream_options(fields, context, chat));
    CLASP_RETURN_IF_REFUSED(check_unsupported(fields));
    CLASP_RETURN_IF_REFUSED(read_max_tokens(fields, {"max_completion_tokens", "max_tokens", "n_predict"},
                                            context.options.limits, chat, chat.ask.generation));
    CLASP_RETURN_IF_REFUSED(read_sampling(fields, chat.ask.generation));
    CLASP_RETURN_IF_REFUSED(read_stop(fields, "stop", chat.ask.generation));
    CLASP_RETURN_IF_REFUSED(read_logprobs(fields, chat.ask.generation));
    CLASP_RETURN_IF_REFUSED(read_format(fields, chat.ask.generation));
    chat.wants_tokens = chat.ask.generation.n_likely.has_value();
    CLASP_RETURN_IF_REFUSED(read_conversation(body["messages"], context, settings, chat));
    return check_continued(fields, chat);
}

}  // namespace clasp::serve
