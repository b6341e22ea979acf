// Decides which visual tokens stay: pivots are the tokens with the highest scores (the paper's
// Eq. pivots), coverage are the medoids of spherical k-means over the rest, seeded with the tokens
// least similar to the pivots (Eqs. redundancy-inst, kmeans-assign, kmeans-update, diverse-q).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "clasp/status.h"

namespace clasp {

class ThreadPool;

// Position of a token among all visual tokens of its image, from 0.
using TokenIndex = std::uint32_t;

// More tokens than this are refused (Code::TooLarge): their Gram matrix would pass 4 GiB.
inline constexpr std::size_t kMaxSelectTokens = 32768;

// Of more tokens than this no matrix of all their similarities is built where features are given.
inline constexpr std::size_t kMaxGramTokens = 4096;

// Row-major features, borrowed: token t is data[t * stride] ... data[t * stride + width - 1].
struct FeatureView {
    const float* data = nullptr;
    std::size_t rows = 0;
    std::size_t width = 0;
    std::size_t stride = 0;  // floats from one row to the next, at least width
};

// Cosine similarities of all tokens, rows x rows, symmetric, borrowed. Entries lie in [-1, 1] (1 % of
// slack for half-precision backends); the row and column of a zero vector are 0, its diagonal too.
struct GramView {
    const float* data = nullptr;
    std::size_t rows = 0;
    std::size_t stride = 0;  // floats from one row to the next, at least rows
};

// Behaviour. The result depends on nothing else but the input.
struct SelectOptions {
    std::size_t budget = 0;        // tokens to keep, at least 1; at or above the live count all stay
    double split = 0.5;            // share of the budget that goes to pivots, 0 to 1 (the paper's a)
    std::uint32_t iterations = 5;  // of k-means, 0 to 1000; 0 keeps the seeds themselves
    std::uint64_t seed = 0;        // 0: lowest redundancy first; other values shake that order (below)
    // Features of more live tokens are compared and clustered as they are, in memory for the tokens and the
    // kept ones; fewer through the matrix of their similarities. The answer is the same but for ties.
    std::size_t gram_limit = kMaxGramTokens;
};

// Exactly one of gram and features is set. All of it is borrowed for the call.
struct SelectInput {
    GramView gram;
    FeatureView features;
    std::span<const TokenIndex> live;  // tokens to choose from, rising; empty means all rows
    std::span<const float> scores;     // relevance, one per live token in the order of live
};

enum class KeepReason : std::uint8_t {
    Pivot,     // kept for relevance
    Coverage,  // kept for completeness
    All,       // the budget covers every live token: nothing was chosen
};
std::string_view keep_reason_name(KeepReason reason);  // "pivot", "coverage", "all"

// Wall-clock milliseconds per step.
struct SelectTimings {
    double gram_ms = 0;      // building the Gram matrix from features; 0 when it was given
    double pivots_ms = 0;    // checks and top-K1
    double seeds_ms = 0;     // redundancy and bottom-K2
    double clusters_ms = 0;  // spherical k-means
    double medoids_ms = 0;   // medoids and the filling of missing slots
    double total_ms = 0;
};

// All indices are original ones (into the rows of the input) and rising. Vectors keep their capacity
// from call to call.
struct SelectPlan {
    std::vector<TokenIndex> kept;
    std::vector<KeepReason> reasons;  // parallel to kept
    std::vector<TokenIndex> pivots;   // empty when the reason is All, as are coverage and seeds
    std::vector<TokenIndex> coverage;
    std::vector<TokenIndex> seeds;  // where k-means began
    std::uint32_t iterations = 0;   // run, counting the last one that changed no assignment
    std::vector<double> objective;  // the paper's J with the centres after each iteration
    SelectTimings timings;
};

// Scratch memory, reused from call to call and grown on demand. One per thread at a time.
class SelectWorkspace {
   public:
    SelectWorkspace();
    ~SelectWorkspace();
    SelectWorkspace(SelectWorkspace&&) noexcept;
    SelectWorkspace& operator=(SelectWorkspace&&) noexcept;

    struct Buffers;
    // For the library itself: made on first use.
    Buffers& buffers();

   private:
    std::unique_ptr<Buffers> buffers_;
};

// K1 = floor(split * budget). A product within 1e-7 * budget under a whole number counts as that
// number, so that 0.29 * 100 is 29 as on paper, also when the split went through a float.
std::size_t pivot_count(double split, std::size_t budget);

// Chooses exactly min(budget, live) tokens. pool may be null.
// Guarantees: the same plan, bit for bit, for any number of threads; ties go to the smaller index
// everywhere (a cluster's index is the rank of its seed token). Similarities count in steps of 2^-20
// (coarser beyond 2026 candidates), so sums are exact and equal tokens tie. With K1 = 0 redundancy is the
// cosine to the mean direction of the live tokens. An empty cluster keeps its previous centre, and so does
// one whose mean is shorter than 1/1000 and thus has no direction; a zero vector as centre is similar
// to nothing. Clusters left empty yield no medoid: their slots go, one by one, to the unchosen token
// whose largest similarity to everything chosen so far is smallest. A seed other than 0 adds to each
// redundancy a number in [-s, s] drawn from the seed and the token's index, s being the standard
// deviation of the redundancies.
// Costs about iterations * live * (live - K1) additions, plus live * live * width / 2 fused
// multiply-adds when features are given; beyond gram_limit (iterations + 1) * live * budget * width of them.
// Errors: InvalidArgument for wrong shapes, options, live sets, and for NaN or infinity in features,
// scores or the Gram matrix (names the first bad token); TooLarge; OutOfMemory. After an error the
// plan is unspecified.
// Safe to call from many threads with different workspaces and plans. After the first call of a size
// it allocates nothing.
Status select(const SelectInput& input, const SelectOptions& options, SelectWorkspace& workspace,
              ThreadPool* pool, SelectPlan& plan);

// Normalises the rows and writes their cosine similarities, rows x rows with out_stride floats from
// one row to the next: symmetric, and the same bits for any number of threads. Equal rows give equal
// entries. A zero vector has similarity 0 to everything, itself included. Errors and allocation as in
// select.
Status gram(const FeatureView& features, SelectWorkspace& workspace, ThreadPool* pool, float* out,
            std::size_t out_stride);

// Every live token that is not kept gives its mass to the kept token most similar to it (ties: smaller
// index) and is left with 0. masses holds one finite, non-negative number per row of the Gram matrix.
// live empty means all; kept is a rising, non-empty part of live. Allocates nothing.
Status assign_masses(const GramView& gram, std::span<const TokenIndex> live, std::span<const TokenIndex> kept,
                     std::span<float> masses);
// The same from features, without a matrix: one row of similarities at a time. pool may be null. Allocates
// as select() does.
Status assign_masses(const FeatureView& features, std::span<const TokenIndex> live,
                     std::span<const TokenIndex> kept, SelectWorkspace& workspace, ThreadPool* pool,
                     std::span<float> masses);

}  // namespace clasp
