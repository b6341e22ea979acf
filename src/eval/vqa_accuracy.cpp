#include "eval/vqa_accuracy.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <unordered_map>

#include "base/text.h"
#include "eval/plain_text.h"

namespace clasp::eval {

namespace {

constexpr std::string_view kPunctuation = ";/[]\"{}()=+\\_-><@`,?!";

// Keys are these words without their apostrophes.
constexpr std::string_view kRegularContractions =
    "'twas I'm I've ain't aren't can't could've couldn't didn't doesn't don't hadn't hasn't haven't he'd "
    "he's "
    "how'd how'll how's isn't it'd it'll ma'am might've mightn't must've mustn't needn't not've o'clock "
    "oughtn't shan't should've shouldn't somebody'll somebody's someone'd someone'll someone's something'd "
    "something'll that's there'd there're there's they'd they'll they're they've wasn't we've weren't "
    "what'll "
    "what're what's what've when's where'd where's where've who'd who'll who's who've why'll why're why's "
    "won't "
    "would've wouldn't y'all you'd you'll you're you've";

// Two keys each: without the first apostrophe, and without the second.
constexpr std::string_view kDoubleContractions =
    "couldn't've hadn't've he'd've I'd've it'd've mightn't've she'd've shouldn't've somebody'd've "
    "someone'd've "
    "something'd've there'd've they'd've we'd've who'd've wouldn't've you'd've";

// One key is backwards in the official table; it is kept that way.
constexpr std::array<std::array<std::string_view, 2>, 11> kOddContractions = {{
    {"somebody'd", "somebodyd"},
    {"let's", "let's"},
    {"she's", "she's"},
    {"ow's'at", "'ow's'at"},
    {"'ows'at", "'ow's'at"},
    {"'ow'sat", "'ow's'at"},
    {"yall'll", "y'all'll"},
    {"y'allll", "y'all'll"},
    {"yall'd've", "y'all'd've"},
    {"y'alld've", "y'all'd've"},
    {"y'all'dve", "y'all'd've"},
}};

constexpr std::array<std::array<std::string_view, 2>, 12> kNumbers = {{{"none", "0"},
                                                                       {"zero", "0"},
                                                                       {"one", "1"},
                                                                       {"two", "2"},
                                                                       {"three", "3"},
                                                                       {"four", "4"},
                                                                       {"five", "5"},
                                                                       {"six", "6"},
                                                                       {"seven", "7"},
                                                                       {"eight", "8"},
                                                                       {"nine", "9"},
                                                                       {"ten", "10"}}};

using Table = std::unordered_map<std::string, std::string>;

Table make_contractions() {
    Table table;
    for (const std::string_view value : words(kRegularContractions)) {
        table.emplace(replace_all(value, "'", ""), value);
    }
    for (const std::string_view value : words(kDoubleContractions)) {
        const std::size_t first = value.find('\'');
        const std::size_t second = value.find('\'', first + 1);
        for (const std::size_t at : {first, second}) {
            std::string key(value);
            key.erase(at, 1);
            table.emplace(std::move(key), value);
        }
    }
    for (const auto& [key, value] : kOddContractions) table.emplace(key, value);
    return table;
}

Table make_numbers() {
    Table table;
    for (const auto& [word, digits] : kNumbers) table.emplace(word, digits);
    return table;
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool has_comma_between_digits(std::string_view text) {
    for (std::size_t i = 1; i + 1 < text.size(); ++i) {
        if (text[i] == ',' && is_digit(text[i - 1]) && is_digit(text[i + 1])) return true;
    }
    return false;
}

bool touches_space(std::string_view text, char mark) {
    for (std::size_t at = text.find(mark); at != std::string_view::npos; at = text.find(mark, at + 1)) {
        if ((at > 0 && text[at - 1] == ' ') || (at + 1 < text.size() && text[at + 1] == ' ')) return true;
    }
    return false;
}

// Whether a mark vanishes or becomes a space depends on the whole text as it was before.
std::string without_punctuation(std::string_view text) {
    const bool is_grouped_number = has_comma_between_digits(text);
    std::string out(text);
    for (const char mark : kPunctuation) {
        if (out.find(mark) == std::string::npos) continue;
        if (is_grouped_number || touches_space(text, mark)) {
            std::erase(out, mark);
        } else {
            std::replace(out.begin(), out.end(), mark, ' ');
        }
    }
    return out;
}

// What precedes a stop never matters and at most 32 are removed: the official pattern's look-behind is
// mistyped, and its flags stand where the count belongs.
std::string without_full_stops(std::string_view text) {
    constexpr int kMostRemoved = 32;
    std::string out;
    int n_removed = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool before_digit = i + 1 < text.size() && is_digit(text[i + 1]);
        if (text[i] == '.' && !before_digit && n_removed < kMostRemoved) {
            ++n_removed;
        } else {
            out.push_back(text[i]);
        }
    }
    return out;
}

std::string normalise_words(std::string_view text) {
    static const Table kContractionTable = make_contractions();
    static const Table kNumberTable = make_numbers();
    const std::string lowered = lower_text(text);
    std::string out;
    for (const std::string_view word : words(lowered)) {
        std::string replaced(word);
        if (const auto number = kNumberTable.find(replaced); number != kNumberTable.end()) {
            replaced = number->second;
        }
        if (replaced == "a" || replaced == "an" || replaced == "the") continue;
        if (const auto full = kContractionTable.find(replaced); full != kContractionTable.end()) {
            replaced = full->second;
        }
        if (!out.empty()) out += ' ';
        out += replaced;
    }
    return out;
}

std::string on_one_line(std::string_view text) {
    std::string out(text);
    std::replace(out.begin(), out.end(), '\n', ' ');
    std::replace(out.begin(), out.end(), '\t', ' ');
    return std::string(strip(out));
}

std::string normalise_line(std::string_view line) {
    return normalise_words(without_full_stops(without_punctuation(line)));
}

}  // namespace

std::string normalise_v2(std::string_view answer) {
    return normalise_line(on_one_line(answer));
}

std::string normalise_m4c(std::string_view answer) {
    std::string text = lower_text(answer);
    std::erase(text, ',');
    std::erase(text, '?');
    text = replace_all(text, "'s", " 's");
    return normalise_line(on_one_line(strip(text)));
}

double agreement_score(std::size_t n_equal) {
    constexpr std::array kScores = {0.0, 0.3, 0.6, 0.9, 1.0};
    return kScores[std::min(n_equal, kScores.size() - 1)];
}

double vqa_accuracy_v2(std::string_view prediction, const std::vector<std::string>& answers) {
    std::vector<std::string> lines;
    lines.reserve(answers.size());
    for (const std::string& answer : answers) lines.push_back(on_one_line(answer));
    std::string predicted = on_one_line(prediction);
    const bool all_agree = std::all_of(lines.begin(), lines.end(),
                                       [&](const std::string& line) { return line == lines.front(); });
    if (!all_agree) {
        for (std::string& line : lines) line = normalise_v2(line);
        predicted = normalise_v2(predicted);
    }
    return agreement_score(static_cast<std::size_t>(std::count(lines.begin(), lines.end(), predicted)));
}

double vqa_accuracy_m4c(std::string_view prediction, const std::vector<std::string>& answers) {
    const std::string predicted = normalise_m4c(prediction);
    std::size_t n_equal = 0;
    for (const std::string& answer : answers) n_equal += normalise_m4c(answer) == predicted ? 1U : 0U;
    return agreement_score(n_equal);
}

Status check_ten_answers(const Dataset& dataset) {
    for (const Item& item : dataset.items) {
        if (item.answers.size() == 10) continue;
        return {Code::Corrupt, "question " + base::in_quotes(item.id) + " has " +
                                   std::to_string(item.answers.size()) +
                                   " reference answers, VQA accuracy needs ten"};
    }
    return ok_status();
}

Status check_public_answers(const Dataset& dataset) {
    for (const Item& item : dataset.items) {
        if (!item.answers.empty()) continue;
        return {Code::Unsupported, "the answers of the split " + dataset.split +
                                       " are not public, only the benchmark's server can score it"};
    }
    return check_ten_answers(dataset);
}

}  // namespace clasp::eval
