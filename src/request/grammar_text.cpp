#include "request/grammar_text.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/invalid.h"
#include "base/text.h"

namespace clasp::request {

namespace {

using base::invalid;

constexpr std::size_t kCharacters = static_cast<std::size_t>(-1);  // an element that is no rule

// An alternative of a rule: its elements in order, as numbers of rules or kCharacters.
using Sequence = std::vector<std::size_t>;

struct Rule {
    std::vector<Sequence> alternatives;
    bool is_written = false;
};

class GrammarReader {
   public:
    GrammarReader(std::string_view text, const GrammarLimits& limits) : text_(text), limits_(limits) {}

    Status read() {
        if (text_.size() > limits_.max_bytes) return too_large("bytes", limits_.max_bytes);
        if (text_.find('\0') != std::string_view::npos) return invalid("the grammar has a zero byte");
        skip_space(true);
        while (!is_end()) CLASP_RETURN_IF_ERROR(read_rule());
        const auto root = names_.find("root");
        if (root == names_.end()) return invalid("the grammar has no rule \"root\"");
        for (const auto& [name, rule] : names_) {
            if (!rules_[rule].is_written)
                return invalid("the grammar names " + base::in_quotes(name) + ", which is no rule of it");
        }
        return check_beginnings();
    }

   private:
    static Status too_large(const char* what, std::size_t limit) {
        return {Code::TooLarge,
                "the grammar has more " + std::string(what) + " than the limit of " + std::to_string(limit)};
    }

    [[nodiscard]] bool is_end() const { return at_ == text_.size(); }
    [[nodiscard]] char here() const { return is_end() ? '\0' : text_[at_]; }
    [[nodiscard]] Status wrong(const std::string& expected) const {
        const auto line =
            1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
        return invalid("line " + std::to_string(line) + " of the grammar: " + expected);
    }

    void skip_space(bool with_lines) {
        for (;; ++at_) {
            if (here() == '#') {
                while (!is_end() && here() != '\n' && here() != '\r') ++at_;
            }
            const bool is_line = here() == '\n' || here() == '\r';
            if (is_end() || (here() != ' ' && here() != '\t' && !(is_line && with_lines))) return;
        }
    }

    static bool is_word(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    }

    std::string_view read_name() {
        const std::size_t begin = at_;
        while (is_word(here())) ++at_;
        return text_.substr(begin, at_ - begin);
    }

    Result<std::size_t> new_rule() {
        if (rules_.size() == limits_.max_rules) return too_large("rules", limits_.max_rules);
        rules_.emplace_back();
        return rules_.size() - 1;
    }

    Result<std::size_t> rule_named(std::string_view name) {
        const auto known = names_.find(std::string(name));
        if (known != names_.end()) return known->second;
        CLASP_ASSIGN_OR_RETURN(const std::size_t rule, new_rule());
        names_[std::string(name)] = rule;
        return rule;
    }

    Status read_rule() {
        const std::string_view name = read_name();
        if (name.empty()) return wrong("a rule begins with its name");
        CLASP_ASSIGN_OR_RETURN(const std::size_t rule, rule_named(name));
        skip_space(false);
        if (text_.substr(at_, 3) != "::=") return wrong("::= is missing behind the name of a rule");
        if (rules_[rule].is_written) return wrong("there are two rules of one name");
        at_ += 3;
        skip_space(true);
        CLASP_RETURN_IF_ERROR(read_alternatives(rule, 0));
        if (!is_end() && here() != '\n' && here() != '\r') return wrong("a rule ends with its line");
        skip_space(true);
        return ok_status();
    }

    // depth: of the parentheses around; 0 for a rule of its own, which ends with its line.
    Status read_alternatives(std::size_t rule, std::size_t depth) {
        std::vector<Sequence> alternatives(1);
        CLASP_RETURN_IF_ERROR(read_sequence(alternatives.back(), depth));
        while (here() == '|') {
            ++at_;
            skip_space(true);
            alternatives.emplace_back();
            CLASP_RETURN_IF_ERROR(read_sequence(alternatives.back(), depth));
        }
        rules_[rule] = {std::move(alternatives), true};
        return ok_status();
    }

