// Whole files, text helpers, strict JSON and half-precision numbers.
#include "base/file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "base/float_convert.h"
#include "base/json.h"
#include "base/text.h"
#include "support/paths.h"

namespace clasp::base {
namespace {

namespace fs = std::filesystem;

TEST(File, RoundTripReplacesTheOldFile) {
    const fs::path folder = fs::path(test::scratch_dir()) / "files";
    fs::remove_all(folder);
    fs::create_directories(folder);
    const std::string path = (folder / "x.bin").string();
    const std::string bytes("a\0b\n", 4);
    ASSERT_TRUE(write_file_atomic(path, "old").ok());
    ASSERT_TRUE(write_file_atomic(path, bytes).ok());
    EXPECT_EQ(*read_file(path, 4), bytes);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1)
        << "nothing is left over";
}

TEST(File, Errors) {
    const std::string folder = test::scratch_dir();
    EXPECT_EQ(read_file("absent", 10).status().message(), "cannot open 'absent': No such file or directory");
    EXPECT_EQ(read_file("absent", 10).status().code(), Code::NotFound);
    EXPECT_EQ(read_file(folder, 10).status().code(), Code::InvalidArgument);
    const std::string path = folder + "/five.bin";
    ASSERT_TRUE(write_file_atomic(path, "12345").ok());
    EXPECT_EQ(read_file(path, 4).status().code(), Code::TooLarge);
    EXPECT_NE(read_file(path, 4).status().message().find("has 5 bytes, more than the limit of 4"),
              std::string::npos);
    EXPECT_EQ(write_file_atomic("absent-folder/x", "y").message(),
              "cannot write 'absent-folder/x': No such file or directory");
    EXPECT_EQ(write_file_atomic(folder, "y").code(), Code::Unavailable)
        << "a folder cannot be replaced by a file";
}

TEST(Text, Numbers) {
    EXPECT_EQ(format_number(188.15625, 1), "188.2");
    EXPECT_EQ(format_number(64.0), "64");
    EXPECT_EQ(format_number(-0.5), "-0.5");
    EXPECT_EQ(format_number(100.0, 0), "100");
    EXPECT_EQ(format_number(1e300).size(), 301u);
    EXPECT_EQ(format_exact(0.1), "0.1");
    EXPECT_EQ(*parse_size("42"), 42u);
    for (const char* text : {"", "-1", "+1", " 1", "1 ", "1.0", "99999999999999999999"}) {
        EXPECT_FALSE(parse_size(text).has_value()) << text;
    }
    EXPECT_EQ(*parse_double("-1.5e3"), -1500.0);
    for (const char* text : {"", "1x", "nan", "inf", "1e999", " 1"})
        EXPECT_FALSE(parse_double(text).has_value()) << text;
}

TEST(Text, Pieces) {
    EXPECT_EQ(split("a,,b", ','), (std::vector<std::string_view>{"a", "", "b"}));
    EXPECT_EQ(split("", ','), (std::vector<std::string_view>{""}));
    EXPECT_EQ(in_quotes("a\n\xff"), "'a\\x0a\\xff'");
    EXPECT_EQ(in_quotes(std::string(100, 'x')).size(), 64u + 5u);
    EXPECT_EQ(lower("AbC-Z"), "abc-z");
    EXPECT_EQ(join({"a", "b"}), "a, b");
}

TEST(Json, DumpsWhatIsNotUtf8WithoutThrowing) {
    EXPECT_EQ(dump_json(nlohmann::json("\xff")), "\"\xef\xbf\xbd\"");
    EXPECT_TRUE(parse_json(R"({"a": {"b": 1}, "c": {"b": 2}})", {}).ok()) << "one key in two objects";
    EXPECT_EQ(parse_json("[1,]", {}).status().code(), Code::Corrupt);
    EXPECT_EQ(parse_json("1 2", {}).status().code(), Code::Corrupt);
}

TEST(Half, EveryPatternSurvivesARoundTrip) {
    for (std::uint32_t i = 0; i < 65536; ++i) {
        const auto half = static_cast<std::uint16_t>(i);
        const float value = half_to_float(half);
        if (std::isnan(value)) {
            EXPECT_TRUE((half & 0x7c00U) == 0x7c00U && (half & 0x3ffU) != 0);
            EXPECT_TRUE(std::isnan(half_to_float(float_to_half(value))));
            continue;
        }
        ASSERT_EQ(float_to_half(value), half);
    }
    EXPECT_EQ(half_to_float(0x3c00), 1.0F);
    EXPECT_EQ(half_to_float(0x0001), std::ldexp(1.0F, -24));
    EXPECT_EQ(half_to_float(0xfc00), -std::numeric_limits<float>::infinity());
}

TEST(Half, RoundsToNearestEven) {
    EXPECT_EQ(float_to_half(1.0F + std::ldexp(1.0F, -11)), 0x3c00);
    EXPECT_EQ(float_to_half(1.0F + 3 * std::ldexp(1.0F, -11)), 0x3c02);
    EXPECT_EQ(float_to_half(65519.0F), 0x7bff);
    EXPECT_EQ(float_to_half(65520.0F), 0x7c00);
    EXPECT_EQ(float_to_half(1e30F), 0x7c00);
    EXPECT_EQ(float_to_half(-std::ldexp(1.0F, -25)), 0x8000);
    EXPECT_EQ(float_to_half(1.5F * std::ldexp(1.0F, -25)), 0x0001);
    EXPECT_EQ(bfloat_to_float(0x3f80), 1.0F);
}

}  // namespace
}  // namespace clasp::base
