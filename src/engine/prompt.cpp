#include "engine/prompt.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <utility>

#include "llama.h"
#include "model/llama_text.h"

namespace clasp::engine {
namespace {

// Stand for what is not template text while a template is applied; the user's words are put in
// afterwards, so these cannot be mistaken for them.
constexpr std::string_view kImageMark = "{{clasp-image}}";
constexpr std::string_view kQuestionMark = "{{clasp-question}}";

constexpr std::string_view kVicunaSystem =
    "A chat between a curious human and an artificial intelligence assistant. "
    "The assistant gives helpful, detailed, and polite answers to the human's questions.";

std::string user_turn(std::size_t n_images) {
    std::string turn;
    for (std::size_t i = 0; i < n_images; ++i) {
        turn += kImageMark;
        turn += '\n';
    }
    turn += kQuestionMark;
    return turn;
}

std::string render_vicuna(std::string_view system, std::size_t n_images) {
    std::string text(system);
    if (!text.empty()) text += ' ';
    return text + "USER: " + user_turn(n_images) + " ASSISTANT:";
}

// Nothing when libllama does not know the template.
std::optional<std::string> render_known(const std::string& chat_template, const std::string& system,
                                        std::size_t n_images) {
    const std::string turn = user_turn(n_images);
    std::vector<llama_chat_message> messages;
    if (!system.empty()) messages.push_back({"system", system.c_str()});
    messages.push_back({"user", turn.c_str()});
    return model::apply_chat_template(chat_template, messages);
}

// The family that LLaVA-1.5 belongs to; libllama's rendering of it has other white space than the
// original.
bool is_vicuna(std::string_view chat_template) {
    return chat_template == "vicuna" || chat_template.find("ASSISTANT:") != std::string_view::npos;
}

// A file whose own template begins with the user's turn was trained without the system sentence.
std::string_view vicuna_system(const std::optional<std::string>& own, const std::string& asked) {
    const bool is_own = asked.empty() && own && *own != "vicuna";
    return is_own && own->find("A chat between") == std::string::npos ? std::string_view() : kVicunaSystem;
}

struct Rendered {
    std::string text;
    std::string name;
    std::string note;
};

Result<Rendered> render(const model::TextModel& model, std::size_t n_images, const PromptOptions& options) {
    if (options.system.find("{{clasp-") != std::string::npos) {
        return Status(Code::InvalidArgument, "the system text contains \"{{clasp-\", which is reserved");
    }
    const std::optional<std::string> own = model.chat_template();
    const std::string& asked = options.chat_template;
    if (!asked.empty() && asked != "llava-1.5") {
        auto text = render_known(asked, options.system, n_images);
        if (text) return Rendered{*text, asked, ""};
        return Status(Code::NotFound, "libllama knows no chat template \"" + asked + "\"");
    }
    const auto vicuna = [&](std::string_view usual) {
        return render_vicuna(options.system.empty() ? usual : options.system, n_images);
    };
    if (asked.empty() && own && !is_vicuna(*own)) {
        auto text = render_known(*own, options.system, n_images);
        if (text) return Rendered{*text, "file", ""};
        return Rendered{vicuna(kVicunaSystem), "llava-1.5",
                        "the file's chat template is not one that is known; using that of LLaVA-1.5"};
    }
    return Rendered{vicuna(vicuna_system(own, asked)), "llava-1.5", ""};
}

// Collects one text piece. Template text and the user's words that stand next to each other are
// tokenised together, as they were in training; only control tokens of the template cut the text.
class PieceBuilder {
   public:
    explicit PieceBuilder(const model::TextModel& model) : model_(model) {}

    Status add_template(std::string_view text) {
        while (!text.empty()) {
            const auto [at, length] = find_control(text);
            run_ += text.substr(0, at);
            if (length == 0) return ok_status();
            CLASP_RETURN_IF_ERROR(flush());
            CLASP_ASSIGN_OR_RETURN(const auto tokens, model_.tokenize(text.substr(at, length), false, true));
            append(tokens, {});
            text.remove_prefix(at + length);
        }
        return ok_status();
    }

    void add_user(std::string_view text) {
        user_begin_ = run_.size();
        run_ += text;
        user_end_ = run_.size();
    }

    Status flush() {
        if (run_.empty()) return ok_status();
        CLASP_ASSIGN_OR_RETURN(const auto tokens, model_.tokenize(run_, false, false));
        CLASP_ASSIGN_OR_RETURN(const auto is_instruction, find_user_tokens(tokens));
        append(tokens, is_instruction);
        run_.clear();
        user_begin_ = user_end_ = 0;
        return ok_status();
    }

    PromptPiece take() { return std::exchange(piece_, {}); }
    void prepend(std::int32_t token) {
        piece_.tokens.insert(piece_.tokens.begin(), token);
        piece_.is_instruction.insert(piece_.is_instruction.begin(), false);
    }
    [[nodiscard]] bool begins_with(std::int32_t token) const {
        return !piece_.tokens.empty() && piece_.tokens.front() == token;
    }

   private:
    // The first control token written out in the text, the longest if several begin there; its length
    // is 0 and its place the end when there is none.
    [[nodiscard]] std::pair<std::size_t, std::size_t> find_control(std::string_view text) const {
        std::pair<std::size_t, std::size_t> best = {text.size(), 0};
        for (const std::string& control : model_.control_tokens()) {
            const std::size_t at = text.find(control);
            if (at < best.first || (at == best.first && control.size() > best.second)) {
                best = {at, control.size()};
            }
        }
        return best;
    }

