#include "route/text.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include "base/utf8.h"
#include "route/fold.h"

namespace clasp::route {

namespace {

// Sentences that begin so speak about the form of the answer, not about the image. "Answer this
// question using the text in the image" is not here: it says that text has to be read.
constexpr std::array<std::string_view, 33> kAnswerForms = {
    "answer the question using a",
    "answer the question with a",
    "answer with the option",
    "answer with a single",
    "answer with yes or no",
    "answer yes or no",
    "answer in one word",
    "answer the question directly",
    "answer with a word",
    "answer directly",
    "please answer yes or no",
    "please answer directly",
    "please answer with",
    "please answer the question and provide",
    "please answer in",
    "please select the correct",
    "please select one",
    "please choose",
    "choose the best answer",
    "choose the correct answer",
    "choose the correct option",
    "select the best answer",
    "select the correct answer from",
    "select from the following choices",
    "respond with",
    "only answer",
    "just answer",
    "think step by step",
    "reference ocr token",
    "hint",
    "\xe8\xaf\xb7\xe7\x9b\xb4\xe6\x8e\xa5\xe5\x9b\x9e\xe7\xad\x94",              // answer directly
    "\xe8\xaf\xb7\xe5\x9b\x9e\xe7\xad\x94\xe6\x98\xaf\xe6\x88\x96\xe5\x90\xa6",  // answer yes or no
    "\xe8\xaf\xb7\xe4\xbb\x8e\xe9\x80\x89\xe9\xa1\xb9"};                         // from the options

// Labels in front of the question or of what was cut away.
constexpr std::array<std::string_view, 6> kLabels = {"question", "options", "choices",
                                                     "context",  "answer",  "\xe9\x97\xae\xe9\xa2\x98"};

bool is_ascii_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool has_words(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        const auto c = base::next_code_point(text, at);
        if (!c) return false;
        if (is_word_character(*c)) return true;
    }
    return false;
}

// "<image>", "<|vision_start|>", "</s>": short, no spaces inside.
std::string without_placeholders(std::string_view text) {
    constexpr std::size_t kLongest = 24;
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '<') {
            std::size_t end = i + 1;
            const auto inside = [](char c) { return is_ascii_letter(c) || c == '|' || c == '_' || c == '/'; };
            while (end < text.size() && end - i <= kLongest && inside(text[end])) ++end;
            if (end < text.size() && text[end] == '>' && end > i + 1) {
                out.push_back(' ');
                i = end;
                continue;
            }
        }
        out.push_back(text[i]);
    }
    return out;
}

// Offset of the option marker "A." / "(A)" / "A:" for the given letter at or after `from`.
std::optional<std::size_t> find_marker(std::string_view text, char letter, std::size_t from) {
    for (std::size_t i = text.find(letter, from); i != std::string_view::npos; i = text.find(letter, i + 1)) {
        const bool opened = i > 0 && text[i - 1] == '(';
        const bool starts =
            i == 0 || opened || text[i - 1] == '\n' || text[i - 1] == ' ' || text[i - 1] == '\t';
        if (!starts || i + 1 >= text.size()) continue;
        const char closer = text[i + 1];
        const bool closed = closer == ')' || (!opened && (closer == '.' || closer == ':'));
        const bool spaced = i + 2 >= text.size() || text[i + 2] == ' ' || text[i + 2] == '\n';
        if (closed && spaced) return opened ? i - 1 : i;
    }
    return std::nullopt;
}

// Cuts a list that runs from an "A" marker over "B" (and on) to the end of its last line. Between two
// markers there must be words, so that initials are no list; in front of it too, or it is the question.
std::string_view before_options(std::string_view text, std::string_view& after) {
    after = {};
    const auto first = find_marker(text, 'A', 0);
    if (!first || !has_words(text.substr(0, *first))) return text;
    const auto second = find_marker(text, 'B', *first + 2);
    if (!second || !has_words(text.substr(*first + 3, *second - std::min(*second, *first + 3)))) return text;
    std::size_t last = *second;
    for (char letter = 'C'; letter <= 'J'; ++letter) {
        const auto next = find_marker(text, letter, last + 2);
        if (!next) break;
        last = *next;
    }
    const std::size_t end = text.find('\n', last);
    if (end != std::string_view::npos) after = text.substr(end);
    return text.substr(0, *first);
}

