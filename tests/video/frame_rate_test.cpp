#include "video/frame_rate.h"

#include <gtest/gtest.h>

#include <limits>

namespace clasp::video {
namespace {

constexpr double kNtsc = 30000.0 / 1001.0;

TEST(FrameRate, WhatTheFileSaysIsTakenWhereItGivesTheLength) {
    EXPECT_EQ(frame_rate(120, 5.0, 24.0), 24.0);
    EXPECT_EQ(frame_rate(120, 4.999, 24.0), 24.0) << "milliseconds";
    EXPECT_EQ(frame_rate(24, 1.0015, 24.0), 24.0);
    EXPECT_EQ(frame_rate(2997, 2997 / kNtsc, kNtsc), kNtsc);
    EXPECT_EQ(frame_rate(300, 10.01, kNtsc), kNtsc);
}

TEST(FrameRate, WhatItSaysOtherwiseIsNot) {
    EXPECT_DOUBLE_EQ(frame_rate(60, 10.0, 100.0), 6.0);
    EXPECT_DOUBLE_EQ(frame_rate(300, 10.01, 30.0), 300 / 10.01) << "29.97 is not 30";
    EXPECT_DOUBLE_EQ(frame_rate(57, 10.0, 0.0), 5.7);
}

TEST(FrameRate, AlmostWholeRatesAreWhole) {
    EXPECT_EQ(frame_rate(150, 4.999, 0.0), 30.0);
    EXPECT_EQ(frame_rate(150, 5.001, 23.0), 30.0);
    EXPECT_NE(frame_rate(150, 5.003, 0.0), 30.0);
}

TEST(FrameRate, IsNeverNothing) {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(frame_rate(1, 0.0, 0.0), 1.0);
    EXPECT_EQ(frame_rate(1, 0.0, 25.0), 25.0);
    EXPECT_EQ(frame_rate(1, 0.0, kNan), 1.0);
    EXPECT_EQ(frame_rate(10, kNan, kNan), 1.0);
    EXPECT_DOUBLE_EQ(frame_rate(1, 20000.0, 0.0), 1 / 20000.0);
}

}  // namespace
}  // namespace clasp::video
