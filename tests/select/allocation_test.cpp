// A selection allocates nothing after the first call of a size.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "clasp/select.h"
#include "clasp/thread_pool.h"
#include "select/cases.h"

namespace {
std::atomic<long> n_allocations = 0;
}  // namespace

// Counts what this test program asks for. Never inlined: a compiler that sees the free() of one but not the
// malloc() of the other takes them for a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) {
    ++n_allocations;
    if (void* memory = std::malloc(size)) return memory;
    throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    ++n_allocations;
    return std::malloc(size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

namespace clasp {
namespace {

using testing::Kind;
using testing::make_features;

TEST(Allocation, TheCounterCounts) {
    const long before = n_allocations;
    const std::vector<int> something(100);
    EXPECT_EQ(n_allocations, before + 1);
}

TEST(Allocation, NoneAfterTheFirstCallOfASize) {
    std::mt19937 random(81);
    testing::Case sample;
    sample.width = 40;
    sample.features = make_features(Kind::Clustered, 150, sample.width, random);
    sample.scores = make_features(Kind::Random, 150, 1, random);
    const SelectInput from_features = sample.input();
    SelectWorkspace workspace;
    SelectPlan plan;
    ThreadPool pool(2);
    std::vector<float> matrix(150 * 150);
    SelectInput from_gram;
    from_gram.gram = {matrix.data(), 150, 150};
    from_gram.scores = sample.scores;

    const auto use = [&](double split) {
        const SelectOptions options = {.budget = 60, .split = split, .seed = 3};
        SelectOptions on_features = options;
        on_features.gram_limit = 0;
        return gram(from_features.features, workspace, &pool, matrix.data(), 150).ok() &&
               select(from_features, options, workspace, &pool, plan).ok() &&
               select(from_features, on_features, workspace, &pool, plan).ok() &&
               select(from_gram, options, workspace, &pool, plan).ok();
    };
    for (const double split : {0.0, 0.4, 1.0}) ASSERT_TRUE(use(split));
    const long before = n_allocations;
    for (const double split : {0.0, 0.4, 1.0}) ASSERT_TRUE(use(split));
    EXPECT_EQ(n_allocations, before);
}

}  // namespace
}  // namespace clasp
