#include "request/digit_ranges.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace clasp::request {

namespace {

std::string in_class(char from, char to) {
    if (from == to) return std::string("\"") + from + "\"";
    return std::string("[") + from + "-" + to + "]";
}

std::string any_digits(std::size_t n) {
    if (n == 0) return "";
    return " [0-9]" + (n == 1 ? std::string() : "{" + std::to_string(n) + "}");
}

bool is_all(std::string_view digits, char digit) {
    return digits.find_first_not_of(digit) == std::string_view::npos;
}

// Digits of one length from low to high, as alternatives without parentheses.
std::vector<std::string> same_length(std::string_view low, std::string_view high) {
    if (low.empty()) return {""};
    const auto behind = [](char digit, const std::vector<std::string>& rests) {
        std::vector<std::string> alternatives;
        for (const std::string& rest : rests) {
            alternatives.push_back(in_class(digit, digit) + (rest.empty() ? "" : " " + rest));
        }
        return alternatives;
    };
    const std::string_view low_rest = low.substr(1);
    const std::string_view high_rest = high.substr(1);
    if (low.front() == high.front()) return behind(low.front(), same_length(low_rest, high_rest));
    std::vector<std::string> alternatives;
    const auto add = [&alternatives](const std::vector<std::string>& more) {
        alternatives.insert(alternatives.end(), more.begin(), more.end());
    };
    char first = low.front();
    char last = high.front();
    if (!is_all(low_rest, '0')) {
        add(behind(first, same_length(low_rest, std::string(low_rest.size(), '9'))));
        ++first;
    }
    const bool is_cut = !is_all(high_rest, '9');
    if (is_cut) --last;
    if (first <= last) add({in_class(first, last) + any_digits(low_rest.size())});
    if (is_cut) add(behind(high.front(), same_length(std::string(high_rest.size(), '0'), high_rest)));
    return alternatives;
}

// Numbers from 0 on.
std::string plain(std::int64_t low, std::int64_t high) {
    std::string text;
    std::int64_t begin = low;
    while (begin <= high) {
        const std::string digits = std::to_string(begin);
        const std::int64_t end =
            std::min(high, static_cast<std::int64_t>(std::stoll(std::string(digits.size(), '9'))));
        for (const std::string& one : same_length(digits, std::to_string(end))) {
            text += (text.empty() ? "" : " | ") + one;
        }
        begin = end + 1;
    }
    return text;
}

}  // namespace

std::string whole_numbers(std::int64_t low, std::int64_t high) {
    std::string text;
    if (low < 0) text = "\"-\" (" + plain(high < 0 ? -high : 1, -low) + ")";
    if (high >= 0) text += (text.empty() ? "" : " | ") + plain(std::max<std::int64_t>(low, 0), high);
    return text;
}

}  // namespace clasp::request
