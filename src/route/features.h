// What the classifier sees of a question: words and pairs of words, pieces of words, and the frame
// of the sentence with words replaced by their classes. Each is a hashed id with a weight.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "route/lexicon.h"
#include "route/text.h"

namespace clasp::route {

// Raised when the same question would give other features, so that old models are refused.
inline constexpr std::uint32_t kFeatureVersion = 2;

struct Feature {
    std::uint32_t id = 0;
    float value = 0.0f;
    bool lexical = false;  // names words of the question, not its frame
};

struct NamedFeature {
    Feature feature;
    std::string name;
};

// Ids are unique within the result and in order of first appearance.
std::vector<Feature> extract_features(std::span<const Word> words, const Lexicon& lexicon);
// The same with readable names, for explanations.
std::vector<NamedFeature> extract_named_features(std::span<const Word> words, const Lexicon& lexicon);

}  // namespace clasp::route
