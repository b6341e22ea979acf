// Turns the bytes of generated tokens into text that can be shown as it comes.
#pragma once

#include <string>
#include <string_view>

namespace clasp::engine {

// What comes out is always whole UTF-8 characters: a character split over tokens waits for its rest,
// and bytes that cannot be part of one become U+FFFD. White space at both ends is left out.
class TextStream {
   public:
    // The text that became certain with these bytes; may be empty.
    std::string push(std::string_view bytes);
    // The rest, after the last bytes.
    std::string finish();

   private:
    std::string release(std::string text);

    std::string bytes_;  // the beginning of a character
    std::string space_;  // white space that is text only if more text follows
    bool has_begun_ = false;
};

}  // namespace clasp::engine
