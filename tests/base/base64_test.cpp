#include "base/base64.h"

#include <gtest/gtest.h>

namespace clasp::base {
namespace {

TEST(Base64, DecodesAndRefuses) {
    EXPECT_EQ(decode_base64("TWFu").value(), "Man");
    EXPECT_EQ(decode_base64("TWE=").value(), "Ma");
    EXPECT_EQ(decode_base64("TQ").value(), "M");
    EXPECT_EQ(decode_base64("").value(), "");
    EXPECT_EQ(decode_base64("TW*u").status().code(), Code::Corrupt);
    EXPECT_EQ(decode_base64("TWFuT").status().code(), Code::Corrupt);
}

}  // namespace
}  // namespace clasp::base
