// What a line of a chat asks for: a question, pictures that were dropped onto the terminal, or something of
// the program.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace clasp::cli {

enum class ChatWord : std::uint8_t {
    Question,
    Image,
    Budget,
    Method,
    Map,
    Save,
    Reset,
    Undo,
    Quit,
    Help,
    Unknown,
};

struct ChatLine {
    ChatWord word = ChatWord::Question;
    std::string rest;                 // the question, or what follows the word
    std::vector<std::string> images;  // of a question: paths that stood in front of it
};

// is_file: whether a path is a file's. Terminals paste the path of a file that is dropped on them, in quotes,
// with backslashes or as a file:// URL; paths of files in front of a line are pictures.
ChatLine read_chat_line(std::string_view text, const std::function<bool(const std::string& path)>& is_file);

// A path as people type or drop it, without its quotes.
std::string plain_path(std::string_view text);

std::string_view chat_help();

}  // namespace clasp::cli