// Length in bytes of the sentence at the start of `text`, closing mark included.
std::size_t sentence_length(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
        const char raw = text[at];
        const auto c = base::next_code_point(text, at);
        if (!c) return text.size();
        if (raw == '\n' || *c == U'?' || *c == U'!' || *c == 0x3002 || *c == 0xFF1F || *c == 0xFF01)
            return at;
        const bool breaks = at >= text.size() || text[at] == ' ' || text[at] == '\n';
        if (*c == U'.' && breaks) return at;
    }
    return text.size();
}

bool begins_with(const std::vector<Word>& words, const std::vector<Word>& start) {
    if (words.size() < start.size()) return false;
    return std::equal(start.begin(), start.end(), words.begin(),
                      [](const Word& a, const Word& b) { return a.text == b.text; });
}

std::vector<std::vector<Word>> split_all(const auto& phrases) {
    std::vector<std::vector<Word>> out;
    out.reserve(phrases.size());
    for (const std::string_view phrase : phrases) out.push_back(split_words(phrase));
    return out;
}

bool is_answer_form(const std::vector<Word>& words) {
    static const auto forms = split_all(kAnswerForms);
    return std::any_of(forms.begin(), forms.end(),
                       [&](const auto& form) { return begins_with(words, form); });
}

// The sentence behind a label such as "Question:", or all of it.
std::string_view without_label(std::string_view sentence) {
    const std::size_t colon = std::min(sentence.find(':'), sentence.find("\xef\xbc\x9a"));
    if (colon > 16) return sentence;  // too far for a label, or not there at all
    const auto words = split_words(sentence.substr(0, colon));
    static const auto labels = split_all(kLabels);
    const bool known = std::any_of(labels.begin(), labels.end(), [&](const auto& label) {
        return words.size() == label.size() && begins_with(words, label);
    });
    return known ? sentence.substr(colon + (sentence[colon] == ':' ? 1 : 3)) : sentence;
}

std::string without_answer_forms(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::size_t length = sentence_length(text);
        const std::string_view sentence = without_label(text.substr(0, length));
        if (!is_answer_form(split_words(sentence.substr(0, 160)))) out += sentence;
        text.remove_prefix(length);
    }
    return out;
}

// Marks that say something about a question; all others only separate words.
bool is_kept_mark(char32_t c) {
    constexpr std::u32string_view kept = U"\"?$=+%_\\\u00b0\u2220\u25b3\u03c0\u00d7\u00f7\u221a\u2264\u2265";
    return kept.find(c) != std::u32string_view::npos;
}

struct Contraction {
    std::string_view ending;
    std::string_view word;
};
constexpr std::array<Contraction, 6> kContractions = {
    {{"n't", "not"}, {"'s", "'s"}, {"'re", "are"}, {"'ve", "have"}, {"'ll", "will"}, {"'d", "would"}}};

