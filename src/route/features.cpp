#include "route/features.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "route/frame.h"
#include "route/hash.h"

namespace clasp::route {

namespace {

// Families share a total weight, so that a long question does not shout.
enum Family : std::uint8_t {
    kBias,
    kWords,
    kPairs,
    kPieces,
    kTags,
    kFrame,
    kSkips,
    kType,
    kShape,
    kFamilies
};
constexpr std::array<float, kFamilies> kFamilyWeight = {1.0f, 1.5f, 1.0f, 0.9f, 1.6f, 2.0f, 1.4f, 1.4f, 1.4f};

class Collector {
   public:
    explicit Collector(std::vector<std::string>* names) : names_(names) {}

    // The id is the hash of the family's letter and the parts, joined by a separator.
    template <typename... Parts>
    void add(Family family, Parts... parts) {
        constexpr char letters[] = {'b', 'w', 'p', 'c', 't', 'f', 's', 'q', 'h'};
        key_.clear();
        key_.push_back(letters[family]);
        ((key_.push_back(':'), key_.append(parts)), ...);
        const std::uint64_t h = hash_bytes(key_);
        const auto id = static_cast<std::uint32_t>(h ^ (h >> 32u)) | 1u;
        if (!insert(id)) return;
        found_.push_back({id, family});
        ++counts_[family];
        if (names_ != nullptr) names_->push_back(key_);
    }

    [[nodiscard]] std::vector<Feature> finish() const {
        std::vector<Feature> out;
        out.reserve(found_.size());
        for (const Found& f : found_) {
            const bool lexical = f.family == kWords || f.family == kPairs || f.family == kPieces;
            out.push_back(
                {f.id, kFamilyWeight[f.family] / std::sqrt(static_cast<float>(counts_[f.family])), lexical});
        }
        return out;
    }

   private:
    // False if the id is there already. Linear probing; the table is never more than half full.
    bool insert(std::uint32_t id) {
        if (2 * (found_.size() + 1) > slots_.size()) grow();
        const std::size_t mask = slots_.size() - 1;
        for (std::size_t at = id & mask;; at = (at + 1) & mask) {
            if (slots_[at] == id) return false;
            if (slots_[at] != 0) continue;
            slots_[at] = id;
            return true;
        }
    }

    void grow() {
        slots_.assign(std::max<std::size_t>(1024, 2 * slots_.size()), 0);
        const std::size_t mask = slots_.size() - 1;
        for (const Found& f : found_) {
            std::size_t at = f.id & mask;
            while (slots_[at] != 0) at = (at + 1) & mask;
            slots_[at] = f.id;
        }
    }

    struct Found {
        std::uint32_t id;
        Family family;
    };
    std::vector<std::string>* names_;
    std::string key_;
    std::vector<Found> found_;
    std::vector<std::uint32_t> slots_;  // open addressing, 0 is free
    std::array<std::uint32_t, kFamilies> counts_{};
};

void add_words(std::span<const Segment> segments, Collector& out) {
    for (std::size_t i = 0; i < segments.size(); ++i) {
        out.add(kWords, std::string_view(segments[i].text));
        const std::string_view next = i + 1 < segments.size() ? std::string_view(segments[i + 1].text) : "$";
        out.add(kPairs, std::string_view(segments[i].text), next);
    }
}

// Pieces of three to five letters, with the word's borders: they carry endings, misspellings and
// kin of words that training never saw. Chinese gives pairs of neighbouring characters.
void add_pieces(std::span<const Word> words, Collector& out) {
    std::string padded;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i].kind == WordKind::Cjk) {
            out.add(kPieces, std::string_view(words[i].text));
            if (i + 1 < words.size() && words[i + 1].kind == WordKind::Cjk) {
                out.add(kPieces, std::string_view(words[i].text), std::string_view(words[i + 1].text));
            }
            continue;
        }
        if (words[i].kind != WordKind::Word || words[i].text.size() < 3) continue;
        padded.assign(1, '<').append(words[i].text, 0, 24).push_back('>');
        for (std::size_t n = 3; n <= 5; ++n) {
            for (std::size_t at = 0; at + n <= padded.size(); ++at) {
                out.add(kPieces, std::string_view(padded).substr(at, n));
            }
        }
    }
}