    // A token is the user's if any of its bytes is.
    [[nodiscard]] Result<std::vector<bool>> find_user_tokens(const std::vector<std::int32_t>& tokens) const {
        std::vector<bool> is_user(tokens.size(), false);
        if (user_begin_ == user_end_) return is_user;
        std::string joined;
        std::vector<std::size_t> ends;
        for (const std::int32_t token : tokens) {
            joined += model_.piece(token, true);
            ends.push_back(joined.size());
        }
        // SentencePiece vocabularies put a space in front.
        const std::size_t shift = joined.size() == run_.size() + 1 && joined.front() == ' ' ? 1 : 0;
        if (std::string_view(joined).substr(shift) == run_) {
            std::size_t begin = 0;
            for (std::size_t i = 0; i < tokens.size(); ++i) {
                is_user[i] = begin < user_end_ + shift && ends[i] > user_begin_ + shift;
                begin = ends[i];
            }
            return is_user;
        }
        // The vocabulary rewrites text: count the tokens up to both ends instead.
        const std::string_view run = run_;
        CLASP_ASSIGN_OR_RETURN(const auto before, model_.tokenize(run.substr(0, user_begin_), false, false));
        CLASP_ASSIGN_OR_RETURN(const auto through, model_.tokenize(run.substr(0, user_end_), false, false));
        for (std::size_t i = before.size(); i < std::min(through.size(), tokens.size()); ++i)
            is_user[i] = true;
        return is_user;
    }

    void append(const std::vector<std::int32_t>& tokens, std::vector<bool> is_instruction) {
        is_instruction.resize(tokens.size(), false);
        piece_.tokens.insert(piece_.tokens.end(), tokens.begin(), tokens.end());
        piece_.is_instruction.insert(piece_.is_instruction.end(), is_instruction.begin(),
                                     is_instruction.end());
    }

    const model::TextModel& model_;
    PromptPiece piece_;
    std::string run_;  // text since the last control token
    std::size_t user_begin_ = 0;
    std::size_t user_end_ = 0;
};

}  // namespace

Result<Prompt> build_prompt(const model::TextModel& model, std::string_view question, std::size_t n_images,
                            const PromptOptions& options) {
    CLASP_ASSIGN_OR_RETURN(const Rendered rendered, render(model, n_images, options));
    Prompt prompt;
    prompt.chat_template = rendered.name;
    prompt.note = rendered.note;

    PieceBuilder builder(model);
    std::int32_t image = 0;
    bool has_question = false;
    const auto finish_text = [&]() -> Status {
        CLASP_RETURN_IF_ERROR(builder.flush());
        const std::int32_t bos = llama_vocab_bos(model.vocabulary());
        if (prompt.pieces.empty() && llama_vocab_get_add_bos(model.vocabulary()) &&
            !builder.begins_with(bos)) {
            builder.prepend(bos);
        }
        PromptPiece piece = builder.take();
        if (!piece.tokens.empty()) prompt.pieces.push_back(std::move(piece));
        return ok_status();
    };
    std::string_view rest = rendered.text;
    while (true) {
        const std::size_t next_image = rest.find(kImageMark);
        const std::size_t next_question = rest.find(kQuestionMark);
        const std::size_t next = std::min(next_image, next_question);
        CLASP_RETURN_IF_ERROR(builder.add_template(rest.substr(0, next)));
        if (next == std::string_view::npos) break;
        if (next == next_question) {
            builder.add_user(question);
            has_question = true;
            rest.remove_prefix(next + kQuestionMark.size());
            continue;
        }
        CLASP_RETURN_IF_ERROR(finish_text());
        prompt.pieces.push_back({.image = image++});
        rest.remove_prefix(next + kImageMark.size());
    }
    CLASP_RETURN_IF_ERROR(finish_text());
    if (!has_question || static_cast<std::size_t>(image) != n_images) {
        return Status(Code::Unsupported,
                      "the chat template \"" + rendered.name + "\" leaves out the question or an image");
    }
    return prompt;
}

Result<PromptLayout> lay_out(const Prompt& prompt, std::span<const std::size_t> tokens_per_image) {
    PromptLayout layout;
    for (const PromptPiece& piece : prompt.pieces) {
        if (piece.image >= 0) {
            const auto image = static_cast<std::size_t>(piece.image);
            if (image >= tokens_per_image.size()) {
                return Status(Code::InvalidArgument, "the prompt wants more than " +
                                                         std::to_string(tokens_per_image.size()) + " images");
            }
            layout.image_begin.push_back(layout.n_tokens);
            layout.n_tokens += tokens_per_image[image];
            layout.n_visual += tokens_per_image[image];
            layout.instruction.clear();
            layout.post.clear();
            continue;
        }
        for (std::size_t i = 0; i < piece.tokens.size(); ++i) {
            const auto place = static_cast<std::int32_t>(layout.n_tokens + i);
            layout.post.push_back(place);
            if (piece.is_instruction[i]) layout.instruction.push_back(place);
        }
        layout.n_tokens += piece.tokens.size();
    }
    if (layout.image_begin.size() != tokens_per_image.size()) {
        return Status(Code::InvalidArgument, "the prompt has places for " +
                                                 std::to_string(layout.image_begin.size()) + " images, not " +
                                                 std::to_string(tokens_per_image.size()));
    }
    if (layout.post.empty()) return Status(Code::Unsupported, "the prompt does not end with text");
    return layout;
}

std::vector<std::int32_t> reference_tokens(const PromptLayout& layout, ReferenceMode mode) {
    switch (mode) {
        case ReferenceMode::Instruction:
            if (!layout.instruction.empty()) return layout.instruction;
            break;
        case ReferenceMode::Post: return layout.post;
        case ReferenceMode::All: {
            std::vector<std::int32_t> places(layout.n_tokens);
            std::iota(places.begin(), places.end(), 0);
            return places;
        }
        case ReferenceMode::Last: break;
    }
    return {layout.post.back()};
}

}  // namespace clasp::engine