    Status read_sequence(Sequence& sequence, std::size_t depth) {
        std::size_t last = 0;  // where the element before begins
        while (!is_end()) {
            const std::size_t begin = sequence.size();
            if (here() == '"' || here() == '[') {
                CLASP_RETURN_IF_ERROR(read_characters(sequence));
            } else if (here() == '.') {
                ++at_;
                sequence.push_back(kCharacters);
            } else if (is_word(here())) {
                CLASP_ASSIGN_OR_RETURN(const std::size_t rule, rule_named(read_name()));
                sequence.push_back(rule);
            } else if (here() == '(') {
                CLASP_RETURN_IF_ERROR(read_group(sequence, depth));
            } else if (here() == '*' || here() == '+' || here() == '?' || here() == '{') {
                CLASP_RETURN_IF_ERROR(read_repetition(sequence, last, depth));
                skip_space(depth > 0);
                continue;
            } else if (here() == '<' || here() == '!') {
                return wrong("tokens in angle brackets are not taken");
            } else {
                break;
            }
            last = begin;
            skip_space(depth > 0);
            CLASP_RETURN_IF_ERROR(count_elements(sequence.size() - begin));
        }
        return ok_status();
    }

    Status count_elements(std::size_t n) {
        n_elements_ += n;
        return n_elements_ > limits_.max_elements ? too_large("elements", limits_.max_elements) : ok_status();
    }

    Status read_group(Sequence& sequence, std::size_t depth) {
        if (depth == limits_.max_depth) return too_large("parentheses in parentheses", limits_.max_depth);
        ++at_;
        skip_space(true);
        CLASP_ASSIGN_OR_RETURN(const std::size_t rule, new_rule());
        CLASP_RETURN_IF_ERROR(read_alternatives(rule, depth + 1));
        if (here() != ')') return wrong("a parenthesis is not closed");
        ++at_;
        sequence.push_back(rule);
        return ok_status();
    }

    // A text in quotes, each character an element, or a class in brackets, which is one.
    Status read_characters(Sequence& sequence) {
        const bool is_class = here() == '[';
        const char end = is_class ? ']' : '"';
        ++at_;
        if (is_class && here() == '^') ++at_;
        std::size_t n = 0;
        while (here() != end) {
            CLASP_RETURN_IF_ERROR(read_character());
            ++n;
        }
        ++at_;
        if (is_class && n == 0) return wrong("a class of characters is empty");
        // The elements of a class are kept one by one too, though they are no more than one step.
        if (is_class) CLASP_RETURN_IF_ERROR(count_elements(n));
        sequence.insert(sequence.end(), is_class ? 1 : n, kCharacters);
        return ok_status();
    }

    Status read_character() {
        if (is_end()) return wrong("a text or a class of characters is not closed");
        const char c = text_[at_++];
        if (c != '\\') return ok_status();
        if (is_end()) return wrong("an escape is not known");
        const char kind = here();
        ++at_;
        const std::size_t n_digits = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
        if (n_digits == 0) {
            constexpr std::string_view kKnown = "tnr\\\"[]";
            return kKnown.find(kind) != std::string_view::npos && kind != '\0'
                       ? ok_status()
                       : wrong("an escape is not known");
        }
        for (std::size_t i = 0; i < n_digits; ++i, ++at_) {
            constexpr std::string_view kHex = "0123456789abcdefABCDEF";
            if (is_end() || kHex.find(here()) == std::string_view::npos)
                return wrong("an escape lacks digits");
        }
        return ok_status();
    }

    Result<std::size_t> read_count() {
        std::size_t value = 0;
        const std::size_t begin = at_;
        for (; here() >= '0' && here() <= '9'; ++at_) {
            value = 10 * value + static_cast<std::size_t>(here() - '0');
            if (value > limits_.max_rules) return too_large("repetitions", limits_.max_rules);
        }
        if (at_ == begin) return wrong("a repetition lacks its number");
        return value;
    }

