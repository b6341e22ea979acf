#include "cli/line_editor.h"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ostream>

namespace clasp::cli {

namespace {

constexpr std::size_t kMaxLine = std::size_t{1} << 20U;
constexpr std::size_t kMaxHistory = 1000;
constexpr std::size_t kUsualWidth = 80;
constexpr std::string_view kPasteEnd = "\x1b[201~";
constexpr char kEscape = '\x1b';

// The terminal as the editor needs it, for as long as this lives.
class RawTerminal {
   public:
    RawTerminal(int terminal, std::ostream& out) : terminal_(terminal), out_(out) {
        is_raw_ = isatty(terminal) == 1 && tcgetattr(terminal, &before_) == 0;
        if (!is_raw_) return;
        termios raw = before_;
        raw.c_iflag &= ~static_cast<tcflag_t>(BRKINT | ICRNL | INPCK | ISTRIP | IXON);
        raw.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON | IEXTEN | ISIG);
        raw.c_cc[VMIN] = 1;
        raw.c_cc[VTIME] = 0;
        tcsetattr(terminal_, TCSADRAIN, &raw);
        out_ << "\x1b[?2004h" << std::flush;  // what is pasted comes with marks around it
    }
    ~RawTerminal() {
        if (!is_raw_) return;
        out_ << "\x1b[?2004l" << std::flush;
        tcsetattr(terminal_, TCSADRAIN, &before_);
    }
    RawTerminal(const RawTerminal&) = delete;
    RawTerminal& operator=(const RawTerminal&) = delete;

