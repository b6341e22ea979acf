// Token-reduction methods behind one interface. A method is a file that defines one and a line in
// registry.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "clasp/select.h"
#include "clasp/status.h"
#include "clasp/thread_pool.h"

namespace clasp::methods {

// What a method sees at one decoder stage. All of it is borrowed for the call.
struct StageInput {
    GramView gram;                     // all visual tokens of one image
    std::span<const TokenIndex> live;  // those still there, rising; never empty
    std::span<const float> scores;     // relevance, one per live token
    std::size_t keep = 0;              // tokens to keep, at least 1 and below live.size()
    double split = 0.0;                // share of keep that goes to pivots
    std::uint32_t iterations = 5;
    std::uint64_t seed = 0;
};

struct Method {
    std::string_view name;
    std::string_view summary;
    bool uses_masses = false;  // dropped tokens leave their mass to their nearest survivor by default
    bool needs_scores = true;
    // Fills plan.kept (exactly `keep` of the live tokens, rising), plan.reasons and the lists by reason.
    // Safe from many threads with different workspaces.
    Status (*choose)(const StageInput& input, SelectWorkspace& workspace, ThreadPool* pool,
                     SelectPlan& plan) = nullptr;
};

std::span<const Method> all_methods();
// Error: not_found with the names there are.
Result<const Method*> find_method(std::string_view name);

}  // namespace clasp::methods
