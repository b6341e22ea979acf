// Policies: per question class, which vision layers are mixed and how a budget is split; plus how stages
// are placed and scored. A policy is a versioned JSON file (docs/reference/policy-format.md); a profile is
// a policy that is built in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/fuse.h"
#include "clasp/schedule.h"
#include "clasp/status.h"

namespace clasp {

// The number in a file's "clasp_policy" field.
inline constexpr int kPolicyVersion = 1;

// What a dropped token leaves behind: nothing, or its mass to the kept token most similar to it.
enum class MassRule : std::uint8_t { None, Nearest };

// Whose attention scores relevance (the paper's set S).
enum class ReferenceTokens : std::uint8_t {
    Last,         // the last prompt token
    Instruction,  // the user's own words after the image
    Post,         // all text after the image
    Raters,       // SparseVLM's rule: text tokens that the image attends to
};

std::string_view mass_name(MassRule mass);                // "none", "nearest"
std::string_view reference_name(ReferenceTokens tokens);  // "last", "instruction", "post", "raters"
std::string_view stage_mode_name(StageMode mode);         // "before", "after"
Result<MassRule> parse_mass(std::string_view name);
Result<ReferenceTokens> parse_reference(std::string_view name);
Result<StageMode> parse_stage_mode(std::string_view name);

struct PolicyClass {
    std::string name;
    // One of the two: weights that sum to 1 (scores are then their logarithms), or raw scores.
    std::vector<LayerWeight> weights;
    std::vector<LayerScore> scores;
    double split = 0.0;  // share of each stage's count that goes to pivots, in [0, 1]
};

struct Policy {
    std::string name;
    std::string description;
    std::string model_family;          // the vision tower the layers belong to; empty: any
    std::size_t n_vision_layers = 0;   // blocks of that tower; 0: not stated
    double tau = 1.0;                  // sharpness of mixes, above 0
    std::vector<PolicyClass> classes;  // the index is the class id
    std::size_t default_class = 0;     // where uncertain questions go
    std::string method = "clasp";
    MassRule mass = MassRule::None;
    ReferenceTokens reference_tokens = ReferenceTokens::Instruction;
    StageMode stage_mode = StageMode::Before;
    std::size_t iterations = 5;  // of the clustering, at most
    // At most one of forced and (stage_layers, schedule_name); see ScheduleRequest.
    std::vector<std::size_t> stage_layers;
    std::vector<std::size_t> stage_shape;  // proportions of their counts, or empty
    std::vector<Stage> forced_stages;
    std::string schedule_name;
    std::string provenance;  // a JSON object as text, or empty: where the numbers come from
};

// Every rule of the format on a policy however it was made. Error: invalid_argument naming field and limit.
Status validate(const Policy& policy);

// Parses and validates. Errors: corrupt (not JSON, a key twice, a wrong type), invalid_argument (a rule
// broken, an unknown key), unsupported (another version), too_large.
Result<Policy> parse_policy(std::string_view json);

// The file's text: fields in the order of the format, ends with a newline. parse_policy gives the same
// policy back. The policy must be valid.
std::string to_json(const Policy& policy);

// 64 hexadecimal digits: SHA-256 of the canonical form of everything that can change an answer. Name,
// description and provenance are left out.
std::string policy_hash(const Policy& policy);

Result<Policy> read_policy(const std::string& path);
Status write_policy(const Policy& policy, const std::string& path);  // the file appears whole or not at all

std::vector<std::string_view> profile_names();
// Letter case is ignored. Error: not_found with the names there are.
Result<Policy> find_profile(std::string_view name);
// The profile "llava" for a vision tower of another depth: layer l becomes l * native / 22, rounded, where
// native is the block that the tower's model projects. Not the paper's numbers, but their place in the tower;
// native is below n_blocks.
Policy depth_profile(std::size_t n_blocks, std::size_t native);
// A profile name, or else the path of a file.
Result<Policy> load_policy(std::string_view name_or_path);

// The class by id ("3"), by name, or by the first word of a name if no other name begins with it ("text");
// letter case is ignored. Error: not_found with the names there are.
Result<std::size_t> find_class(const Policy& policy, std::string_view id_or_name);

// The paper's alpha = softmax(tau w_c), zero weights left out. Error: invalid_argument for a class id that
// the policy does not have.
Result<Mix> mix_for(const Policy& policy, std::size_t class_id);

// Vision blocks that have to run for a mix: its highest layer plus 1.
std::size_t required_depth(const Mix& mix);

// A request with the policy's stages, ready for make_schedule(). Counts that the policy fixes (forced or
// named) win over a budget, except that "none" always means no pruning.
ScheduleRequest schedule_request(const Policy& policy, std::size_t n_visual, std::size_t n_layers,
                                 const BudgetSpec& budget);

}  // namespace clasp
