#include "route/languages.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"
#include "route/embedded.h"

namespace clasp::route {

namespace {

using base::Json;

constexpr std::size_t kMaxLanguages = 32;  // one bit each
constexpr float kConfidence = 0.9f;

Status bad(const std::string& language, std::string_view what) {
    return {Code::Corrupt, "language " + base::in_quotes(language) + ": " + std::string(what)};
}

Result<std::string> text_of(const Json& json, const char* key, const std::string& language) {
    const std::string* const text = json[key].as_string();
    if (text == nullptr || text->empty()) return bad(language, std::string("has no text \"") + key + "\"");
    return *text;
}

// The words of a pattern that stand there in full.
std::string plain_words(std::string_view pattern) {
    std::string out;
    for (std::string_view item : base::split(pattern, ' ')) {
        if (item.find('~') != std::string_view::npos) continue;
        if (item.ends_with('?')) item.remove_suffix(1);
        out.append(item).push_back(' ');
    }
    std::replace_if(
        out.begin(), out.end(), [](char c) { return c == '|' || c == '_'; }, ' ');
    return out;
}

// Rules need names, reasons and a confidence: the same for all here.
Result<std::vector<Rule>> read_rules(const Json& json, const Language& language) {
    const Json& list = json["rules"];
    if (!list.is_array()) return bad(language.name, "has no list \"rules\"");
    Json full = Json::array();
    for (const Json& item : list) {
        if (!item.is_object()) return bad(language.name, "has a rule that is no object");
        Json rule = item;
        CLASP_ASSIGN_OR_RETURN(const std::string intent, text_of(item, "intent", language.name));
        rule["name"] = language.code + "-" + intent;
        rule["reason"] = "question words of " + language.name + ", which the classifier was not taught";
        rule["confidence"] = kConfidence;
        full.push_back(std::move(rule));
    }
    auto rules = parse_rules(base::dump_json(full));
    if (!rules) return rules.status().with_context("language " + base::in_quotes(language.name));
    return rules;
}

struct Count {
    std::size_t n = 0;
    std::size_t n_known = 0;
    LanguageProfile::Share pieces;  // of the words that are not known
};

// Whether words of a taught script are of a taught language. The fewer words are known, the more their
// pieces have to look as usual; of three or more words at least one is known in any taught language.
bool is_familiar(const Count& count) {
    const bool few_pieces = 3 * count.pieces.n_known < 2 * count.pieces.n;
    const bool odd_pieces = 20 * count.pieces.n_known < 17 * count.pieces.n;
    if (count.n >= 3 && (count.n_known == 0 || (4 * count.n_known <= count.n && odd_pieces))) return false;
    return 2 * count.n_known >= count.n || !few_pieces;
}

// The words of the scripts of letters, with Japanese told from Chinese by its kana.
struct ScriptCount {
    std::array<std::size_t, kN_Scripts> n{};
    Script commonest_untaught = Script::Other;
    bool is_taught = true;
};

ScriptCount count_scripts(std::span<const Word> words, const LanguageProfile& profile) {
    ScriptCount count;
    for (const Word& word : words) {
        // A character weighs half a word.
        if (word.kind == WordKind::Cjk) ++count.n[static_cast<std::size_t>(script_of(word))];
        if (word.kind == WordKind::Word) count.n[static_cast<std::size_t>(script_of(word))] += 2;
    }
    std::size_t& kana = count.n[static_cast<std::size_t>(Script::Kana)];
    std::size_t& han = count.n[static_cast<std::size_t>(Script::Han)];
    if (kana >= 2 && 5 * kana >= kana + han) {
        kana += han;
        han = 0;
    }
    std::size_t taught = 0;
    std::size_t untaught = 0;
    std::size_t most = 0;
    for (std::size_t i = 0; i < kN_Scripts; ++i) {
        const auto script = static_cast<Script>(i);
        (profile.knows(script) ? taught : untaught) += count.n[i];
        if (profile.knows(script) || count.n[i] <= most) continue;
        most = count.n[i];
        count.commonest_untaught = script;
    }
    count.is_taught = untaught <= taught;
    return count;
}

// The language whose frequent words, less those that the classifier knows too, outnumber the known words
// that are not frequent in it; null if there is none.
class LanguageVote {
   public:
    explicit LanguageVote(const Languages& languages) : languages_(languages) {}

    void add(std::uint32_t mask, bool is_known) {
        for (std::size_t i = 0; i < languages_.all().size(); ++i) {
            const bool is_in = ((mask >> i) & 1u) != 0;
            if (is_in) ++n_words_[i];
            if (is_in && !is_known) ++balance_[i];
            if (!is_in && is_known) --balance_[i];
        }
    }

    [[nodiscard]] const Language* winner() const {
        const Language* best = nullptr;
        int most = 0;
        std::size_t words = 0;
        for (std::size_t i = 0; i < languages_.all().size(); ++i) {
            const bool is_better = balance_[i] > most || (balance_[i] == most && n_words_[i] > words);
            if (balance_[i] <= 0 || !is_better) continue;
            best = &languages_.all()[i];
            most = balance_[i];
            words = n_words_[i];
        }
        return best;
    }

