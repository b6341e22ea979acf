// What a calibration tries, as data: mixes of vision layers and shares of pivots (the paper's candidate
// layer sets with their weight prototypes, and its candidate ratios).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "clasp/fuse.h"
#include "clasp/policy.h"
#include "clasp/status.h"

namespace clasp::calibrate {

struct MixPrototype {
    std::string name;
    std::vector<LayerWeight> weights;  // rising layers, sum 1
};

struct SearchSpace {
    std::vector<MixPrototype> mixes;
    std::vector<double> splits;
};

// One setting of a class.
struct Candidate {
    std::string mix_name;
    std::vector<LayerWeight> weights;
    double split = 0.0;
};

// The prototypes of the paper's tables for a tower whose original features are those of `feature_layer`,
// that layer alone, and splits 0.1, 0.3, ..., 0.9, 1.
SearchSpace default_space(std::size_t n_vision_layers, std::size_t feature_layer);

// {"mixes": [{"name": "D", "weights": {"5": 0.2, "22": 0.8}}], "splits": [0.1, 0.5]}. Errors: corrupt,
// invalid_argument (nothing to try, a weight or split out of range, a layer the tower does not have).
Result<SearchSpace> parse_space(std::string_view json, std::size_t n_vision_layers);
base::Json as_json(const SearchSpace& space);

// The setting that a policy has for a class.
Result<Candidate> candidate_of(const Policy& policy, std::size_t class_id);
// The policy with that setting for the class.
Policy with_candidate(Policy policy, std::size_t class_id, const Candidate& candidate);

// Every mix with every split.
std::vector<Candidate> joint_candidates(const SearchSpace& space);
std::vector<Candidate> mix_candidates(const SearchSpace& space, double split);
std::vector<Candidate> split_candidates(const SearchSpace& space, const Candidate& mix);
// Settings near one: its weights shaken and renormalised, its split moved by up to 0.1. The same for the same
// seed.
std::vector<Candidate> nearby_candidates(const Candidate& centre, std::size_t count, std::uint64_t seed);

// The same mix and split, whatever they are called.
bool same_setting(const Candidate& a, const Candidate& b);

// Puts the candidate first unless it is there already; returns its place.
std::size_t include_candidate(const Candidate& candidate, std::vector<Candidate>& candidates);

}  // namespace clasp::calibrate
