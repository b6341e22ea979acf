#include "engine/chat_template.h"

#include <optional>
#include <utility>

#include "base/text.h"
#include "llama.h"
#include "model/llama_text.h"

namespace clasp::engine {

namespace {

using Role = Message::Role;

constexpr std::string_view kVicunaSystem =
    "A chat between a curious human and an artificial intelligence assistant. "
    "The assistant gives helpful, detailed, and polite answers to the human's questions.";

Status invalid_conversation(std::string message) {
    return {Code::InvalidArgument, std::move(message)};
}

Status check_messages(std::span<const Message> messages) {
    if (messages.empty()) return invalid_conversation("the conversation is empty");
    const bool is_continued = messages.size() > 1 && messages.back().role == Role::Assistant;
    if (messages.back().role != Role::User && !is_continued) {
        return invalid_conversation("the last message of a conversation must be the user's");
    }
    for (std::size_t i = 0; i < messages.size(); ++i) {
        const std::string name = "message " + std::to_string(i + 1) + " of the conversation";
        const Role role = messages[i].role;
        if (role == Role::System && i > 0)
            return invalid_conversation(name + " is a system message; only the first may be");
        if (i > 0 && role == messages[i - 1].role) {
            return invalid_conversation(name + " comes from the " + std::string(role_name(role)) +
                                        ", as does the one before it");
        }
        for (const MessagePart& part : messages[i].parts) {
            if (part.image && role != Role::User) {
                return invalid_conversation(name + " comes from the " + std::string(role_name(role)) +
                                            " and has a picture; only the user's may");
            }
            if (part.image && !part.text.empty()) {
                return invalid_conversation(name + " has a part that is both words and a picture");
            }
        }
    }
    return ok_status();
}

// Stands for part `number` of the conversation while a template is applied. What was said is put in
// afterwards, so that nobody's words can be mistaken for a mark or for the template's.
std::string mark(std::size_t number) {
    return "{{clasp-" + std::to_string(number) + "}}";
}

// A message as marks; the first part has number `first`.
std::string marked(const Message& message, std::size_t first, const std::string& after_image) {
    std::string text;
    for (std::size_t i = 0; i < message.parts.size(); ++i) {
        text += mark(first + i);
        if (message.parts[i].image) text += after_image;
    }
    return text;
}

struct MarkedMessage {
    Role role;
    std::string text;
    bool begins_with_image = false;
};

std::vector<MarkedMessage> marked(std::span<const Message> messages, const model::PictureWords& words) {
    std::vector<MarkedMessage> result;
    if (!words.system.empty() && messages.front().role != Role::System) {
        result.push_back({Role::System, words.system});
    }
    std::size_t n_parts = 0;
    for (const Message& message : messages) {
        const bool begins_with_image = !message.parts.empty() && message.parts.front().image.has_value();
        result.push_back({message.role, marked(message, n_parts, words.after), begins_with_image});
        n_parts += message.parts.size();
    }
    return result;
}

// As the authors of LLaVA-1.5 write a conversation; the model's end token closes an answer.
std::string render_vicuna(std::string_view usual_system, std::span<const MarkedMessage> messages,
                          const std::string& end) {
    const bool has_system = messages.front().role == Role::System;
    std::string text = has_system ? messages.front().text : std::string(usual_system);
    if (!text.empty()) text += ' ';
    for (const MarkedMessage& message : messages.subspan(has_system ? 1 : 0)) {
        if (message.role == Role::User) {
            text += "USER: " + message.text + " ASSISTANT:";
        } else {
            text += " " + message.text + end;
        }
    }
    return text;
}

// As the authors of SmolVLM write a conversation. libllama's rendering has a space before every picture, and
// system messages without a name.
std::string render_smolvlm(std::span<const MarkedMessage> messages) {
    std::string text = "<|im_start|>";
    for (const MarkedMessage& message : messages) {
        std::string role(role_name(message.role));
        role.front() = static_cast<char>(role.front() - 'a' + 'A');
        text += role + (message.begins_with_image ? ":" : ": ") + message.text + "<end_of_utterance>\n";
    }
    return text + "Assistant:";
}

bool is_smolvlm(std::string_view chat_template) {
    return chat_template == "smolvlm" || chat_template.find("<end_of_utterance>") != std::string_view::npos;
}

// A name or a text of a template.
bool is_chatml(std::string_view chat_template) {
    return chat_template == "chatml" || chat_template.find("<|im_start|>") != std::string_view::npos;
}

// Takes the line break away that stands behind each token that ends a turn.
void join_turns(std::string& text) {
    for (const std::string_view end : {"<|im_end|>\n", "<|end|>\n"}) {
        for (std::size_t at = text.find(end); at != std::string::npos; at = text.find(end, at)) {
            at += end.size() - 1;
            text.erase(at, 1);
        }
    }
}

// Nothing when libllama does not know the template.
std::optional<std::string> render_known(const std::string& chat_template,
                                        std::span<const MarkedMessage> messages,
                                        const model::PictureWords& words, const std::string& architecture) {
    if (is_smolvlm(chat_template)) return render_smolvlm(messages);
    const bool is_meant = words.turns_of.empty() || words.turns_of == architecture;
    std::vector<llama_chat_message> turns;
    if (is_meant && !words.chatml_system.empty() && is_chatml(chat_template) &&
        messages.front().role != Role::System) {
        turns.push_back({role_name(Role::System).data(), words.chatml_system.c_str()});
    }
    for (const MarkedMessage& message : messages) {
        turns.push_back({role_name(message.role).data(), message.text.c_str()});
    }
    std::optional<std::string> text = model::apply_chat_template(chat_template, turns);
    if (text && is_meant && words.joins_turns) join_turns(*text);
    return text;
}

// The family that LLaVA-1.5 belongs to; libllama's rendering of it has other white space than the
// original.
bool is_vicuna(std::string_view chat_template) {
    return chat_template == "vicuna" || chat_template.find("ASSISTANT:") != std::string_view::npos;
}

// A file whose own template begins with the user's turn was trained without the system sentence.
std::string_view vicuna_system(const std::optional<std::string>& own, const PromptOptions& options) {
    const std::string& asked = options.chat_template;
    if (asked.empty() && !own && !options.words.has_vicuna_system) return {};
    const bool is_own = asked.empty() && own && *own != "vicuna";
    return is_own && own->find("A chat between") == std::string::npos ? std::string_view() : kVicunaSystem;
}

// Mistral 7B by its name or shape; Llama 3 has the same shape and another vocabulary.
bool is_mistral(const model::TextConfig& config) {
    constexpr std::int32_t kMostWords = 40000;
    return base::lower(config.name).find("mistral") != std::string::npos ||
           (config.n_layers == 32 && config.width == 4096 && config.n_kv_heads == 8 &&
            config.ffn_width == 14336 && config.vocabulary < kMostWords);
}

bool is_yi(const model::TextConfig& config) {
    constexpr std::int32_t kYiWords = 64000;
    return config.n_layers == 60 && config.vocabulary == kYiWords;
}

struct Rendered {
    std::string text;
    std::string name;
    std::string note;
};

Result<Rendered> render(const model::TextModel& model, std::span<const MarkedMessage> messages,
                        const PromptOptions& options) {
    const std::string& asked = options.chat_template;
    const std::string& architecture = model.config().architecture;
    const std::optional<std::string> own = model.chat_template();
    if (!asked.empty() && asked != "llava-1.5") {
        auto text = render_known(asked, messages, options.words, architecture);
        if (text) return Rendered{*text, asked, ""};
        return Status(Code::NotFound, "libllama knows no chat template \"" + asked + "\"");
    }
    const std::int32_t end = llama_vocab_eos(model.vocabulary());
    const std::string end_text = end >= 0 ? model.piece(end, true) : std::string();
    const bool is_foreign = asked.empty() && own && !is_vicuna(*own);
    if (is_foreign) {
        auto text = render_known(*own, messages, options.words, architecture);
        if (text) return Rendered{*text, "file", ""};
    }
    const std::string usual = usual_template(model.config(), options.words);
    const std::string guess =
        own ? "the file's chat template is not one that is known" : "the file brings no chat template";
    if (asked.empty() && !usual.empty() && (!own || is_foreign)) {
        auto text = render_known(usual, messages, options.words, architecture);
        if (text) return Rendered{*text, usual, guess + "; using " + usual};
    }
    if (is_foreign) {
        return Rendered{render_vicuna(kVicunaSystem, messages, end_text), "llava-1.5",
                        guess + "; using that of LLaVA-1.5"};
    }
    return Rendered{render_vicuna(vicuna_system(own, options), messages, end_text), "llava-1.5", ""};
}

}  // namespace

std::string usual_template(const model::TextConfig& config, const model::PictureWords& words) {
    if (!words.mistral_template.empty() && is_mistral(config)) return words.mistral_template;
    if (!words.yi_template.empty() && is_yi(config)) return words.yi_template;
    return words.chat_template.empty() ? std::string(config.family->chat_template) : words.chat_template;
}

Result<RenderedChat> render_chat(const model::TextModel& model, std::span<const Message> messages,
                                 const PromptOptions& options) {
    CLASP_RETURN_IF_ERROR(check_messages(messages));
    CLASP_ASSIGN_OR_RETURN(const Rendered rendered, render(model, marked(messages, options.words), options));
    RenderedChat chat;
    chat.name = rendered.name;
    chat.note = rendered.note;
    std::string_view rest = rendered.text;
    const auto add_template = [&chat](std::string_view text) {
        if (!text.empty()) chat.segments.push_back({ChatSegment::Kind::Template, std::string(text)});
    };
    const bool is_continued = messages.back().role == Role::Assistant;
    const Message* const question = &messages[messages.size() - (is_continued ? 2 : 1)];
    std::size_t number = 0;
    for (const Message& message : messages) {
        for (const MessagePart& part : message.parts) {
            const std::string wanted = mark(number++);
            const std::size_t at = rest.find(wanted);
            if (at == std::string_view::npos) {
                return Status(Code::Unsupported, "the chat template \"" + rendered.name +
                                                     "\" leaves out what was said, or changes its order");
            }
            add_template(rest.substr(0, at));
            rest.remove_prefix(at + wanted.size());
            if (part.image) add_template(options.words.gap);
            ChatSegment segment;
            segment.kind = part.image ? ChatSegment::Kind::Image : ChatSegment::Kind::Said;
            segment.text = part.text;
            segment.is_question = &message == question;
            chat.segments.push_back(std::move(segment));
            if (part.image) add_template(options.words.gap);
        }
    }
    if (!is_continued) add_template(rest);
    return chat;
}

}  // namespace clasp::engine

namespace clasp {

std::string_view role_name(Message::Role role) {
    switch (role) {
        case Message::Role::System: return "system";
        case Message::Role::User: return "user";
        case Message::Role::Assistant: return "assistant";
    }
    return "";
}

}  // namespace clasp