   private:
    const Languages& languages_;
    std::array<int, kMaxLanguages> balance_{};
    std::array<std::size_t, kMaxLanguages> n_words_{};
};

// The languages of a script, those with most of their frequent words in the question first.
std::vector<const Language*> most_likely(const Languages& languages, Script script,
                                         std::span<const Word> words) {
    std::array<std::size_t, kMaxLanguages> n_words{};
    for (const Word& word : words) {
        const std::uint32_t mask = languages.of_word(word.text);
        for (std::size_t i = 0; i < n_words.size(); ++i) n_words[i] += (mask >> i) & 1u;
    }
    std::vector<const Language*> order;
    for (const Language& language : languages.all()) {
        if (language.script == script) order.push_back(&language);
    }
    const auto n_of = [&](const Language* language) {
        return n_words[static_cast<std::size_t>(language - languages.all().data())];
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](const Language* a, const Language* b) { return n_of(a) > n_of(b); });
    return order;
}

// Unknown words with a capital inside the sentence are names and speak for no language, unless
// capitals are how all of it is written.
bool capitals_are_names(std::span<const Word> words) {
    std::size_t n = 0;
    std::size_t n_capital = 0;
    for (const Word& word : words) {
        if (word.kind != WordKind::Word) continue;
        ++n;
        if (word.capital) ++n_capital;
    }
    return n_capital + 1 < n;
}

}  // namespace

const Languages& Languages::builtin() {
    static const Languages languages = [] {
        Result<Languages> parsed = parse(embedded_languages());
        CLASP_CHECK(parsed.ok());
        return std::move(parsed).value();
    }();
    return languages;
}

Result<Languages> Languages::parse(std::string_view json) {
    const auto parsed = base::parse_json(json, {});
    if (!parsed) return parsed.status().with_context("languages");
    if (!parsed->is_array()) return Status(Code::Corrupt, "languages are not a JSON list");
    if (parsed->size() > kMaxLanguages) {
        return Status(Code::TooLarge,
                      std::to_string(parsed->size()) + " languages exceed " + std::to_string(kMaxLanguages));
    }
    Languages result;
    for (const Json& item : *parsed) {
        if (!item.is_object()) return bad("", "not an object");
        Language language;
        CLASP_ASSIGN_OR_RETURN(language.name, text_of(item, "name", ""));
        CLASP_ASSIGN_OR_RETURN(language.code, text_of(item, "code", language.name));
        CLASP_ASSIGN_OR_RETURN(const std::string script, text_of(item, "script", language.name));
        CLASP_ASSIGN_OR_RETURN(const std::string words, text_of(item, "words", language.name));
        const auto known = script_named(script);
        if (!known) return bad(language.name, "there is no script " + base::in_quotes(script));
        language.script = *known;
        CLASP_ASSIGN_OR_RETURN(language.rules, read_rules(item, language));
        const std::size_t index = result.languages_.size();
        result.add_words(words, index);
        for (const Json& rule : item["rules"]) {
            for (const Json& pattern : rule["patterns"]) {
                result.add_words(plain_words(*pattern.as_string()), index);  // a rule that was read above
            }
        }
        if (const Json* const matches = item.find("matches")) {
            if (!matches->is_object()) return bad(language.name, "\"matches\" is not an object");
            for (const auto& [intent, question] : matches->items()) {
                const std::string* const text = question.as_string();
                if (text == nullptr) return bad(language.name, "\"matches\" holds what is no text");
                language.matches.emplace_back(intent, *text);
            }
        }
        result.languages_.push_back(std::move(language));
    }
    return result;
}

void Languages::add_words(std::string_view text, std::size_t language) {
    for (const Word& word : split_words(text)) {
        if (word.kind == WordKind::Word) words_[word.text] |= 1u << language;
    }
}

std::uint32_t Languages::of_word(std::string_view word) const {
    const auto found = words_.find(word);
    return found == words_.end() ? 0 : found->second;
}

Tongue recognise(std::span<const Word> words, const LanguageProfile& profile, const Languages& languages) {
    Tongue tongue;
    if (profile.is_empty()) return tongue;
    const ScriptCount scripts = count_scripts(words, profile);
    if (!scripts.is_taught) {
        tongue.is_taught = false;
        tongue.script = scripts.commonest_untaught;
        tongue.reason = "the classifier was taught no questions in " +
                        std::string(script_name(tongue.script)) + " script";
        return tongue;
    }
    const bool names = capitals_are_names(words);
    Count count;
    LanguageVote vote(languages);
    std::size_t n_characters = 0;
    for (const Word& word : words) {
        if (word.kind == WordKind::Cjk) ++n_characters;
        if (word.kind != WordKind::Word || !profile.knows(script_of(word))) continue;
        const bool is_known = profile.knows(word.text);
        const std::uint32_t mask = languages.of_word(word.text);
        if (!is_known && mask == 0 && names && word.capital) continue;
        vote.add(mask, is_known);
        ++count.n;
        if (is_known) {
            ++count.n_known;
            continue;
        }
        const LanguageProfile::Share pieces = profile.known_pieces(word);
        count.pieces.n += pieces.n;
        count.pieces.n_known += pieces.n_known;
    }
    // Chinese with a few Latin words is Chinese.
    if (n_characters > 2 * count.n) return tongue;
    tongue.language = vote.winner();
    if (tongue.language == nullptr && is_familiar(count)) return tongue;
    tongue.is_taught = false;
    tongue.reason = tongue.language != nullptr
                        ? "the classifier was not taught " + tongue.language->name
                        : "too few of the words are of a language that the classifier was taught";
    return tongue;
}

const Rule* find_language_rule(const Languages& languages, const Tongue& tongue,
                               std::span<const Word> words) {
    if (tongue.is_taught) return nullptr;
    if (tongue.language != nullptr) return find_rule(tongue.language->rules, words);
    if (tongue.script == Script::Latin) return nullptr;
    for (const Language* language : most_likely(languages, tongue.script, words)) {
        if (const Rule* rule = find_rule(language->rules, words)) return rule;
    }
    return nullptr;
}

}  // namespace clasp::route
