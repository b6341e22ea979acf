#include "route/model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "route/hash.h"

namespace clasp::route {

namespace {

constexpr std::string_view kMagic = "CLASPRT3";
constexpr std::uint32_t kMaxIntents = 256;
constexpr std::uint32_t kMaxFeatures = 1u << 22u;
constexpr unsigned kIndexBits = 14;

template <typename T>
void put(std::string& out, T value) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    using U = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    const auto bits = std::bit_cast<U>(value);
    for (std::size_t i = 0; i < sizeof(T); ++i) out.push_back(static_cast<char>((bits >> (8 * i)) & 0xFFu));
}

class Reader {
   public:
    explicit Reader(std::string_view bytes) : bytes_(bytes) {}

    template <typename T>
    bool get(T& value) {
        using U = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
        if (bytes_.size() < sizeof(T)) return false;
        U bits = 0;
        for (std::size_t i = 0; i < sizeof(T); ++i) {
            bits |= static_cast<U>(static_cast<unsigned char>(bytes_[i])) << (8 * i);
        }
        value = std::bit_cast<T>(bits);
        bytes_.remove_prefix(sizeof(T));
        return true;
    }
    bool get(std::size_t n, std::string_view& value) {
        if (bytes_.size() < n) return false;
        value = bytes_.substr(0, n);
        bytes_.remove_prefix(n);
        return true;
    }
    [[nodiscard]] std::size_t left() const { return bytes_.size(); }

   private:
    std::string_view bytes_;
};

// Fills `values`; false if they are not ascending. There must be enough left.
bool get_ascending(Reader& in, std::vector<std::uint32_t>& values) {
    for (std::uint32_t& value : values) in.get(value);
    return std::adjacent_find(values.begin(), values.end(), std::greater_equal<>()) == values.end();
}

Status corrupt(std::string_view what) {
    return {Code::Corrupt, "router model: " + std::string(what)};
}

}  // namespace

Model::Model(std::vector<std::string> intent_names, std::vector<std::uint32_t> ids,
             std::vector<std::int8_t> weights, float step)
    : intent_names_(std::move(intent_names)),
      ids_(std::move(ids)),
      weights_(std::move(weights)),
      step_(step) {
    CLASP_CHECK(weights_.size() == ids_.size() * intent_names_.size());
    build_index();
}

void Model::build_index() {
    constexpr std::size_t kSlots = std::size_t{1} << kIndexBits;
    first_row_.assign(kSlots + 1, static_cast<std::uint32_t>(ids_.size()));
    for (std::size_t i = ids_.size(); i-- > 0;) {
        first_row_[ids_[i] >> (32 - kIndexBits)] = static_cast<std::uint32_t>(i);
    }
    for (std::size_t slot = kSlots; slot-- > 0;) {
        first_row_[slot] = std::min(first_row_[slot], first_row_[slot + 1]);
    }
}

std::size_t Model::row(std::uint32_t id) const {
    const std::size_t slot = id >> (32 - kIndexBits);
    for (std::size_t i = first_row_[slot]; i < first_row_[slot + 1]; ++i) {
        if (ids_[i] == id) return i;
    }
    return ids_.size();
}

void Model::score(std::span<const Feature> features, std::span<float> logits) const {
    const std::size_t n = intent_names_.size();
    std::fill(logits.begin(), logits.end(), 0.0f);
    for (const Feature& feature : features) {
        const std::size_t r = row(feature.id);
        if (r == ids_.size()) continue;
        const std::int8_t* weights = weights_.data() + r * n;
        for (std::size_t k = 0; k < n; ++k) logits[k] += feature.value * static_cast<float>(weights[k]);
    }
    for (float& logit : logits) logit *= step_;
}

std::vector<float> Model::probabilities(std::span<const Feature> features) const {
    std::vector<float> p(intent_names_.size());
    score(features, p);
    const float top = *std::max_element(p.begin(), p.end());
    float sum = 0.0f;
    for (float& value : p) {
        value = std::exp((value - top) / calibration_.temperature);
        sum += value;
    }
    for (float& value : p) value /= sum;
    return p;
}

float Model::weight(std::uint32_t feature_id, std::size_t intent) const {
    const std::size_t r = row(feature_id);
    if (r == ids_.size()) return 0.0f;
    return step_ * static_cast<float>(weights_[r * intent_names_.size() + intent]);
}

