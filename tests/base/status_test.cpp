#include "clasp/status.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace clasp {
namespace {

Result<int> half(int value) {
    if (value % 2 != 0) return Status(Code::InvalidArgument, "value " + std::to_string(value) + " is odd");
    return value / 2;
}

Result<int> quarter(int value) {
    CLASP_ASSIGN_OR_RETURN(const int once, half(value));
    CLASP_ASSIGN_OR_RETURN(const int twice, half(once));
    return twice;
}

Status check_even(int value) {
    CLASP_RETURN_IF_ERROR(half(value).status());
    return ok_status();
}

TEST(Status, DefaultIsOk) {
    EXPECT_TRUE(Status().ok());
    EXPECT_TRUE(ok_status().with_context("reading").ok());
}

TEST(Status, ContextGoesInFrontAndKeepsTheCode) {
    const Status status = Status(Code::Corrupt, "bad magic").with_context("file.npy");
    EXPECT_EQ(status.code(), Code::Corrupt);
    EXPECT_EQ(status.message(), "file.npy: bad magic");
}

TEST(Status, EveryCodeHasItsOwnName) {
    EXPECT_EQ(code_name(Code::Ok), "ok");
    EXPECT_EQ(code_name(Code::TooLarge), "too_large");
    for (int a = 0; a <= static_cast<int>(Code::Internal); ++a) {
        for (int b = 0; b < a; ++b) {
            EXPECT_NE(code_name(static_cast<Code>(a)), code_name(static_cast<Code>(b)));
        }
    }
}

TEST(Result, CarriesValueOrStatus) {
    EXPECT_EQ(*half(4), 2);
    EXPECT_FALSE(half(3).ok());
    EXPECT_EQ(half(3).status().message(), "value 3 is odd");
    EXPECT_TRUE(half(4).status().ok());
}

TEST(ResultDeathTest, TheValueOfAnErrorEndsTheProgram) {
    Result<std::string> error = Status(Code::Corrupt, "no text");
    EXPECT_DEATH(static_cast<void>(error.value()), "");
    EXPECT_DEATH(static_cast<void>(std::as_const(error).value()), "");
    EXPECT_DEATH(static_cast<void>(std::move(error).value()), "");
    EXPECT_DEATH(static_cast<void>(error->size()), "");
    EXPECT_DEATH(static_cast<void>(std::as_const(error)->size()), "");
}

TEST(Result, MacrosPassErrorsOutwards) {
    EXPECT_EQ(*quarter(12), 3);
    EXPECT_EQ(quarter(6).status().message(), "value 3 is odd");
    EXPECT_TRUE(check_even(2).ok());
    EXPECT_EQ(check_even(5).code(), Code::InvalidArgument);
}

TEST(Result, HoldsMoveOnlyValues) {
    Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
    const std::unique_ptr<int> taken = std::move(result).value();
    EXPECT_EQ(*taken, 7);
}

}  // namespace
}  // namespace clasp
