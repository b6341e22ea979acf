#include "route/frame.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace clasp::route {

namespace {

using Names = std::span<const std::string_view>;

bool is_any(std::string_view name, Names names) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_determiner(std::string_view tag) {
    return tag == "the" || tag == "a";
}

bool is_modifier(std::string_view tag) {
    static constexpr std::array<std::string_view, 10> kModifiers = {
        "COLOUR", "MATERIAL", "SIZE", "SHAPE", "STATE", "ED", "ING", "X", "PROPER", "COMPARATIVE"};
    return is_any(tag, kModifiers);
}

struct Noun {
    std::string_view tag;
    std::string_view phrase;  // the part a noun phrase with this head becomes
};

std::string_view phrase_of(std::string_view tag) {
    static constexpr std::array<Noun, 29> kNouns = {{{"PERSON", "NP+LIVING"},
                                                     {"ANIMAL", "NP+LIVING"},
                                                     {"CELEBRITY", "NP+LIVING"},
                                                     {"BODY", "NP"},
                                                     {"CLOTHES", "NP"},
                                                     {"FOOD", "NP"},
                                                     {"VEHICLE", "NP"},
                                                     {"FURNITURE", "NP"},
                                                     {"THING", "NP"},
                                                     {"X", "NP"},
                                                     {"PROPER", "NP"},
                                                     {"ED", "NP"},
                                                     {"HAN", "NP"},
                                                     {"LETTER", "NP+LETTER"},
                                                     {"MATERIAL", "NP"},
                                                     {"PLACE", "NP+PLACE"},
                                                     {"SCENEQ", "NP+SCENE"},
                                                     {"IMAGE", "NP+IMAGE"},
                                                     {"TEXT", "NP+TEXT"},
                                                     {"ATTRIBUTE", "NP+ATTRIBUTE"},
                                                     {"POSITION", "NP+POSITION"},
                                                     {"MATH", "NP+LEARNED"},
                                                     {"CHART", "NP+LEARNED"},
                                                     {"SCIENCE", "NP+LEARNED"},
                                                     {"KIND", "NP+KIND"},
                                                     {"SPORT", "NP+SPORT"},
                                                     {"REASON", "NP+REASON"},
                                                     {"DIRECTION", "NP+DIRECTION"},
                                                     {"WEATHER", "NP+WEATHER"}}};
    const auto found =
        std::find_if(kNouns.begin(), kNouns.end(), [&](const Noun& n) { return n.tag == tag; });
    return found == kNouns.end() ? std::string_view() : found->phrase;
}

// One past the end of the noun phrase that starts at `at`, or `at` if none does; `phrase` is the part
// it becomes. A phrase is determiners, then modifiers, then nouns; an adjective behind the noun
// belongs to the predicate and stays outside.
std::size_t noun_phrase(std::span<const Segment> segments, const Lexicon& lexicon, std::size_t at,
                        std::string_view& phrase) {
    const auto tag = [&](std::size_t i) { return lexicon.name(segments[i].tag); };
    std::size_t end = at;
    while (end < segments.size() && (is_determiner(tag(end)) || tag(end) == "NUMBER" || tag(end) == "NUM"))
        ++end;
    const bool determined = end > at;
    if (determined) {
        while (end + 1 < segments.size() && is_modifier(tag(end)) && !phrase_of(tag(end + 1)).empty()) ++end;
        if (end + 2 < segments.size() && is_modifier(tag(end)) && is_modifier(tag(end + 1)) &&
            !phrase_of(tag(end + 2)).empty()) {
            end += 2;
        }
    }
    std::size_t n_nouns = 0;
    phrase = {};
    while (end < segments.size()) {
        const std::string_view next = phrase_of(tag(end));
        if (next.empty()) break;
        if (n_nouns > 0 && tag(end) == "ED") break;
        if (n_nouns > 0 && tag(end) == "MATERIAL") break;
        phrase = next;
        ++end;
        ++n_nouns;
    }
    if (n_nouns == 0) {
        if (determined && end == at + 1 && tag(at) == "the") {
            phrase = "NP+THIS";
            return end;
        }
        return at;
    }
    return end;
}

bool is_general(std::string_view word) {
    static constexpr std::array<std::string_view, 40> kGeneral = {
        "animal",  "animals",   "furniture",  "vehicle", "vehicles",  "food",      "foods",    "fruit",
        "fruits",  "vegetable", "vegetables", "device",  "devices",   "appliance", "clothing", "clothes",
        "utensil", "utensils",  "object",     "objects", "item",      "items",     "thing",    "things",
        "tool",    "tools",     "instrument", "drink",   "beverage",  "dessert",   "meat",     "plant",
        "plants",  "creature",  "toy",        "toys",    "equipment", "gadget",    "insect",   "baked good"};
    return is_any(word, kGeneral);
}

// From the question word on: what is asked for, and what follows it.
void find_target(std::span<const Segment> segments, const Lexicon& lexicon, Frame& frame) {
    static constexpr std::array<std::string_view, 5> kAsking = {"what", "which", "whose", "HOWMANY", "who"};
    const auto tag = [&](std::size_t i) { return lexicon.name(segments[i].tag); };
    std::size_t at = 0;
    while (at < segments.size() && !is_any(tag(at), kAsking)) ++at;
    if (at == segments.size()) return;
    ++at;
    if (at < segments.size() && tag(at) == "KIND") {
        frame.is_kind_of_target = true;
        ++at;
        if (at < segments.size() && tag(at) == "of") ++at;
    }
    const auto is_skipped = [&](std::size_t i) { return is_determiner(tag(i)) || is_modifier(tag(i)); };
    while (at + 1 < segments.size() && is_skipped(at) && !phrase_of(tag(at + 1)).empty()) ++at;
    while (at < segments.size() && !phrase_of(tag(at)).empty()) {
        frame.target_tag = tag(at);
        frame.is_general_target = is_general(segments[at].text);
        ++at;
    }
    frame.after_target = at < segments.size() ? tag(at) : std::string_view("none");
}

std::string_view type_of(std::span<const Segment> segments, const Lexicon& lexicon) {
    static constexpr std::array<std::string_view, 20> kTypes = {
        "what", "which", "where", "why",    "how",      "who",   "whose",    "who2", "HOWMANY", "HOWMUCH",
        "when", "zhyou", "zhma",  "REASON", "DESCRIBE", "COUNT", "FUNCTION", "whom", "WRITE",   "WRITE+ING"};
    for (const Segment& segment : segments) {
        const std::string_view name = lexicon.name(segment.tag);
        if (is_any(name, kTypes)) return name;
    }
    return segments.empty() ? std::string_view("none") : lexicon.name(segments.front().tag);
}

}  // namespace

