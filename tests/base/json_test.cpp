// The value type alone, and its text against nlohmann/json: the same bytes out, the same documents in. This
// and src/base/json_text.cpp are the only files that include it.
#include "base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace clasp::base {
namespace {

using Other = nlohmann::ordered_json;

constexpr JsonLimits kWide{.max_bytes = std::size_t{1} << 26U, .max_depth = 1000};

Json parsed(std::string_view text, KeyOrder order = KeyOrder::Sorted) {
    const auto value = parse_json(text, kWide, order);
    EXPECT_TRUE(value.ok()) << text << ": " << value.status().message();
    return value.ok() ? *value : Json("not parsed");
}

std::string other_dump(const Other& value, int indent = -1, bool ascii_only = false) {
    return value.dump(indent, ' ', ascii_only, Other::error_handler_t::replace);
}

// The same random document in both types.
class Documents {
   public:
    explicit Documents(std::uint64_t seed) : random_(seed) {}

    std::pair<Json, Other> value(int depth) {
        switch (below(depth > 0 ? 9 : 7)) {
            case 0: return {Json(), Other()};
            case 1: {
                const bool truth = below(2) == 1;
                return {truth, truth};
            }
            case 2: {
                const auto number = static_cast<std::int64_t>(random_());
                return {number >> below(64), number >> last_};
            }
            case 3: {
                const std::uint64_t number = random_();
                return {number >> below(64), number >> last_};
            }
            case 4: {
                const double number = real();
                return {number, number};
            }
            case 5:
            case 6: {
                const std::string text = string();
                return {text, text};
            }
            case 7: return list(depth);
            default: return object(depth);
        }
    }

    // Any bits that are a finite number, or a short decimal.
    double real() {
        if (below(2) == 0) return static_cast<double>(below(2000)) / 100.0 - 10.0;
        while (true) {
            const std::uint64_t bits = random_();
            double number = 0.0;
            std::memcpy(&number, &bits, sizeof number);
            if (std::isfinite(number)) return number;
        }
    }

    // ASCII, control characters, other scripts, and bytes that are no UTF-8.
    std::string string() {
        static const std::vector<std::string> kPieces = {"a",
                                                         "B",
                                                         " ",
                                                         "\"",
                                                         "\\",
                                                         "/",
                                                         "\n",
                                                         "\t",
                                                         "\x01",
                                                         "\x7f",
                                                         "\xc3\xa9",
                                                         "\xe2\x82\xac",
                                                         "\xf0\x9f\x98\x80",
                                                         "\xff",
                                                         "\xc3",
                                                         "\xe2\x82",
                                                         "\xf0\x9f",
                                                         "\x80",
                                                         "\xed\xa0\x80",
                                                         "\xc0\xaf"};
        std::string text;
        const bool is_valid = below(2) == 0;
        for (std::uint64_t n = below(8); n > 0; --n) text += kPieces[below(is_valid ? 13 : kPieces.size())];
        return text;
    }

    std::uint64_t below(std::uint64_t end) {
        last_ = random_() % end;
        return last_;
    }

   private:
    std::pair<Json, Other> list(int depth) {
        Json ours = Json::array();
        Other theirs = Other::array();
        for (std::uint64_t n = below(5); n > 0; --n) {
            auto [a, b] = value(depth - 1);
            ours.push_back(std::move(a));
            theirs.push_back(std::move(b));
        }
        return {std::move(ours), std::move(theirs)};
    }

    std::pair<Json, Other> object(int depth) {
        Json ours = Json::object();
        Other theirs = Other::object();
        for (std::uint64_t n = below(5); n > 0; --n) {
            const std::string key = string();
            auto [a, b] = value(depth - 1);
            ours[key] = std::move(a);
            theirs[key] = std::move(b);
        }
        return {std::move(ours), std::move(theirs)};
    }

