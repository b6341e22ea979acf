// Which kernels may run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/kernel_limit.h"
#include "model/backend.h"
#include "model/kernel_set.h"

namespace clasp::model {
namespace {

// In a process of its own each: the sets are found once.
int as_limited_to(const char* name, bool (*is_right)()) {
    ::setenv(base::kKernelLimit, name, 1);
    return is_right() ? 0 : 1;
}

TEST(KernelSetDeathTest, TheEnvironmentLimitsThem) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto ended_well = testing::ExitedWithCode(0);
    EXPECT_EXIT(std::exit(as_limited_to("scalar", [] { return kernel_sets().size() == 1; })), ended_well, "");
    EXPECT_EXIT(std::exit(as_limited_to("avx2",
                                        [] {
                                            return std::all_of(
                                                kernel_sets().begin(), kernel_sets().end(),
                                                [](KernelSet set) { return set <= KernelSet::Avx2; });
                                        })),
                ended_well, "");
    EXPECT_EXIT(std::exit(as_limited_to("i8mm", [] { return wrong_kernel_limit().empty(); })), ended_well,
                "");
}

TEST(KernelSetDeathTest, AnotherWordIsRefused) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto is_refused = [] {
        const Status status = Compute::create({.n_threads = 1, .use_gpu = false}).status();
        return status.code() == Code::InvalidArgument &&
               status.message().find("scalar, avx2, vnni256, avx512, dotprod, i8mm") != std::string::npos;
    };
    EXPECT_EXIT(std::exit(as_limited_to("mmx", is_refused)), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace clasp::model