Frame make_frame(std::span<const Segment> segments, const Lexicon& lexicon) {
    Frame frame;
    frame.type = type_of(segments, lexicon);
    frame.parts.push_back("^");
    for (std::size_t at = 0; at < segments.size();) {
        std::string_view phrase;
        const std::size_t end = noun_phrase(segments, lexicon, at, phrase);
        if (end > at) {
            // "in the image" is said or left out without a change of meaning.
            const bool in_image =
                phrase == "NP+IMAGE" && (frame.parts.back() == "in" || frame.parts.back() == "of");
            if (in_image) {
                frame.parts.pop_back();
            } else if (frame.parts.back() != phrase) {
                frame.parts.push_back(phrase);
            }
            at = end;
            continue;
        }
        const std::string_view name = lexicon.name(segments[at].tag);
        frame.parts.push_back(name == "MARK" ? std::string_view(segments[at].text) : name);
        ++at;
    }
    frame.parts.push_back("$");
    for (std::size_t i = 0; i + 1 < segments.size(); ++i) {
        const std::string_view name = lexicon.name(segments[i].tag);
        if (name != "what" && name != "which" && name != "HOWMANY" && name != "whose") continue;
        frame.head = segments[i + 1].text;
        frame.head_tag = lexicon.name(segments[i + 1].tag);
        break;
    }
    find_target(segments, lexicon, frame);
    for (const Segment& segment : segments) {
        if (lexicon.name(segment.tag) != "MARK") frame.last_tag = lexicon.name(segment.tag);
    }
    return frame;
}

}  // namespace clasp::route
