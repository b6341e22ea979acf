// A line that a person types on a terminal: edited in place, with the lines before it, and with several lines
// where they are wanted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace clasp::cli {

// Keys: arrows, Home, End, Ctrl-A, -E, -B, -F; Backspace, Delete, Ctrl-U, -K, -W; up and down for lines
// before. Enter ends the line; behind a backslash it begins another one, as do Alt-Enter and Ctrl-J. What is
// pasted is taken as it is. The terminal is raw while a line is read, and as before afterwards.
class LineEditor {
   public:
    // in: a descriptor; one that is no terminal is read in the same way, for tests. out is borrowed.
    LineEditor(int in, std::ostream& out) : in_(in), out_(out) {}

    enum class End : std::uint8_t {
        Line,
        Interrupt,  // Ctrl-C
        Input,      // Ctrl-D on an empty line, or nothing more to read
    };
    struct Read {
        End end = End::Line;
        std::string text;
    };
    Read read(std::string_view prompt);

   private:
    // One key or one character; negative: there is no more.
    int next_byte();
    void take_escape();
    void take_paste();
    void take_character(char first);
    // False: the line is over.
    bool take_control(char c, Read& read);
    bool take_enter();
    void insert(std::string_view text);
    void erase(std::size_t begin, std::size_t end);
    void move_left();
    void move_right();
    void browse(bool back);
    [[nodiscard]] std::size_t word_begin() const;
    [[nodiscard]] std::size_t before(std::size_t at) const;
    [[nodiscard]] std::size_t after(std::size_t at) const;
    void draw(std::string_view prompt) const;

    int in_;
    std::ostream& out_;
    std::string text_;
    std::size_t at_ = 0;                // of the cursor, in bytes
    std::vector<std::string> history_;  // the oldest first
    std::size_t place_ = 0;             // in the history; its size: the new line
    std::string unfinished_;            // the new line while others are shown
};

}  // namespace clasp::cli