// "what's" is "what is", "dog's" is not.
bool takes_is(std::string_view word) {
    constexpr std::array<std::string_view, 9> kWords = {"what", "who", "where", "how", "there",
                                                        "that", "it",  "he",    "she"};
    return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

// "whats" is "what's" of those who leave the apostrophe out.
bool is_bare_contraction(std::string_view word) {
    constexpr std::array<std::string_view, 4> kWords = {"whats", "whos", "wheres", "hows"};
    return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

bool is_accent(char32_t c) {
    return c >= 0x0300 && c <= 0x036F;
}

class Splitter {
   public:
    std::vector<Word> run(std::string_view text) {
        for (std::size_t at = 0; at < text.size();) {
            const auto c = base::next_code_point(text, at);
            if (!c) break;
            take(*c, at < text.size() ? text[at] : ' ');
        }
        close();
        return std::move(words_);
    }

   private:
    void take(char32_t c, char next) {
        const char32_t folded = fold(c);
        if (folded == kDropped) {
            if (!current_.empty() && is_accent(c)) accented_ = true;
            return;
        }
        if (is_cjk(folded)) {
            close();
            open(folded, false);
            words_.push_back({std::move(current_), WordKind::Cjk, false, false});
            current_.clear();
            return;
        }
        const bool digit = folded >= U'0' && folded <= U'9';
        if (is_word_character(folded)) {
            if (!current_.empty() && only_digits_ != digit && only_digits_) close();
            if (current_.empty()) {
                only_digits_ = digit;
                open(folded, is_upper(c));
            } else {
                base::append_utf8(current_, folded);
            }
            if (folded < 0x80 && c >= 0xC0 && c < 0x1F00) accented_ = true;
            return;
        }
        const bool next_digit = next >= '0' && next <= '9';
        const bool next_letter = is_ascii_letter(next);
        if (!current_.empty() && only_digits_ && (folded == U'.' || folded == U',') && next_digit) {
            base::append_utf8(current_, folded);
            return;
        }
        if (!current_.empty() && !only_digits_ && folded == U'\'' && next_letter) {
            current_.push_back('\'');
            return;
        }
        close();
        if (is_kept_mark(folded)) {
            open(folded, false);
            words_.push_back({std::move(current_), WordKind::Mark, false, false});
            current_.clear();
        }
    }

    void open(char32_t folded, bool capital) {
        capital_ = capital && !words_.empty();
        accented_ = false;
        base::append_utf8(current_, folded);
    }

    void close() {
        if (current_.empty()) return;
        if (only_digits_) {
            words_.push_back({std::move(current_), WordKind::Number, false, false});
        } else {
            push_word();
        }
        current_.clear();
    }

    void push_word() {
        if (is_bare_contraction(current_)) {
            current_.pop_back();
            words_.push_back({std::move(current_), WordKind::Word, capital_, accented_});
            words_.push_back({"is", WordKind::Word, false, false});
            return;
        }
        for (const Contraction& contraction : kContractions) {
            const std::size_t length = contraction.ending.size();
            if (current_.size() <= length || !current_.ends_with(contraction.ending)) continue;
            words_.push_back(
                {current_.substr(0, current_.size() - length), WordKind::Word, capital_, accented_});
            const bool verb = contraction.ending == "'s" && takes_is(words_.back().text);
            words_.push_back({std::string(verb ? "is" : contraction.word), WordKind::Word, false, false});
            return;
        }
        words_.push_back({std::move(current_), WordKind::Word, capital_, accented_});
    }

    std::vector<Word> words_;
    std::string current_;
    bool capital_ = false;
    bool accented_ = false;
    bool only_digits_ = false;
};

}  // namespace

std::string strip_boilerplate(std::string_view text) {
    const std::string plain = without_placeholders(text);
    std::string_view after;
    const std::string_view question = before_options(plain, after);
    std::string stripped = without_answer_forms(question);
    stripped += without_answer_forms(after);
    return has_words(stripped) ? stripped : std::string(text);
}

std::vector<Word> split_words(std::string_view text) {
    return Splitter().run(text);
}

Result<std::vector<Word>> read_question(std::string_view text) {
    if (text.size() > kMaxQuestionBytes) {
        return Status(Code::TooLarge, "question of " + std::to_string(text.size()) + " bytes exceeds " +
                                          std::to_string(kMaxQuestionBytes));
    }
    if (const auto bad = base::first_invalid_utf8(text)) {
        return Status(Code::Corrupt, "question is not valid UTF-8 at byte " + std::to_string(*bad));
    }
    std::vector<Word> words = split_words(strip_boilerplate(text));
    if (words.size() > kMaxWords) {
        const auto half = static_cast<std::ptrdiff_t>(kMaxWords / 2);
        words.erase(words.begin() + half, words.end() - half);
    }
    return words;
}

}  // namespace clasp::route