    std::mt19937_64 random_;
    std::uint64_t last_ = 0;
};

bool is_clean(const std::string& text) {
    return text.find("\xef\xbf\xbd") == std::string::npos;
}

TEST(Json, WritesTheBytesOfNlohmannAndReadsThemBack) {
    Documents documents(7);
    std::size_t n_clean = 0;
    for (int i = 0; i < 4000; ++i) {
        const auto [ours, theirs] = documents.value(4);
        const std::string text = dump_json(ours);
        ASSERT_EQ(text, other_dump(theirs));
        ASSERT_EQ(dump_json(ours, 2), other_dump(theirs, 2));
        ASSERT_EQ(dump_json(ours, 0), other_dump(theirs, 0));
        ASSERT_EQ(dump_json_ascii(ours), other_dump(theirs, -1, true));
        if (!is_clean(text)) continue;  // replaced bytes may make two keys one
        ++n_clean;
        ASSERT_EQ(parsed(text), ours) << text;
        ASSERT_EQ(parsed(dump_json(ours, 2)), ours) << text;
        ASSERT_EQ(parsed(dump_json_ascii(ours)), ours) << text;
        ASSERT_EQ(dump_json(parsed(text, KeyOrder::AsWritten)), text);
        ASSERT_EQ(dump_json(parsed(text)), nlohmann::json::parse(text).dump());
    }
    EXPECT_GT(n_clean, 1000U);
}

TEST(Json, WritesEveryDoubleAsNlohmannDoes) {
    Documents documents(11);
    for (int i = 0; i < 20000; ++i) {
        const double number = documents.real();
        const std::string text = dump_json(number);
        ASSERT_EQ(text, Other(number).dump());
        ASSERT_EQ(parsed(text).get<double>(), number);
    }
    const std::map<std::string, double> known = {
        {"1.0", 1.0},   {"0.1", 0.1},       {"1e+20", 1e20},
        {"-0.0", -0.0}, {"5e-324", 5e-324}, {"1.7976931348623157e+308", std::numeric_limits<double>::max()},
        {"1e-05", 1e-5}};
    for (const auto& [text, number] : known) EXPECT_EQ(dump_json(number), text);
    EXPECT_TRUE(std::signbit(parsed("-0.0").get<double>().value()));
    EXPECT_EQ(dump_json(0.1F), Other(0.1F).dump());
    EXPECT_EQ(dump_json(std::numeric_limits<double>::quiet_NaN()), "null");
    EXPECT_EQ(dump_json(std::numeric_limits<double>::infinity()), "null");
}

TEST(Json, WholeNumbersKeepAllTheirBits) {
    for (const char* text : {"0", "-1", "9223372036854775807", "-9223372036854775808", "9223372036854775808",
                             "18446744073709551615"}) {
        EXPECT_EQ(dump_json(parsed(text)), text);
        EXPECT_TRUE(parsed(text).is_number_integer()) << text;
        EXPECT_EQ(parsed(text).is_number_unsigned(), text[0] != '-') << text;
    }
    EXPECT_FALSE(parsed("-0").is_number_unsigned());
    for (const char* text : {"18446744073709551616", "-9223372036854775809"}) {
        EXPECT_TRUE(parsed(text).is_number_float()) << text;
    }
    EXPECT_NE(Json(std::numeric_limits<std::uint64_t>::max()), Json(-1));
    EXPECT_NE(parsed("9007199254740993"), parsed("9007199254740992.0"));
}

TEST(Json, ANumberThatDoesNotFitIsNotGiven) {
    EXPECT_EQ(parsed("255").get<std::uint8_t>(), 255);
    EXPECT_EQ(parsed("256").get<std::uint8_t>(), std::nullopt);
    EXPECT_EQ(parsed("-1").get<std::size_t>(), std::nullopt);
    EXPECT_EQ(parsed("-128").get<std::int8_t>(), -128);
    EXPECT_EQ(parsed("9223372036854775808").get<std::int64_t>(), std::nullopt);
    EXPECT_EQ(parsed("9223372036854775808").get<std::uint64_t>(), std::uint64_t{1} << 63U);
    for (const char* text : {"4.44e71", "-4.44e71", "0.5", "1e19", "-1e19", "9223372036854775808.0"}) {
        EXPECT_EQ(parsed(text).get<std::int64_t>(), std::nullopt) << text;
    }
    for (const char* text : {"4.44e71", "-1.0", "0.5", "18446744073709551616", "1e20"}) {
        EXPECT_EQ(parsed(text).get<std::uint64_t>(), std::nullopt) << text;
    }
    EXPECT_EQ(parsed("-9223372036854775808.0").get<std::int64_t>(), std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(parsed("1e2").get<int>(), 100);
    EXPECT_EQ(parsed("-0.0").get<unsigned>(), 0U);
    EXPECT_EQ(Json(std::nan("")).get<int>(), std::nullopt);
    int kept = 5;
    EXPECT_FALSE(parsed("true").get_to(kept));
    EXPECT_EQ(kept, 5);
}

TEST(Json, AValueOfAnotherTypeIsNotGiven) {
    const Json text = "3";
    EXPECT_EQ(text.get<int>(), std::nullopt);
    EXPECT_EQ(text.get<double>(), std::nullopt);
    EXPECT_EQ(text.get<bool>(), std::nullopt);
    EXPECT_EQ(Json(1).get<bool>(), std::nullopt);
    EXPECT_EQ(Json(true).get<double>(), std::nullopt);
    EXPECT_EQ(Json(3).get<std::string>(), std::nullopt);
    EXPECT_EQ(Json(3).as_string(), nullptr);
    EXPECT_EQ(Json(3).get<double>(), 3.0);
    EXPECT_EQ((Json{1, "two"}.get<std::vector<int>>()), std::nullopt);
    EXPECT_EQ((Json{1, 2}.get<std::vector<int>>()), (std::vector<int>{1, 2}));
    EXPECT_EQ(Json("x").get<std::vector<std::string>>(), std::nullopt);
}

TEST(Json, WhatIsNotThereReadsAsNull) {
    const Json value = {{"a", {{"b", {1, 2}}}}};
    EXPECT_EQ(value["a"]["b"][1], 2);
    EXPECT_TRUE(value["a"]["b"][2].is_null());
    EXPECT_TRUE(value["x"]["y"][3].is_null());
    EXPECT_TRUE(value["a"]["b"]["c"].is_null());
    const Json number = 3;
    EXPECT_TRUE(number[0].is_null());
    EXPECT_TRUE(number["a"].is_null());
    EXPECT_EQ(value.find("x"), nullptr);
    EXPECT_EQ(Json("text").size(), 0U);
    EXPECT_EQ(Json("text").begin(), Json("text").end());
    EXPECT_TRUE(Json("text").items().empty());
    EXPECT_TRUE(Json().empty() && Json::array().empty() && Json::object().empty());
    EXPECT_FALSE(Json("").empty() || Json(0).empty() || Json(false).empty());
}

TEST(Json, BracesAreAnObjectWhereAllElementsArePairs) {
    EXPECT_EQ(dump_json({{"b", 1}, {"a", {1, 2}}}), R"({"b":1,"a":[1,2]})");
    EXPECT_EQ(dump_json({{"a", {"b", "c"}}}), R"({"a":["b","c"]})");
    EXPECT_EQ(dump_json({{"a", {{"b", "c"}}}}), R"({"a":{"b":"c"}})");
    EXPECT_EQ(dump_json({{{"a", 1}}, {{"a", 2}}}), R"([{"a":1},{"a":2}])");
    EXPECT_EQ(dump_json({1, nullptr, true, "x", 0.5}), R"([1,null,true,"x",0.5])");
    EXPECT_EQ(dump_json(Json::array()), "[]");
    EXPECT_EQ(dump_json(Json::object(), 2), "{}");
    EXPECT_EQ(dump_json(Json::array({Json::array({"a", 1})})), R"([["a",1]])");
    EXPECT_EQ(dump_json(std::vector<std::string_view>{"a", "b"}), R"(["a","b"])");
}

TEST(Json, GrowsFromNull) {
    Json value;
    value["b"]["c"] = 1;
    value["a"].push_back("x");
    value["a"].push_back({{"y", 2}});
    value["b"]["c"] = 3;
    value["a"][0] = nullptr;
    EXPECT_EQ(dump_json(value), R"({"b":{"c":3},"a":[null,{"y":2}]})");
    EXPECT_EQ(value["a"][1]["y"], 2);
    std::ostringstream out;
    out << value;
    EXPECT_EQ(out.str(), dump_json(value));
}

TEST(Json, EqualWhateverTheOrderOfMembers) {
    const Json a = {{"x", 1}, {"y", {1, 2}}};
    const Json b = {{"y", {1, 2}}, {"x", 1.0}};
    EXPECT_EQ(a, b);
    EXPECT_NE(a, Json({{"x", 1}, {"z", {1, 2}}}));
    EXPECT_NE(a, Json({{"x", 1}}));
    EXPECT_NE(Json({1, 2}), Json({2, 1}));
    EXPECT_NE(Json(), Json(false));
    EXPECT_NE(Json("1"), Json(1));
    EXPECT_EQ(Json("text"), "text");
    EXPECT_EQ(std::string("text"), Json("text"));
}

TEST(Json, KeysComeSortedOrAsWritten) {
    const std::string text = R"({"b":1,"a":{"d":2,"c":3}})";
    EXPECT_EQ(dump_json(parsed(text)), R"({"a":{"c":3,"d":2},"b":1})");
    EXPECT_EQ(dump_json(parsed(text, KeyOrder::AsWritten)), text);
    EXPECT_EQ(parsed(text, KeyOrder::AsWritten)["a"]["c"], 3);
}

TEST(Json, NestingIsBounded) {
    const auto nested = [](std::size_t depth) {
        return std::string(depth, '[') + "1" + std::string(depth, ']');
    };
    EXPECT_TRUE(parse_json(nested(16), {}).ok());
    EXPECT_EQ(parse_json(nested(17), {}).status().message(),
              "JSON is nested deeper than the limit of 16 levels");
    EXPECT_EQ(parse_json(nested(17), {}).status().code(), Code::TooLarge);
    EXPECT_EQ(dump_json(parsed(nested(1000))), nested(1000));
    EXPECT_EQ(parse_json(std::string(100000, '['), {}).status().code(), Code::TooLarge);
    EXPECT_EQ(parse_json("[1, 2]", {.max_bytes = 5}).status().message(),
              "JSON of 6 bytes is more than the limit of 5");
}

TEST(Json, AKeyStandsOnce) {
    EXPECT_EQ(parse_json(R"({"a": 1, "b": 2, "a": 3, oops)", {}).status().message(),
              "key 'a' stands twice in one object");
    EXPECT_TRUE(parse_json(R"({"a": {"b": 1}, "c": {"b": 2}})", {}).ok()) << "one key in two objects";
    EXPECT_TRUE(parse_json(R"({"a": {"a": 1}})", {}).ok());
    // In the n-th place, for objects with few keys and with many.
    for (const int n : {1, 23, 24, 25, 26, 200}) {
        std::string text = "{";
        for (int i = 0; i < n; ++i) text += "\"k" + std::to_string(i) + "\": 0, ";
        for (const int again : {0, n / 2, n - 1}) {
            const std::string key = "k" + std::to_string(again);
            EXPECT_EQ(parse_json(text + "\"" + key + "\": 1}", {}).status().message(),
                      "key '" + key + "' stands twice in one object");
        }
        EXPECT_EQ(parsed(text + "\"new\": 1}").size(), static_cast<std::size_t>(n) + 1);
    }
    EXPECT_FALSE(parse_json(R"({"a": 1, "\u0061": 2})", {}).ok()) << "the same key in other letters";
}

TEST(Json, AnObjectOfManyKeysIsReadAndSearched) {
    std::string text = "{";
    for (int i = 99999; i >= 0; --i) text += "\"" + std::to_string(i) + "\":" + std::to_string(i) + ",";
    text.back() = '}';
    const Json value = parsed(text);
    ASSERT_EQ(value.size(), 100000U);
    for (int i = 0; i < 100000; ++i) ASSERT_EQ(value[std::to_string(i)], i);
    EXPECT_FALSE(value.contains("100000"));
    EXPECT_EQ(value, parsed(text));
    EXPECT_EQ(dump_json(parsed(text, KeyOrder::AsWritten)), text);
}

TEST(Json, SurrogatesAreReadAsPairsOnly) {
    EXPECT_EQ(parsed(R"("\ud83d\ude00")"), "\xf0\x9f\x98\x80");
    EXPECT_EQ(parsed(R"("\u00e9\u0000")"), std::string("\xc3\xa9\0", 3));
    for (const char* text : {R"("\ud83d")", R"("\ude00")", R"("\ud83d\u0061")", R"("\ud83dx")"}) {
        EXPECT_EQ(parse_json(text, {}).status().code(), Code::Corrupt) << text;
    }
    EXPECT_EQ(dump_json_ascii("\xf0\x9f\x98\x80\xff"), R"("\ud83d\ude00\ufffd")");
}

TEST(Json, WhatIsNoJsonIsRefusedWithItsPlace) {
    EXPECT_EQ(parse_json("[1,]", {}).status().message(), "not JSON at byte 4, near '1,]'");
    EXPECT_EQ(parse_json("1e400", {}).status().message(),
              "not JSON at byte 5: a number is out of range, near '1e400'");
    for (const char* text :
         {"", "1 2", "{", "\"\xff\"", "\"\xc3\"", "nan", "01", "+1", "'a'", "{1: 2}", "\"\n\""}) {
        EXPECT_EQ(parse_json(text, {}).status().code(), Code::Corrupt) << text;
    }
    EXPECT_EQ(dump_json("\xff"), "\"\xef\xbf\xbd\"");
}

}  // namespace
}  // namespace clasp::base