std::string Model::save(const Lexicon& lexicon) const {
    std::string out(kMagic);
    put(out, kFeatureVersion);
    put(out, lexicon.hash());
    put(out, static_cast<std::uint32_t>(intent_names_.size()));
    put(out, static_cast<std::uint32_t>(ids_.size()));
    put(out, step_);
    put(out, calibration_.temperature);
    put(out, calibration_.threshold);
    put(out, calibration_.default_threshold);
    put(out, profile_.scripts());
    put(out, static_cast<std::uint32_t>(profile_.words().size()));
    put(out, static_cast<std::uint32_t>(profile_.pieces().size()));
    for (const std::string& name : intent_names_) {
        out.push_back(static_cast<char>(name.size()));
        out += name;
    }
    for (const std::uint32_t id : ids_) put(out, id);
    for (const std::int8_t weight : weights_) out.push_back(static_cast<char>(weight));
    for (const std::uint32_t word : profile_.words()) put(out, word);
    for (const std::uint32_t piece : profile_.pieces()) put(out, piece);
    put(out, hash_bytes(out));
    return out;
}

Result<Model> Model::load(std::string_view bytes, const Lexicon& lexicon) {
    if (bytes.size() < kMagic.size() + 8 || bytes.substr(0, kMagic.size()) != kMagic) {
        return corrupt("does not begin with CLASPRT3");
    }
    const std::string_view body = bytes.substr(0, bytes.size() - 8);
    std::uint64_t stored_hash = 0;
    Reader tail(bytes.substr(body.size()));
    tail.get(stored_hash);
    if (stored_hash != hash_bytes(body)) return corrupt("checksum does not match, the file is damaged");

    Reader in(body.substr(kMagic.size()));
    std::uint32_t version = 0;
    std::uint64_t lexicon_hash = 0;
    std::uint32_t n_intents = 0;
    std::uint32_t n_features = 0;
    float step = 0.0f;
    Calibration calibration;
    std::uint32_t scripts = 0;
    std::uint32_t n_words = 0;
    std::uint32_t n_pieces = 0;
    if (!in.get(version) || !in.get(lexicon_hash) || !in.get(n_intents) || !in.get(n_features) ||
        !in.get(step) || !in.get(calibration.temperature) || !in.get(calibration.threshold) ||
        !in.get(calibration.default_threshold) || !in.get(scripts) || !in.get(n_words) || !in.get(n_pieces)) {
        return corrupt("header is cut off");
    }
    if (version != kFeatureVersion || lexicon_hash != lexicon.hash()) {
        return Status(Code::Unsupported,
                      "router model: made for other features or another lexicon, train it again");
    }
    if (n_intents == 0 || n_intents > kMaxIntents || n_features > kMaxFeatures) {
        return corrupt("has " + std::to_string(n_intents) + " intents and " + std::to_string(n_features) +
                       " features, limits are " + std::to_string(kMaxIntents) + " and " +
                       std::to_string(kMaxFeatures));
    }
    if (n_words > kMaxFeatures || n_pieces > kMaxFeatures) {
        return corrupt("has a profile of " + std::to_string(n_words) + " words and " +
                       std::to_string(n_pieces) + " pieces, the limit is " + std::to_string(kMaxFeatures));
    }
    const auto is_positive = [](float value) { return value > 0.0f && std::isfinite(value); };
    const auto is_share = [](float value) { return value >= 0.0f && value <= 1.0f; };
    if (!is_positive(step) || !is_positive(calibration.temperature) || !is_share(calibration.threshold) ||
        !is_share(calibration.default_threshold)) {
        return corrupt("step, temperature or threshold is out of range");
    }
    std::vector<std::string> names(n_intents);
    for (std::string& name : names) {
        std::string_view length;
        std::string_view text;
        if (!in.get(1, length) || !in.get(static_cast<unsigned char>(length[0]), text)) {
            return corrupt("intent names are cut off");
        }
        name = text;
    }
    const std::size_t n_bytes =
        (4 + std::size_t{n_intents}) * n_features + 4 * (std::size_t{n_words} + n_pieces);
    if (in.left() != n_bytes) {
        return corrupt("holds " + std::to_string(in.left()) + " bytes of weights instead of " +
                       std::to_string(n_bytes));
    }
    std::vector<std::uint32_t> ids(n_features);
    if (!get_ascending(in, ids)) return corrupt("feature ids are not ascending");
    std::string_view weights;
    in.get(std::size_t{n_intents} * n_features, weights);
    std::vector<std::int8_t> table(weights.size());
    std::memcpy(table.data(), weights.data(), weights.size());
    std::vector<std::uint32_t> words(n_words);
    std::vector<std::uint32_t> pieces(n_pieces);
    if (!get_ascending(in, words) || !get_ascending(in, pieces)) return corrupt("profile is not ascending");
    Model model(std::move(names), std::move(ids), std::move(table), step);
    model.set_calibration(calibration);
    model.set_profile({scripts, std::move(words), std::move(pieces)});
    return model;
}

}  // namespace clasp::route
