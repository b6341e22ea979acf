#include "cli/pictures.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <istream>

#include "base/file.h"
#include "base/text.h"
#include "clasp/image.h"
#include "cli/output_path.h"
#include "request/question_text.h"
#include "video/clip.h"

namespace clasp::cli {

namespace {

namespace fs = std::filesystem;

// Or that of a clip.
bool has_picture_name(const std::string& word) {
    constexpr std::array<std::string_view, 13> kEndings = {".jpg", ".jpeg", ".png", ".webp", ".gif",
                                                           ".bmp", ".jpe",  ".mp4", ".m4v",  ".mov",
                                                           ".mkv", ".webm", ".avi"};
    return std::find(kEndings.begin(), kEndings.end(), extension_of(word)) != kEndings.end();
}

bool is_file(const std::string& word) {
    std::error_code error;
    return fs::is_regular_file(word, error) || fs::is_directory(word, error);
}

// Of standard input. False: nothing more came.
bool append_bytes(std::istream& in, std::string& bytes, std::size_t until) {
    const std::size_t begin = bytes.size();
    bytes.resize(until);
    in.read(bytes.data() + begin, static_cast<std::streamsize>(until - begin));
    bytes.resize(begin + static_cast<std::size_t>(in.gcount()));
    return bytes.size() == until;
}

bool is_video(const std::string& bytes) {
    return video::sniff_video({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}) !=
           video::ClipFormat::None;
}

// A word that is no file may belong to a question whose quotation marks are missing.
Status check_word(const std::string& word) {
    Status status = check_picture(word);
    const bool is_path = has_picture_name(word) || word.find('/') != std::string::npos;
    if (is_path || status.code() != Code::NotFound) return status;
    return {status.code(), status.message() + "; a question of several words goes in quotation marks"};
}

// Of a clip that comes through standard input, which is kept in memory.
constexpr std::size_t kMaxClipInput = std::size_t{1} << 30U;

}  // namespace

Status check_picture(const std::string& path) {
    std::error_code error;
    if (fs::is_directory(path, error)) return ok_status();
    return base::InputFile::open(path).status();
}

Status check_spares_pictures(const std::string& path, const std::vector<std::string>& words) {
    std::error_code error;
    for (const std::string& word : words) {
        if (word == "-" || !fs::equivalent(path, word, error)) continue;
        return {Code::InvalidArgument,
                base::path_in_quotes(path) + " is a picture that is asked about, and would be replaced"};
    }
    return ok_status();
}

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
            CLASP_RETURN_IF_ERROR(check_word(word));
            pictures->sources.push_back({word, {}});
            continue;
        }
        if (console.in == nullptr)
            return Status(Code::Unavailable, "there is no standard input to read from");
        std::size_t limit = ImageLimits().max_file_bytes;
        std::string& bytes = pictures->from_stdin;
        if (append_bytes(*console.in, bytes, limit + 1) && is_video(bytes)) {
            limit = kMaxClipInput;
            while (bytes.size() <= limit &&
                   append_bytes(*console.in, bytes, std::min(2 * bytes.size(), limit + 1))) {
            }
        }
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
