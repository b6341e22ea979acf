// A variant is one way to run the model over a benchmark: a row of a table. Everything that can change an
// answer is here, so that two variants of one key give the same answers and a stored answer can be trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/engine.h"
#include "clasp/policy.h"
#include "clasp/status.h"

namespace clasp::eval {

// Who tells the class of a question.
enum class ClassSource : std::uint8_t {
    Classifier,  // the built-in router
    Rules,       // its rules alone
    Truth,       // the benchmark's own labels; where it has none, the router
};
std::string_view class_source_name(ClassSource source);  // "classifier", "rules", "truth"
Result<ClassSource> parse_class_source(std::string_view name);

// Routing made worse on purpose (the paper's robustness tables). At most one ratio is above 0.
struct RouterStress {
    double default_ratio = 0.0;  // share of the questions that goes to the default class
    double error_ratio = 0.0;    // share that goes to a wrong class
    std::uint64_t seed = 1;
};

struct Variant {
    std::string label;                             // the row's name in tables
    std::string method;                            // empty: the policy's
    std::vector<std::string> method_options = {};  // "name=value"
    std::string
        budget;  // as the user wrote it; "none" is the original model, and of the rest only detail matters
    std::string budget_kind = "average";
    std::string position_mode = "official";
    PictureDetail detail;  // of the unpruned row too
    std::shared_ptr<const Policy> policy;
    std::optional<MassRule> mass;  // default: as AskRequest::mass
    bool use_fusion = true;
    std::uint64_t select_seed = 0;
    ClassSource classes = ClassSource::Classifier;
    RouterStress stress;

    [[nodiscard]] bool is_vanilla() const { return budget == "none"; }
};

// The original model, unpruned.
Variant vanilla_variant();

// What becomes of masses when the variant runs.
MassRule mass_of(const Variant& variant);

// 16 hexadecimal digits of everything but the label. max_tokens is part of what an answer depends on.
std::string variant_key(const Variant& variant, std::size_t max_tokens);

// Checks budget, method and policy, so that a long run does not fail at its last variant.
Status check_variant(const Variant& variant);

// The request of one question; image and class are the caller's to add.
Result<AskRequest> variant_request(const Variant& variant, std::size_t max_tokens);

// One vanilla variant if any budget is "none", then every method at every other budget, budgets in the
// outer loop as the paper's tables have them. A method may bring options ("fastv:faithful=paper"). Labels say
// what runs, masses included. `both_masses`: a method that drops tokens and has no masses by itself is there
// without and with them; the others are there once. Nothing is there twice.
std::vector<Variant> cross(const std::vector<std::string>& methods, const std::vector<std::string>& budgets,
                           const Variant& base, bool both_masses = false);

}  // namespace clasp::eval
