#include "request/question_text.h"

#include "base/utf8.h"

namespace clasp::request {

namespace {

// Spaces of any script, and characters that have no width.
bool is_blank(char32_t c) {
    return (c >= 0x09 && c <= 0x0d) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200f) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
           c == 0x2060 || c == 0x3000 || c == 0xfeff;
}

}  // namespace

Status check_question(std::string_view question) {
    for (std::size_t at = 0; at < question.size();) {
        const auto c = base::next_code_point(question, at);
        if (!c || !is_blank(*c)) return ok_status();
    }
    return {Code::InvalidArgument, question.empty() ? "the question is empty" : "the question is blank"};
}

}  // namespace clasp::request
