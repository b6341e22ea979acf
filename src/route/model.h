// The classifier: one row of small integers per known feature, one column per intent. Scores are sums
// of rows; probabilities a softmax of them, cooled by a temperature that was fitted on held-out
// questions so that "0.9" is right nine times in ten.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/status.h"
#include "route/features.h"
#include "route/profile.h"

namespace clasp::route {

// In the bytes, all little endian: "CLASPRT3", u32 feature version, u64 lexicon hash, u32 intents,
// u32 features, f32 step, f32 temperature, f32 threshold, f32 default threshold, u32 scripts, u32 words,
// u32 pieces, the intents' names (u8 length + bytes), the feature ids ascending (u32 each), the weights (i8,
// one row of intents per feature), the hashes of the profile's words and pieces (u32 each), u64 hash of all
// before.

// From logits to probabilities, softmax(logits / temperature), and the least probability that is acted on;
// for the default class, which a question gets by falling back too, the least at which it is claimed.
struct Calibration {
    float temperature = 1.0f;
    float threshold = 0.5f;
    float default_threshold = 0.5f;
};

class Model {
   public:
    // Corrupt if the bytes do not hold together, Unsupported if they were made for other features or
    // another lexicon.
    static Result<Model> load(std::string_view bytes, const Lexicon& lexicon);
    [[nodiscard]] std::string save(const Lexicon& lexicon) const;

    // ids ascending and unique; weights has ids.size() rows of intent_names.size().
    Model(std::vector<std::string> intent_names, std::vector<std::uint32_t> ids,
          std::vector<std::int8_t> weights, float step);

    // Unscaled logits per intent.
    void score(std::span<const Feature> features, std::span<float> logits) const;
    // As Calibration says, in place of score().
    [[nodiscard]] std::vector<float> probabilities(std::span<const Feature> features) const;
    // What one feature adds to the logit of an intent; 0 if the feature is unknown.
    [[nodiscard]] float weight(std::uint32_t feature_id, std::size_t intent) const;

    [[nodiscard]] const std::vector<std::string>& intent_names() const { return intent_names_; }
    [[nodiscard]] std::size_t n_features() const { return ids_.size(); }
    [[nodiscard]] const Calibration& calibration() const { return calibration_; }
    void set_calibration(const Calibration& calibration) { calibration_ = calibration; }
    // What the training questions were written with; empty if nothing is known of it.
    [[nodiscard]] const LanguageProfile& profile() const { return profile_; }
    void set_profile(LanguageProfile profile) { profile_ = std::move(profile); }

   private:
    // Row of a feature, or n_features() if it is unknown.
    [[nodiscard]] std::size_t row(std::uint32_t id) const;
    void build_index();

    std::vector<std::string> intent_names_;
    std::vector<std::uint32_t> ids_;
    std::vector<std::int8_t> weights_;
    std::vector<std::uint32_t> first_row_;  // by the high bits of the id: rows are found in a few steps
    float step_ = 1.0f;
    Calibration calibration_;
    LanguageProfile profile_;
};

}  // namespace clasp::route
