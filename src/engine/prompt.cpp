#include "engine/prompt.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "engine/chat_template.h"
#include "llama.h"

namespace clasp::engine {
namespace {

// Collects one text piece. What the template and people say next to each other is tokenised together, as it
// was in training; only control tokens of the template cut the text.
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

    void add_said(std::string_view text, bool is_question) {
        if (is_question && user_begin_ == user_end_) user_begin_ = run_.size();
        run_ += text;
        if (is_question) user_end_ = run_.size();
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

Result<Prompt> build_prompt(const model::TextModel& model, std::span<const Message> messages,
                            const PromptOptions& options) {
    CLASP_ASSIGN_OR_RETURN(const RenderedChat chat, render_chat(model, messages, options));
    Prompt prompt;
    prompt.chat_template = chat.name;
    prompt.note = chat.note;

    PieceBuilder builder(model);
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
    std::int32_t image = 0;
    for (const ChatSegment& segment : chat.segments) {
        switch (segment.kind) {
            case ChatSegment::Kind::Template:
                CLASP_RETURN_IF_ERROR(builder.add_template(segment.text));
                break;
            case ChatSegment::Kind::Said: builder.add_said(segment.text, segment.is_question); break;
            case ChatSegment::Kind::Image:
                CLASP_RETURN_IF_ERROR(finish_text());
                prompt.pieces.push_back({.image = image++});
                break;
        }
    }
    CLASP_RETURN_IF_ERROR(finish_text());
    return prompt;
}

Result<Prompt> build_raw_prompt(const model::TextModel& model, std::span<const MessagePart> parts,
                                const model::PictureWords& words) {
    Prompt prompt;
    prompt.chat_template = "none";
    const auto add = [&prompt](const std::vector<std::int32_t>& tokens) {
        if (tokens.empty()) return;
        if (prompt.pieces.empty() || prompt.pieces.back().image >= 0) prompt.pieces.emplace_back();
        PromptPiece& piece = prompt.pieces.back();
        piece.tokens.insert(piece.tokens.end(), tokens.begin(), tokens.end());
        piece.is_instruction.resize(piece.tokens.size(), true);
    };
    const auto add_text = [&](std::string_view text) -> Status {
        CLASP_ASSIGN_OR_RETURN(const auto tokens, model.tokenize(text, prompt.pieces.empty(), true));
        add(tokens);
        return ok_status();
    };
    std::int32_t image = 0;
    for (const MessagePart& part : parts) {
        if (part.image) {
            if (!words.gap.empty()) CLASP_RETURN_IF_ERROR(add_text(words.gap));
            prompt.pieces.push_back({.image = image++});
            if (!words.gap.empty()) CLASP_RETURN_IF_ERROR(add_text(words.gap));
        } else if (!part.tokens.empty()) {
            add(part.tokens);
        } else {
            CLASP_RETURN_IF_ERROR(add_text(part.text));
        }
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

std::vector<std::int32_t> reference_tokens(const PromptLayout& layout, methods::Reference reference) {
    switch (reference) {
        case methods::Reference::Instruction:
            if (!layout.instruction.empty()) return layout.instruction;
            break;
        case methods::Reference::Post: return layout.post;
        case methods::Reference::All: {
            std::vector<std::int32_t> places(layout.n_tokens);
            std::iota(places.begin(), places.end(), 0);
            return places;
        }
        case methods::Reference::Last: break;
        case methods::Reference::Policy:
        case methods::Reference::Raters: CLASP_CHECK(false && "a reference that the layout does not know");
    }
    return {layout.post.back()};
}

}  // namespace clasp::engine