   private:
    int terminal_;
    std::ostream& out_;
    bool is_raw_ = false;
    termios before_{};
};

std::size_t terminal_width(int terminal) {
    winsize size{};
    const bool is_known = ioctl(terminal, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return is_known ? size.ws_col : kUsualWidth;
}

bool continues(char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

// Bytes of a character by its first one.
std::size_t length_by(char first) {
    const auto byte = static_cast<unsigned char>(first);
    return byte < 0x80 ? 1 : byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
}

// Columns of a character: of East Asian and pictorial ones two.
std::size_t columns_of(std::string_view character) {
    const auto first = static_cast<unsigned char>(character.front());
    if (first == 0xCC || (first == 0xCD && static_cast<unsigned char>(character[1]) < 0xB0)) return 0;
    const bool is_wide = first >= 0xE3 && first <= 0xED && first != 0xEA;
    return is_wide || first >= 0xF0 ? 2 : 1;
}

// A character as it is shown on the one row of the editor.
std::string_view shown(std::string_view character) {
    return character == "\n" ? "\xE2\x86\xB5" : character;
}

}  // namespace

int LineEditor::next_byte() {
    char c = 0;
    for (;;) {
        const ssize_t n = ::read(in_, &c, 1);
        if (n == 1) return static_cast<unsigned char>(c);
        if (n == 0 || errno != EINTR) return -1;
    }
}

LineEditor::Read LineEditor::read(std::string_view prompt) {
    const RawTerminal raw(in_, out_);
    text_.clear();
    at_ = 0;
    place_ = history_.size();
    Read result;
    for (;;) {
        draw(prompt);
        const int c = next_byte();
        if (c < 0) {
            result.end = text_.empty() ? End::Input : End::Line;
            break;
        }
        if (c >= ' ' && c != 0x7F) {
            take_character(static_cast<char>(c));
        } else if (c == kEscape) {
            take_escape();
        } else if (!take_control(static_cast<char>(c), result)) {
            break;
        }
    }
    at_ = text_.size();
    draw(prompt);
    out_ << "\r\n" << std::flush;
    if (result.end != End::Line) return result;
    result.text = text_;
    if (!text_.empty() && (history_.empty() || history_.back() != text_)) history_.push_back(text_);
    if (history_.size() > kMaxHistory) history_.erase(history_.begin());
    return result;
}

void LineEditor::take_character(char first) {
    std::string character(1, first);
    while (character.size() < length_by(first)) {
        const int c = next_byte();
        if (c < 0) return;
        character += static_cast<char>(c);
    }
    insert(character);
}

bool LineEditor::take_control(char c, Read& read) {
    constexpr auto control = [](char letter) { return static_cast<char>(letter - '@'); };
    switch (c) {
        case control('M'): return take_enter();
        case control('J'): insert("\n"); return true;
        case control('C'): read.end = End::Interrupt; return false;
        case control('D'):
            if (text_.empty()) {
                read.end = End::Input;
                return false;
            }
            erase(at_, after(at_));
            return true;
        case control('A'): at_ = 0; return true;
        case control('E'): at_ = text_.size(); return true;
        case control('B'): move_left(); return true;
        case control('F'): move_right(); return true;
        case control('K'): erase(at_, text_.size()); return true;
        case control('U'): erase(0, at_); return true;
        case control('W'): erase(word_begin(), at_); return true;
        case control('P'): browse(true); return true;
        case control('N'): browse(false); return true;
        case control('H'):
        case 0x7F: erase(before(at_), at_); return true;
        default: return true;
    }
}

bool LineEditor::take_enter() {
    if (at_ == text_.size() && text_.ends_with('\\')) {
        text_.back() = '\n';
        return true;
    }
    return false;
}

void LineEditor::take_escape() {
    const int kind = next_byte();
    if (kind == '\r') {
        insert("\n");
        return;
    }
    if (kind != '[' && kind != 'O') return;
    std::string sequence;
    for (int c = next_byte(); c >= 0; c = next_byte()) {
        sequence += static_cast<char>(c);
        if (c >= '@' && c <= '~') break;
    }
    if (sequence == "A") browse(true);
    if (sequence == "B") browse(false);
    if (sequence == "C") move_right();
    if (sequence == "D") move_left();
    if (sequence == "H" || sequence == "1~") at_ = 0;
    if (sequence == "F" || sequence == "4~") at_ = text_.size();
    if (sequence == "3~") erase(at_, after(at_));
    if (sequence == "200~") take_paste();
}

void LineEditor::take_paste() {
    std::string pasted;
    while (!pasted.ends_with(kPasteEnd)) {
        const int c = next_byte();
        if (c < 0) break;
        pasted += c == '\r' ? '\n' : static_cast<char>(c);
    }
    if (pasted.ends_with(kPasteEnd)) pasted.resize(pasted.size() - kPasteEnd.size());
    std::erase_if(pasted, [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return (byte < ' ' && c != '\n') || byte == 0x7F;
    });
    while (pasted.ends_with('\n')) pasted.pop_back();
    insert(pasted);
}

void LineEditor::insert(std::string_view text) {
    if (text_.size() + text.size() > kMaxLine) return;
    text_.insert(at_, text);
    at_ += text.size();
}

void LineEditor::erase(std::size_t begin, std::size_t end) {
    text_.erase(begin, end - begin);
    at_ = begin;
}

void LineEditor::move_left() {
    at_ = before(at_);
}

void LineEditor::move_right() {
    at_ = after(at_);
}

void LineEditor::browse(bool back) {
    if (back ? place_ == 0 : place_ == history_.size()) return;
    if (place_ == history_.size()) unfinished_ = text_;
    place_ = back ? place_ - 1 : place_ + 1;
    text_ = place_ == history_.size() ? unfinished_ : history_[place_];
    at_ = text_.size();
}

std::size_t LineEditor::word_begin() const {
    std::size_t at = at_;
    while (at > 0 && text_[at - 1] == ' ') --at;
    while (at > 0 && text_[at - 1] != ' ') --at;
    return at;
}

std::size_t LineEditor::before(std::size_t at) const {
    if (at == 0) return 0;
    --at;
    while (at > 0 && continues(text_[at])) --at;
    return at;
}

std::size_t LineEditor::after(std::size_t at) const {
    if (at < text_.size()) ++at;
    while (at < text_.size() && continues(text_[at])) ++at;
    return at;
}

// The part of the line around the cursor that fits on one row.
void LineEditor::draw(std::string_view prompt) const {
    const std::size_t width = terminal_width(in_);
    const std::size_t most = width > prompt.size() + 2 ? width - prompt.size() - 1 : 1;
    const auto columns = [this](std::size_t begin, std::size_t end) {
        std::size_t n = 0;
        for (std::size_t i = begin; i < end; i = after(i))
            n += columns_of(std::string_view(text_).substr(i, after(i) - i));
        return n;
    };
    std::size_t begin = 0;
    while (columns(begin, at_) > most) begin = after(begin);
    std::size_t end = at_;
    while (end < text_.size() && columns(begin, after(end)) <= most) end = after(end);
    out_ << '\r' << prompt;
    for (std::size_t i = begin; i < end; i = after(i))
        out_ << shown(std::string_view(text_).substr(i, after(i) - i));
    out_ << "\x1b[K";
    if (const std::size_t back = columns(at_, end); back > 0) out_ << "\x1b[" << back << 'D';
    out_ << std::flush;
}

}  // namespace clasp::cli