    // *, +, ?, {N}, {N,}, {N,M} behind the elements from `last` on.
    Status read_repetition(Sequence& sequence, std::size_t last, std::size_t depth) {
        std::size_t min = here() == '+' ? 1 : 0;
        std::optional<std::size_t> max;
        if (here() == '?') max = 1;
        const bool has_numbers = here() == '{';
        ++at_;
        if (has_numbers) {
            skip_space(depth > 0);
            CLASP_ASSIGN_OR_RETURN(min, read_count());
            max = min;
            skip_space(depth > 0);
            if (here() == ',') {
                ++at_;
                skip_space(depth > 0);
                max.reset();
                if (here() != '}') {
                    CLASP_ASSIGN_OR_RETURN(max, read_count());
                }
                skip_space(depth > 0);
            }
            if (here() != '}') return wrong("a repetition is not closed");
            ++at_;
        }
        if (last >= sequence.size()) return wrong("there is nothing to repeat");
        if (max && *max < min) return wrong("a repetition is of at least more than at most");
        return repeat(sequence, last, min, max);
    }

    Status repeat(Sequence& sequence, std::size_t last, std::size_t min, std::optional<std::size_t> max) {
        const Sequence repeated(sequence.begin() + static_cast<std::ptrdiff_t>(last), sequence.end());
        const std::size_t n_optional = max ? *max - min : 1;
        CLASP_RETURN_IF_ERROR(count_elements((min + n_optional) * (repeated.size() + 1)));
        sequence.resize(last);
        for (std::size_t i = 0; i < min; ++i)
            sequence.insert(sequence.end(), repeated.begin(), repeated.end());
        std::optional<std::size_t> next;
        for (std::size_t i = 0; i < n_optional; ++i) {
            CLASP_ASSIGN_OR_RETURN(const std::size_t rule, new_rule());
            Sequence one = repeated;
            if (!max) one.push_back(rule);
            if (next) one.push_back(*next);
            rules_[rule] = {{std::move(one), {}}, true};
            next = rule;
        }
        if (next) sequence.push_back(*next);
        return ok_status();
    }

    // Rules that may begin with themselves have no end. Those that begin with the same ones in many ways are
    // walked through by llama.cpp one way after the other.
    Status check_beginnings() {
        std::vector<bool> may_be_empty(rules_.size(), false);
        for (bool has_changed = true; has_changed;) {
            has_changed = false;
            for (std::size_t i = 0; i < rules_.size(); ++i) {
                if (may_be_empty[i] || !has_empty(rules_[i], may_be_empty)) continue;
                may_be_empty[i] = has_changed = true;
            }
        }
        n_ways_.assign(rules_.size(), std::nullopt);
        for (std::size_t i = 0; i < rules_.size(); ++i) CLASP_RETURN_IF_ERROR(count_ways(i, may_be_empty));
        return ok_status();
    }

    static bool has_empty(const Rule& rule, const std::vector<bool>& may_be_empty) {
        return std::any_of(rule.alternatives.begin(), rule.alternatives.end(), [&](const Sequence& sequence) {
            return std::all_of(sequence.begin(), sequence.end(), [&](std::size_t element) {
                return element != kCharacters && may_be_empty[element];
            });
        });
    }

    Status count_ways(std::size_t rule, const std::vector<bool>& may_be_empty) {
        constexpr std::size_t kUnderWay = 0;
        if (n_ways_[rule]) {
            if (*n_ways_[rule] != kUnderWay) return ok_status();
            return invalid("a rule of the grammar may begin with itself");
        }
        n_ways_[rule] = kUnderWay;
        std::size_t n = 1;
        for (const Sequence& sequence : rules_[rule].alternatives) {
            for (const std::size_t element : sequence) {
                if (element == kCharacters) break;
                CLASP_RETURN_IF_ERROR(count_ways(element, may_be_empty));
                n += *n_ways_[element];
                if (n > limits_.max_ways) return too_large("ways to begin", limits_.max_ways);
                if (!may_be_empty[element]) break;
            }
        }
        n_ways_[rule] = n;
        return ok_status();
    }

    std::string_view text_;
    const GrammarLimits& limits_;
    std::size_t at_ = 0;
    std::vector<Rule> rules_;
    std::map<std::string, std::size_t> names_;
    std::size_t n_elements_ = 0;
    std::vector<std::optional<std::size_t>> n_ways_;
};

}  // namespace

Status check_grammar(std::string_view text, const GrammarLimits& limits) {
    return GrammarReader(text, limits).read();
}

}  // namespace clasp::request
