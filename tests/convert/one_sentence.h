// What every refusal must be.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "clasp/status.h"

namespace clasp::test {

// One sentence: something, no line breaks, no full stop at its end.
inline void expect_sentence(const Status& status, const std::string& wanted) {
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.message(), testing::HasSubstr(wanted));
    EXPECT_EQ(status.message().find('\n'), std::string::npos) << status.message();
    EXPECT_NE(status.message().back(), '.') << status.message();
    EXPECT_LT(status.message().size(), 600U);
}

}  // namespace clasp::test
