// How many threads a process takes: what it may use, what others leave, and what a busy machine allows.
#include "base/cpu_share.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/control_groups.h"
#include "support/paths.h"

namespace clasp::base {
namespace {

namespace fs = std::filesystem;

std::string scratch(const std::string& name) {
    return std::string(test::scratch_dir()) + "/" + name + "-" + std::to_string(::getpid());
}

void write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
}

TEST(CpuShare, TheAffinityMaskCounts) {
    std::size_t inside = 0;
    std::thread([&inside] {
        cpu_set_t all;
        ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
        std::size_t first = 0;
        while (!CPU_ISSET(first, &all)) ++first;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(first, &one);
        ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
        inside = usable_cpus();
    }).join();
    EXPECT_EQ(inside, 1U);
    EXPECT_GE(usable_cpus(), 1U);
}

TEST(CpuShare, TheSmallestQuotaOfAllGroupsCounts) {
    const fs::path root = scratch("groups");
    fs::remove_all(root);
    EXPECT_FALSE(cpu_quota("0::/a/b\n", root.string()).has_value());
    write(root / "a/b/cpu.max", "max 100000\n");
    EXPECT_FALSE(cpu_quota("0::/a/b\n", root.string()).has_value());
    write(root / "a/cpu.max", "250000 100000\n");
    EXPECT_EQ(cpu_quota("0::/a/b\n", root.string()).value_or(0.0), 2.5);
    write(root / "a/b/cpu.max", "50000 100000\n");
    EXPECT_EQ(cpu_quota("0::/a/b\n", root.string()).value_or(0.0), 0.5);
    // Inside a container the path is that of the host, and the mounted folder is the group itself.
    write(root / "cpu.max", "150000 100000\n");
    EXPECT_EQ(cpu_quota("0::/host/path\n", root.string()).value_or(0.0), 1.5);
    write(root / "cpu/x/cpu.cfs_quota_us", "300000\n");
    write(root / "cpu/x/cpu.cfs_period_us", "100000\n");
    write(root / "cpu/cpu.cfs_quota_us", "-1\n");
    write(root / "cpu/cpu.cfs_period_us", "100000\n");
    EXPECT_EQ(cpu_quota("5:memory:/y\n3:cpuacct,cpu:/x\n", root.string()).value_or(0.0), 3.0);
    for (const char* odd : {"", "x", "::", "0:", "0::", "1:cpu"}) {
        static_cast<void>(cpu_quota(odd, "/nowhere"));
    }
    write(root / "a/memory.max", "1000000\n");
    write(root / "a/b/memory.max", "max\n");
    EXPECT_EQ(memory_quota("0::/a/b\n", root.string()).value_or(0.0), 1e6);
    fs::remove_all(root);
}

TEST(CpuShare, ProcessesThatComputeShareTheProcessors) {
    const std::string path = scratch("cpus");
    CpuShare first(8, path);
    CpuShare second(8, path);
    CpuShare third(8, path);
    first.enter();
    EXPECT_EQ(first.threads(), 8U);
    second.enter();
    EXPECT_EQ(first.threads(), 4U);
    EXPECT_EQ(second.threads(), 4U);
    third.enter();
    EXPECT_EQ(first.threads(), 2U);
    second.leave();
    third.leave();
    EXPECT_EQ(first.threads(), 8U) << "one that waits takes nothing";
    first.leave();
    fs::remove(path);
}

TEST(CpuShare, MoreProcessesThanProcessorsGetOneThreadEach) {
    const std::string path = scratch("cpus-many");
    std::vector<std::unique_ptr<CpuShare>> shares;
    for (int i = 0; i < 8; ++i) {
        shares.push_back(std::make_unique<CpuShare>(2, path));
        shares.back()->enter();
    }
    for (const auto& share : shares) EXPECT_EQ(share->threads(), 1U);
    shares.clear();
    CpuShare alone(2, path);
    alone.enter();
    EXPECT_EQ(alone.threads(), 2U) << "places end with those who held them";
    fs::remove(path);
}

TEST(CpuShare, WithoutAFileNothingIsShared) {
    CpuShare share(3, "/nowhere/at/all");
    share.enter();
    EXPECT_EQ(share.threads(), 3U);
    share.leave();
    const std::string link = scratch("cpus-link");
    fs::create_symlink("/dev/null", link);
    CpuShare other(3, link);
    other.enter();
    EXPECT_EQ(other.threads(), 3U) << "a link that someone else may have laid is not followed";
    fs::remove(link);
}

TEST(ThreadGovernor, WaitingHalvesTheThreadsAndTheyComeBack) {
    using Clock = ThreadGovernor::Clock;
    using std::chrono::seconds;
    const Clock::time_point start = Clock::now();
    ThreadGovernor governor;
    EXPECT_EQ(governor.threads(8, std::nullopt, start), 8U);
    EXPECT_EQ(governor.threads(8, 0.01, start), 8U);
    EXPECT_EQ(governor.threads(8, 0.5, start), 4U);
    EXPECT_EQ(governor.threads(8, 0.5, start), 2U);
    EXPECT_EQ(governor.threads(8, 0.5, start), 1U);
    EXPECT_EQ(governor.threads(8, 0.9, start), 1U);
    EXPECT_EQ(governor.threads(8, 0.0, start), 1U) << "not at once";
    EXPECT_EQ(governor.threads(8, 0.0, start + seconds(60)), 2U);
    EXPECT_EQ(governor.threads(8, 0.0, start + seconds(60)), 4U);
    EXPECT_EQ(governor.threads(3, 0.0, start + seconds(60)), 3U) << "never above the share";
}

}  // namespace
}  // namespace clasp::base