void add_frame(const std::vector<std::string_view>& frame, Collector& out) {
    for (std::size_t i = 0; i < frame.size(); ++i) {
        if (i + 1 < frame.size()) out.add(kFrame, frame[i], frame[i + 1]);
        if (i + 2 < frame.size()) out.add(kFrame, frame[i], frame[i + 1], frame[i + 2]);
        if (i + 3 < frame.size()) out.add(kFrame, frame[i], frame[i + 1], frame[i + 2], frame[i + 3]);
    }
    constexpr std::size_t kLongestStart = 6;
    std::string start = "^";
    for (std::size_t i = 1; i < frame.size() && i <= kLongestStart; ++i) {
        start.append(" ").append(frame[i]);
        if (i >= 4) out.add(kFrame, std::string_view(start));
    }
    if (frame.size() <= 10) {
        std::string whole = "=";
        for (const std::string_view part : frame) whole.append(" ").append(part);
        out.add(kFrame, std::string_view(whole));
    }
    constexpr std::size_t kSkipReach = 12;
    const std::size_t n = std::min(frame.size(), kSkipReach);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = i + 2; j < n; ++j) out.add(kSkips, frame[i], frame[j]);
    }
}

// What is asked for and how the question goes on, whatever the words.
void add_shape(const Frame& frame, std::span<const Segment> segments, const Lexicon& lexicon,
               Collector& out) {
    const std::string_view target = frame.target_tag.empty() ? std::string_view("alone") : frame.target_tag;
    const std::string_view kind = frame.is_kind_of_target ? "kind" : "";
    const std::string_view general = frame.is_general_target ? "general" : "";
    out.add(kShape, std::string_view("target"), frame.type, kind, general, target);
    out.add(kShape, std::string_view("target"), kind, general);
    if (!frame.after_target.empty()) {
        out.add(kShape, std::string_view("after"), target, frame.after_target);
        out.add(kShape, std::string_view("ends"), frame.after_target, frame.last_tag);
    }
    out.add(kShape, std::string_view("last"), frame.type, frame.last_tag);
    std::size_t n_names = 0;
    std::size_t n_numbers = 0;
    std::size_t n_quotes = 0;
    for (const Segment& segment : segments) {
        const std::string_view tag = lexicon.name(segment.tag);
        if (segment.capital) ++n_names;
        if (tag == "NUM") ++n_numbers;
        if (segment.text == "\"") ++n_quotes;
    }
    out.add(kShape, std::string_view("names"),
            std::string_view(n_names == 0  ? "0"
                             : n_names < 3 ? "1"
                                           : "3"));
    if (n_numbers > 0)
        out.add(kShape, std::string_view("numbers"), std::string_view(n_numbers < 3 ? "1" : "3"));
    if (n_quotes > 0) out.add(kShape, std::string_view("quotes"), frame.type);
}

}  // namespace

static std::vector<Feature> extract(std::span<const Word> words, const Lexicon& lexicon,
                                    std::vector<std::string>* names) {
    Collector out(names);
    const std::vector<Segment> segments = lexicon.tag(words);
    const Frame frame = make_frame(segments, lexicon);
    out.add(kBias, std::string_view("1"));
    add_words(segments, out);
    add_pieces(words, out);
    for (const Segment& segment : segments) out.add(kTags, lexicon.name(segment.tag));
    for (std::size_t i = 0; i + 1 < segments.size(); ++i) {
        out.add(kTags, lexicon.name(segments[i].tag), lexicon.name(segments[i + 1].tag));
    }
    add_frame(frame.parts, out);
    out.add(kType, frame.type);
    for (const Segment& segment : segments) out.add(kType, frame.type, lexicon.name(segment.tag));
    if (!frame.head.empty()) {
        out.add(kType, std::string_view("head"), frame.head);
        out.add(kType, std::string_view("headtag"), frame.type, frame.head_tag);
    }
    add_shape(frame, segments, lexicon, out);
    const std::size_t n_words = words.size();
    out.add(kType, std::string_view("length"),
            std::string_view(n_words <= 4    ? "4"
                             : n_words <= 7  ? "7"
                             : n_words <= 11 ? "11"
                             : n_words <= 18 ? "18"
                             : n_words <= 35 ? "35"
                                             : "more"));
    return out.finish();
}

std::vector<Feature> extract_features(std::span<const Word> words, const Lexicon& lexicon) {
    return extract(words, lexicon, nullptr);
}

std::vector<NamedFeature> extract_named_features(std::span<const Word> words, const Lexicon& lexicon) {
    std::vector<std::string> names;
    const std::vector<Feature> features = extract(words, lexicon, &names);
    std::vector<NamedFeature> out;
    out.reserve(features.size());
    for (std::size_t i = 0; i < features.size(); ++i) out.push_back({features[i], std::move(names[i])});
    return out;
}

}  // namespace clasp::route
