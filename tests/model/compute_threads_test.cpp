// How many threads graphs run on when the caller names a number.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "base/cpu_share.h"
#include "model/backend.h"
#include "support/paths.h"

namespace clasp::model {
namespace {

// With a list of computing processes of its own: other tests compute at the same time.
class ComputeThreads : public testing::Test {
   protected:
    void SetUp() override {
        folder_ = std::filesystem::path(test::scratch_dir()) /
                  testing::UnitTest::GetInstance()->current_test_info()->name();
        std::filesystem::create_directories(folder_);
        ASSERT_EQ(::setenv("XDG_RUNTIME_DIR", folder_.c_str(), 1), 0);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    static std::shared_ptr<Compute> compute(std::size_t n_threads) {
        auto made = Compute::create({.n_threads = n_threads, .use_gpu = false});
        EXPECT_TRUE(made.ok()) << made.status().message();
        return made.ok() ? *made : nullptr;
    }

    std::filesystem::path folder_;
};

// Threads that wait for one another spin: eight on two processors took minutes for what two do in a blink.
TEST_F(ComputeThreads, AreNoMoreThanTheProcessorsWhateverNumberIsNamed) {
    const std::size_t n_cpus = base::usable_cpus();
    const auto many = compute(2 * n_cpus);
    ASSERT_NE(many, nullptr);
    EXPECT_EQ(many->n_threads(), 2 * n_cpus);
    const Compute::Work work(*many);
    EXPECT_EQ(many->threads_now(), n_cpus);
}

TEST_F(ComputeThreads, OfANamedNumberMakeRoomForOtherProcesses) {
    const std::size_t n_cpus = base::usable_cpus();
    if (n_cpus < 2) GTEST_SKIP() << "one processor has no room to make";
    const auto all = compute(n_cpus);
    ASSERT_NE(all, nullptr);
    const Compute::Work work(*all);
    EXPECT_EQ(all->threads_now(), n_cpus);
    base::CpuShare other(n_cpus);
    other.enter();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // longer than a number holds
    EXPECT_EQ(all->threads_now(), n_cpus / 2);
    other.leave();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(all->threads_now(), n_cpus);
}

}  // namespace
}  // namespace clasp::model
