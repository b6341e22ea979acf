// Turns the bytes of generated tokens into text that can be shown as it comes.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace clasp::engine {

// What comes out is always whole UTF-8 characters: a character split over tokens waits for its rest,
// and bytes that cannot be part of one become U+FFFD. White space at both ends is left out, unless
// it is to stay. The stop
// text that is complete first ends the text and is not part of it; what may be the beginning of one waits
// too.
class TextStream {
   public:
    // No stop text is empty. keeps_space: white space at both ends is text too.
    explicit TextStream(std::vector<std::string> stops = {}, bool keeps_space = false)
        : stops_(std::move(stops)), keeps_space_(keeps_space) {}

    // The text that became certain with these bytes; may be empty. Nothing comes after a stop text.
    std::string push(std::string_view bytes);
    // The rest, after the last bytes.
    std::string finish();

    [[nodiscard]] bool has_stopped() const { return has_stopped_; }
    // The stop text that came; empty when none did.
    [[nodiscard]] const std::string& stop_text() const { return stop_text_; }

   private:
    // Leaves out a stop text and what follows it, and holds back what may be the beginning of one.
    std::string until_stop(std::string text);
    std::string release(std::string text);

    std::vector<std::string> stops_;
    bool keeps_space_;
    std::string stop_text_;
    std::string bytes_;  // the beginning of a character
    std::string held_;   // the beginning of a stop text, perhaps
    std::string space_;  // white space that is text only if more text follows
    bool has_begun_ = false;
    bool has_stopped_ = false;
};

}  // namespace clasp::engine
