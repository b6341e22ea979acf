// A conversation in a terminal or a pipe: what was said, what holds for the next question, what to show of
// the last answer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "clasp/conversation.h"
#include "clasp/engine.h"
#include "cli/ask_progress.h"
#include "cli/chat_line.h"
#include "cli/command.h"

namespace clasp::cli {

struct ChatSettings {
    AskRequest request = {};  // of every question, but for its words and pictures
    std::string system = {};
    std::string model = {};  // its name
    bool as_json = false;
};

class ChatSession {
   public:
    // The engine, the console and its line of progress must outlive it.
    ChatSession(const Engine& engine, ChatSettings settings, Console& console, AskProgress& progress);

    void show_next(std::vector<ImageSource> images) { next_images_ = std::move(images); }
    // False: it is over.
    Result<bool> take(const ChatLine& line);

   private:
    Status ask(const std::string& question);
    Status set_budget(const std::string& text);
    Status set_method(const std::string& text);
    [[nodiscard]] Status show_map(const std::string& path) const;
    [[nodiscard]] Status save(const std::string& path) const;
    void tell(const std::string& line) const;
    void tell_figures(const Answer& answer) const;
    [[nodiscard]] bool has_pictures() const;

    Conversation conversation_;
    std::size_t n_kept_;  // messages that a reset leaves
    ChatSettings settings_;
    Console& console_;
    AskProgress& progress_;
    std::vector<ImageSource> next_images_;
    std::vector<std::string> shown_;  // files of pictures, which nothing may be written over
    std::optional<Answer> last_answer_;
    std::string last_question_;
};

// What the last stage left, a character for each token; empty when the model does not say where they lie.
std::string map_text(const Answer& answer);
// "# user", "# assistant" and their words below; pictures are told by their number.
std::string transcript(const std::vector<Message>& messages);

}  // namespace clasp::cli
