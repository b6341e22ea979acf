#include "cli/pictures.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <istream>

#include "base/text.h"
#include "clasp/image.h"
#include "cli/output_path.h"
#include "request/question_text.h"

namespace clasp::cli {

namespace {

namespace fs = std::filesystem;

bool has_picture_name(const std::string& word) {
    constexpr std::array<std::string_view, 7> kEndings = {".jpg", ".jpeg", ".png", ".webp",
                                                          ".gif", ".bmp",  ".jpe"};
    return std::find(kEndings.begin(), kEndings.end(), extension_of(word)) != kEndings.end();
}

bool is_file(const std::string& word) {
    std::error_code error;
    return fs::is_regular_file(word, error);
}

}  // namespace

Status check_pictures_and_question(const std::vector<std::string>& pictures, const std::string& question) {
    CLASP_RETURN_IF_ERROR(request::check_question(question));
    // A question may end with the name of a picture; a word that is nothing else is none.
    const bool is_one_word = question.find_first_of(" \t") == std::string::npos;
    const bool is_picture =
        question == "-" || is_file(question) || (is_one_word && has_picture_name(question));
    if (!is_picture) return ok_status();
    if (pictures.empty()) {
        return {Code::InvalidArgument,
                "the question is missing: the only word, " + base::path_in_quotes(question) +
                    (question == "-" ? ", stands for a picture" : ", names a picture")};
    }
    const auto words = std::find_if(pictures.begin(), pictures.end(), [](const std::string& word) {
        return word != "-" && !is_file(word) && !has_picture_name(word);
    });
    if (words != pictures.end()) {
        return {Code::InvalidArgument, "picture and question are swapped: " + base::path_in_quotes(question) +
                                           " names a picture and " + base::in_quotes(*words) +
                                           " does not; pictures come first, the question last"};
    }
    return {Code::InvalidArgument, "the question is missing: the last word, " +
                                       base::path_in_quotes(question) +
                                       ", names a file like those before it"};
}

Result<std::unique_ptr<Pictures>> read_pictures(const std::vector<std::string>& words,
                                                const Console& console) {
    auto pictures = std::make_unique<Pictures>();
    for (const std::string& word : words) {
        if (word != "-") {
            pictures->sources.push_back({word, {}});
            continue;
        }
        if (console.in == nullptr)
            return Status(Code::Unavailable, "there is no standard input to read from");
        const std::size_t limit = ImageLimits().max_file_bytes;
        std::string& bytes = pictures->from_stdin;
        bytes.resize(limit + 1);
        console.in->read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        bytes.resize(static_cast<std::size_t>(console.in->gcount()));
        if (console.in->bad()) return Status(Code::Unavailable, "standard input cannot be read");
        if (bytes.empty()) return Status(Code::Corrupt, "standard input is empty; a picture was expected");
        if (bytes.size() > limit) {
            return Status(Code::TooLarge, "the picture on standard input has more than the limit of " +
                                              std::to_string(limit) + " bytes");
        }
        pictures->sources.push_back({{}, bytes});
    }
    return pictures;
}

}  // namespace clasp::cli
