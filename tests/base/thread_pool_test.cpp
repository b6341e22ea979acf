#include "clasp/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

namespace clasp {
namespace {

TEST(ThreadPool, RunsEveryPartExactlyOnce) {
    for (const std::size_t n_threads : {1U, 2U, 5U}) {
        ThreadPool pool(n_threads);
        for (const std::size_t n_parts : {0U, 1U, 2U, 7U, 1000U}) {
            std::vector<std::atomic<int>> calls(n_parts);
            pool.run(n_parts, [&](std::size_t part) { ++calls[part]; });
            for (const auto& count : calls) EXPECT_EQ(count.load(), 1);
        }
    }
}

TEST(ThreadPool, NestedRunsHappenInPlace) {
    ThreadPool pool(3);
    std::atomic<int> total = 0;
    pool.run(4, [&](std::size_t) { pool.run(5, [&](std::size_t) { ++total; }); });
    EXPECT_EQ(total.load(), 20);
}

TEST(ThreadPool, ServesSeveralCallersInTurn) {
    ThreadPool pool(2);
    std::vector<int> sums(4, 0);
    std::vector<std::thread> callers;
    for (std::size_t caller = 0; caller < sums.size(); ++caller) {
        callers.emplace_back([&, caller] {
            for (int round = 0; round < 50; ++round) {
                std::vector<int> values(16, 0);
                pool.run(values.size(), [&](std::size_t part) { values[part] = 1; });
                sums[caller] += std::accumulate(values.begin(), values.end(), 0);
            }
        });
    }
    for (std::thread& caller : callers) caller.join();
    for (const int sum : sums) EXPECT_EQ(sum, 50 * 16);
}

TEST(ThreadPool, WithoutAPoolPartsRunInOrder) {
    std::vector<std::size_t> order;
    run_parts(nullptr, 3, [&](std::size_t part) { order.push_back(part); });
    EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2}));
}

}  // namespace
}  // namespace clasp
