// Any bytes as a policy file: refused with a message, or a valid policy that survives a round trip.
#include <cmath>
#include <cstdint>

#include "clasp/policy.h"
#include "require.h"

using clasp::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto policy = clasp::parse_policy({reinterpret_cast<const char*>(data), size});
    if (!policy.ok()) {
        require(!policy.status().message().empty());
        return 0;
    }
    require(clasp::validate(*policy).ok());
    const auto again = clasp::parse_policy(clasp::to_json(*policy));
    require(again.ok());
    require(clasp::policy_hash(*again) == clasp::policy_hash(*policy));
    require(clasp::to_json(*again) == clasp::to_json(*policy));
    for (std::size_t id = 0; id < policy->classes.size(); ++id) {
        const auto mix = clasp::mix_for(*policy, id);
        require(mix.ok() && !mix->empty());
        double sum = 0.0;
        for (const clasp::LayerWeight& entry : *mix) sum += entry.weight;
        require(std::abs(sum - 1.0) < 1e-5);
    }
    return 0;
}
