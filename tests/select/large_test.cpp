// As many tokens as a long video has: chosen in bounded memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <random>
#include <vector>

#include "clasp/select.h"
#include "clasp/thread_pool.h"

namespace {

constexpr std::size_t kHeader = 16;  // where the size of a block stands
std::atomic<std::size_t> n_live_bytes = 0;
std::atomic<std::size_t> n_peak_bytes = 0;

void* counted(std::size_t size) {
    auto* memory = static_cast<std::size_t*>(std::malloc(size + kHeader));
    if (memory == nullptr) return nullptr;
    *memory = size;
    const std::size_t now = n_live_bytes += size;
    std::size_t peak = n_peak_bytes;
    while (now > peak && !n_peak_bytes.compare_exchange_weak(peak, now)) {
    }
    return reinterpret_cast<char*>(memory) + kHeader;
}

void uncounted(void* memory) {
    if (memory == nullptr) return;
    auto* block = reinterpret_cast<std::size_t*>(static_cast<char*>(memory) - kHeader);
    n_live_bytes -= *block;
    std::free(block);
}

}  // namespace

// Counts what this test program holds. Never inlined: a compiler that sees the free() of one but not the
// malloc() of the other takes them for a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) {
    if (void* memory = counted(size)) return memory;
    throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return counted(size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
    uncounted(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
    uncounted(memory);
}

namespace clasp {
namespace {

TEST(LargeSelection, NeedsNoMatrixOfAllSimilarities) {
    constexpr std::size_t kTokens = 8192;
    constexpr std::size_t kWidth = 3584;
    constexpr std::size_t kBudget = kTokens / 3;
    std::vector<float> features(kTokens * kWidth);
    std::mt19937 random(1);
    std::normal_distribution<float> noise;
    std::vector<float> row(kWidth);
    for (std::size_t token = 0; token < kTokens; ++token) {
        // Neighbours are alike.
        if (token % 4 == 0) {
            for (float& value : row) value = noise(random);
        }
        for (std::size_t c = 0; c < kWidth; ++c) {
            features[token * kWidth + c] = row[c] + 0.1F * static_cast<float>((token * 31 + c * 17) % 13);
        }
    }
    std::vector<float> scores(kTokens);
    for (float& score : scores) score = noise(random);
    SelectInput input;
    input.features = {features.data(), kTokens, kWidth, kWidth};
    input.scores = scores;
    ThreadPool pool;
    SelectWorkspace workspace;
    SelectPlan plan;
    const std::size_t before = n_live_bytes;
    n_peak_bytes = before;
    // One iteration needs the memory of five.
    const Status status =
        select(input, {.budget = kBudget, .split = 0.5, .iterations = 1}, workspace, &pool, plan);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(plan.kept.size(), kBudget);
    constexpr std::size_t kMegabyte = 1000 * 1000;
    EXPECT_LT(n_peak_bytes - before, 256 * kMegabyte);
    EXPECT_GT(n_peak_bytes - before, 100 * kMegabyte) << "the counter counts";
    std::vector<float> masses(kTokens, 1.0F);
    ASSERT_TRUE(assign_masses(input.features, {}, plan.kept, workspace, &pool, masses).ok());
    double total = 0.0;
    for (const float mass : masses) total += static_cast<double>(mass);
    EXPECT_EQ(total, static_cast<double>(kTokens));
    EXPECT_LT(n_peak_bytes - before, 256 * kMegabyte);
}

}  // namespace
}  // namespace clasp
