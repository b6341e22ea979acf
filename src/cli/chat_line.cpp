#include "cli/chat_line.h"

#include <array>
#include <cctype>
#include <utility>

namespace clasp::cli {

namespace {

std::string_view without_blanks(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    const int letter = std::tolower(static_cast<unsigned char>(c));
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

std::string without_percents(std::string_view text) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const int high = i + 2 < text.size() && text[i] == '%' ? hex_digit(text[i + 1]) : -1;
        const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
        if (low < 0) {
            result += text[i];
            continue;
        }
        result += static_cast<char>(16 * high + low);
        i += 2;
    }
    return result;
}

// One word as a shell would read it, taken off the text.
std::string take_shell_word(std::string_view& text) {
    std::string word;
    char quote = 0;
    std::size_t i = 0;
    for (; i < text.size(); ++i) {
        const char c = text[i];
        if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) break;
        if (quote != 0 && c == quote) {
            quote = 0;
        } else if (quote == 0 && (c == '\'' || c == '"')) {
            quote = c;
        } else if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
            word += text[++i];
        } else {
            word += c;
        }
    }
    text = without_blanks(text.substr(i));
    constexpr std::string_view kScheme = "file://";
    return word.starts_with(kScheme) ? without_percents(std::string_view(word).substr(kScheme.size())) : word;
}

constexpr std::array<std::pair<std::string_view, ChatWord>, 11> kWords = {{{"/image", ChatWord::Image},
                                                                           {"/budget", ChatWord::Budget},
                                                                           {"/method", ChatWord::Method},
                                                                           {"/map", ChatWord::Map},
                                                                           {"/save", ChatWord::Save},
                                                                           {"/reset", ChatWord::Reset},
                                                                           {"/undo", ChatWord::Undo},
                                                                           {"/quit", ChatWord::Quit},
                                                                           {"/exit", ChatWord::Quit},
                                                                           {"/help", ChatWord::Help},
                                                                           {"/?", ChatWord::Help}}};

}  // namespace

ChatLine read_chat_line(std::string_view text, const std::function<bool(const std::string& path)>& is_file) {
    ChatLine line;
    std::string_view rest = without_blanks(text);
    for (std::string_view next = rest; !next.empty();) {
        const std::string path = take_shell_word(next);
        if (path.find('/') == std::string::npos || !is_file(path)) break;
        line.images.push_back(path);
        rest = next;
    }
    line.rest = rest;
    if (!line.images.empty() || !rest.starts_with('/')) return line;
    const std::size_t space = rest.find_first_of(" \t\n");
    const std::string_view word = rest.substr(0, space);
    line.word = ChatWord::Unknown;
    line.rest = word;
    for (const auto& [name, meaning] : kWords) {
        if (name != word) continue;
        line.word = meaning;
        line.rest = without_blanks(space == std::string_view::npos ? std::string_view() : rest.substr(space));
    }
    return line;
}

std::string plain_path(std::string_view text) {
    const bool is_quoted =
        text.find_first_of("'\"\\") != std::string_view::npos || text.starts_with("file://");
    return is_quoted ? take_shell_word(text) : std::string(text);
}

std::string_view chat_help() {
    return "/image FILE    a picture for the next question; dropping it on the terminal does the same\n"
           "/budget N      visual tokens per decoder layer: a number, 33%, none or auto\n"
           "/method NAME   how tokens are chosen\n"
           "/map [FILE]    which tokens the last answer saw, here or as a picture (.png, .jpg)\n"
           "/save FILE     the conversation as text, or as JSON (.json)\n"
           "/undo          forgets the last question, /reset all of them\n"
           "/quit          ends, as does Ctrl-D\n"
           "Ctrl-C stops an answer. A backslash at the end of a line, Alt-Enter or Ctrl-J begins another "
           "line; "
           "the arrow keys bring lines back.\n";
}

}  // namespace clasp::cli
