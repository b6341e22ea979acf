// What a method decides: which tokens stay, in which order, why, and what was merged into them. Applying
// a plan is the engine's work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "clasp/select.h"

namespace clasp::methods {

// The encoder's class token, where a plan after the encoder names rows. It has no place in the grid.
inline constexpr TokenIndex kClassToken = std::numeric_limits<TokenIndex>::max();

// What kept tokens do with their positions.
enum class PositionMode : std::uint8_t {
    Keep,     // the place in the unpruned prompt; generation continues from its length
    Compact,  // 0 to n - 1 anew wherever tokens leave, for every layer
};

enum class Reason : std::uint8_t {
    Pivot,     // kept for relevance
    Coverage,  // kept for completeness, or by a method that does not tell the two apart
    Merged,    // carries others that were merged into it
};

struct MergeSource {
    TokenIndex row = 0;  // a row of the hook's input, or kClassToken
    float weight = 0.0F;

    friend bool operator==(const MergeSource&, const MergeSource&) = default;
};

// Output tokens in the order in which they go on. A token's place is the row whose position and grid cell
// it takes; no place occurs twice. Places rise unless the method's authors put tokens in another order
// (contextual tokens last, for example).
class Plan {
   public:
    std::vector<TokenIndex> kept;  // places
    std::vector<Reason> reasons;   // parallel to kept
    // Inside the encoder only: how many patches each output row stands for. Empty: every row counts 1.
    std::vector<float> sizes;

    void clear() {
        kept.clear();
        reasons.clear();
        sizes.clear();
        source_end_.clear();
        sources_.clear();
    }
    // One more output token: the row as it is.
    void keep(TokenIndex row, Reason reason) {
        kept.push_back(row);
        reasons.push_back(reason);
        source_end_.push_back(sources_.size());
    }
    // One more output token: the sum of weight * row over the sources, which are not empty.
    void merge(TokenIndex place, std::span<const MergeSource> sources) {
        sources_.insert(sources_.end(), sources.begin(), sources.end());
        keep(place, Reason::Merged);
    }
    void keep_all_of(std::span<const TokenIndex> rows, Reason reason) {
        for (const TokenIndex row : rows) keep(row, reason);
    }

    [[nodiscard]] std::size_t size() const { return kept.size(); }
    // Empty: the token is the row of its place, unchanged.
    [[nodiscard]] std::span<const MergeSource> sources(std::size_t output) const {
        const std::size_t begin = output == 0 ? 0 : source_end_[output - 1];
        return std::span(sources_).subspan(begin, source_end_[output] - begin);
    }
    [[nodiscard]] bool merges() const { return !sources_.empty(); }

   private:
    std::vector<std::size_t> source_end_;  // parallel to kept
    std::vector<MergeSource> sources_;
};

}  // namespace clasp::methods
