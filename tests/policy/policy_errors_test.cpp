// Every way in which a policy can be wrong, and the exact sentence that says so.
#include <gtest/gtest.h>

#include <limits>

#include "clasp/policy.h"

namespace clasp {
namespace {

constexpr std::string_view kGood = R"({
  "clasp_policy": 1, "name": "p", "description": "d", "model": {"family": "llava", "vision_layers": 24},
  "method": "clasp", "mass": "none", "reference_tokens": "last", "stage_mode": "before", "iterations": 5,
  "schedule": {"stages": [2, 6, 15]}, "tau": 1, "default_class": 0,
  "classes": [{"id": 0, "name": "a", "weights": {"5": 0.5, "22": 0.5}, "split": 0.5},
              {"id": 1, "name": "b", "scores": {"5": 1.5}, "split": 0.5}],
  "provenance": {"by": "hand"}
})";

// The good policy with one piece of its text replaced.
Status with(std::string_view piece, std::string_view replacement) {
    std::string text(kGood);
    const std::size_t at = text.find(piece);
    EXPECT_NE(at, std::string::npos) << piece;
    text.replace(at, piece.size(), replacement);
    return parse_policy(text).status();
}

TEST(PolicyErrors, TheGoodOneIsGood) {
    EXPECT_TRUE(parse_policy(kGood).ok()) << parse_policy(kGood).status().message();
}

struct Case {
    std::string_view piece;
    std::string_view replacement;
    Code code;
    std::string_view message;
};

class PolicyTextErrors : public ::testing::TestWithParam<Case> {};

TEST_P(PolicyTextErrors, AreNamed) {
    const Case& c = GetParam();
    const Status status = with(c.piece, c.replacement);
    EXPECT_EQ(status.message(), c.message);
    EXPECT_EQ(status.code(), c.code);
}

INSTANTIATE_TEST_SUITE_P(
    Form, PolicyTextErrors,
    ::testing::Values(
        Case{"\"name\": \"p\"", "\"name\": \"p\", \"name\": \"q\"", Code::Corrupt,
             "key 'name' stands twice in one object"},
        Case{"\"5\": 0.5", "\"5\": 0.5, \"5\": 0.5", Code::Corrupt, "key '5' stands twice in one object"},
        Case{"\"tau\": 1", "\"tau\": NaN", Code::Corrupt, "not JSON at byte 259, near '\"tau\": N'"},
        Case{"\"tau\": 1", "\"tau\": 1e999", Code::Corrupt,
             "not JSON at byte 263: a number is out of range, near '1e999'"},
        Case{"\"clasp_policy\": 1, ", "", Code::InvalidArgument, "the policy lacks key 'clasp_policy'"},
        Case{"\"clasp_policy\": 1", "\"clasp_policy\": 2", Code::Unsupported,
             "policy version 2 is not supported; version 1 is"},
        Case{"\"clasp_policy\": 1", "\"clasp_policy\": -1", Code::Corrupt,
             "key 'clasp_policy' of the policy is not a whole number of at least 0"},
        Case{"\"tau\"", "\"temperature\"", Code::InvalidArgument,
             "the policy has an unknown key 'temperature'; known are clasp_policy, name, description, model, "
             "method, "
             "mass, reference_tokens, stage_mode, iterations, schedule, tau, default_class, classes, "
             "provenance"},
        Case{"\"name\": \"p\", ", "", Code::InvalidArgument, "the policy lacks key 'name'"},
        Case{"\"default_class\": 0,", "", Code::InvalidArgument, "the policy lacks key 'default_class'"},
        Case{"\"name\": \"p\"", "\"name\": 5", Code::Corrupt, "key 'name' of the policy is not a string"},
        Case{"\"description\": \"d\"", "\"description\": []", Code::Corrupt,
             "key 'description' of the policy is not a string"},
        Case{"\"tau\": 1", "\"tau\": \"1\"", Code::Corrupt, "key 'tau' of the policy is not a number"},
        Case{"\"iterations\": 5", "\"iterations\": 5.5", Code::Corrupt,
             "key 'iterations' of the policy is not a whole number of at least 0"},
        Case{"\"iterations\": 5", "\"iterations\": 4.44e71", Code::Corrupt,
             "key 'iterations' of the policy is not a whole number of at least 0"},
        Case{"\"default_class\": 0", "\"default_class\": 18446744073709551616", Code::Corrupt,
             "key 'default_class' of the policy is not a whole number of at least 0"},
        Case{"\"clasp_policy\": 1", "\"clasp_policy\": 4.44e71", Code::Corrupt,
             "key 'clasp_policy' of the policy is not a whole number of at least 0"},
        Case{"\"id\": 1", "\"id\": -4.44e71", Code::Corrupt,
             "key 'id' of class 1 is not a whole number of at least 0"},
        Case{": 24", ": 4.44e71", Code::Corrupt,
             "key 'vision_layers' of the model is not a whole number of at least 0"},
        Case{"[2, 6, 15]", "[2, 4.44e71]", Code::Corrupt,
             "key 'stages' of the schedule is not a list of whole numbers of at least 0"},
        Case{"\"default_class\": 0", "\"default_class\": \"a\"", Code::Corrupt,
             "key 'default_class' of the policy is not a whole number of at least 0"},
        Case{"{\"family\": \"llava\", \"vision_layers\": 24}", "\"llava\"", Code::Corrupt,
             "the model is not an object"},
        Case{"\"family\"", "\"kind\"", Code::InvalidArgument,
             "the model has an unknown key 'kind'; known are family, vision_layers"},
        Case{"\"llava\"", "7", Code::Corrupt, "key 'family' of the model is not a string"},
        Case{": 24", ": -24", Code::Corrupt,
             "key 'vision_layers' of the model is not a whole number of at least 0"},
        Case{"\"method\": \"clasp\"", "\"method\": null", Code::Corrupt,
             "key 'method' of the policy is not a string"},
        Case{"\"mass\": \"none\"", "\"mass\": 1", Code::Corrupt, "key 'mass' of the policy is not a string"},
        Case{"\"provenance\": {\"by\": \"hand\"}", "\"provenance\": \"hand\"", Code::InvalidArgument,
             "policy field 'provenance' is not an object"}));

INSTANTIATE_TEST_SUITE_P(
    Words, PolicyTextErrors,
    ::testing::Values(
        Case{"\"mass\": \"none\"", "\"mass\": \"all\"", Code::InvalidArgument,
             "mass 'all' is not one of none, nearest"},
        Case{"\"last\"", "\"first\"", Code::InvalidArgument,
             "reference_tokens 'first' is not one of last, instruction, post, raters"},
        Case{"\"before\"", "\"during\"", Code::InvalidArgument,
             "stage_mode 'during' is not one of before, after"},
        Case{"\"method\": \"clasp\"", "\"method\": \"clasp+\"", Code::InvalidArgument,
             "method 'clasp+' means mass 'nearest', but the policy says 'none'"},
        Case{"\"method\": \"clasp\"", "\"method\": \"a b\"", Code::InvalidArgument,
             "policy field 'method' is 'a b', not 1 to 128 of the characters A-Z a-z 0-9 . _ + -"},
        Case{"\"name\": \"p\"", "\"name\": \"\"", Code::InvalidArgument,
             "policy field 'name' is '', not 1 to 128 of the characters A-Z a-z 0-9 . _ + -"},
        Case{"\"llava\"", "\"../llava\"", Code::InvalidArgument,
             "policy field 'family' is '../llava', not 1 to 128 of the characters A-Z a-z 0-9 . _ + -"},
        Case{"\"description\": \"d\"", "\"description\": \"a\\nb\"", Code::InvalidArgument,
             "policy field 'description' is not UTF-8 text without control characters"},
        Case{": 24", ": 2000", Code::InvalidArgument,
             "policy field 'vision_layers' is 2000, more than the limit of 1024"},
        Case{"\"tau\": 1", "\"tau\": 0", Code::InvalidArgument,
             "policy field 'tau' is 0, not a finite number above 0"},
        Case{"\"iterations\": 5", "\"iterations\": 1001", Code::InvalidArgument,
             "policy field 'iterations' is 1001, more than the limit of 1000"}));

INSTANTIATE_TEST_SUITE_P(
    Schedule, PolicyTextErrors,
    ::testing::Values(
        Case{"{\"stages\": [2, 6, 15]}", "[2, 6, 15]", Code::Corrupt, "the schedule is not an object"},
        Case{"\"stages\"", "\"layers\"", Code::InvalidArgument,
             "the schedule has an unknown key 'layers'; known are stages, shape, name, forced"},
        Case{"[2, 6, 15]", "[2, \"6\"]", Code::Corrupt,
             "key 'stages' of the schedule is not a list of whole numbers of at least 0"},
        Case{"[2, 6, 15]", "5", Code::Corrupt,
             "key 'stages' of the schedule is not a list of whole numbers of at least 0"},
        Case{"[2, 6, 15]", "[6, 2]", Code::InvalidArgument,
             "policy field 'schedule': stage layers must rise, but 2 follows 6"},
        Case{"\"stages\": [2, 6, 15]", "\"name\": \"mine\"", Code::NotFound,
             "policy field 'schedule': there is no schedule 'mine'; there are paper-64, paper-128, "
             "paper-192"},
        Case{"\"stages\": [2, 6, 15]", "\"forced\": \"2:300,6\"", Code::InvalidArgument,
             "schedule piece '6' is not LAYER:COUNT, such as 2:300"},
        Case{"[2, 6, 15]", "[2, 6, 15], \"shape\": [4, 3]", Code::InvalidArgument,
             "policy field 'schedule': the shape has 2 proportions, but 3 stage layers are named"},
        Case{"[2, 6, 15]", "[2, 6, 15], \"shape\": [4, 3, 5]", Code::InvalidArgument,
             "policy field 'schedule': the shape's proportions must not rise, but 5 follows 3"},
        Case{"[2, 6, 15]", "[2, 6, 15], \"shape\": [4, 3, 0]", Code::InvalidArgument,
             "policy field 'schedule': the shape's proportion 0 is not between 1 and 16777216"},
        Case{"[2, 6, 15]", "[2, 6, 15], \"shape\": [4, 3, 2], \"name\": \"paper-64\"", Code::InvalidArgument,
             "policy field 'schedule': a shape goes with stage layers, not with forced stages or a named "
             "schedule"},
        Case{"\"stages\": [2, 6, 15]", "\"forced\": 2", Code::Corrupt,
             "key 'forced' of the schedule is not a string"},
        Case{"\"stages\": [2, 6, 15]", "\"stages\": [2], \"forced\": \"2:300\"", Code::InvalidArgument,
             "a policy's schedule has either forced stages or stage layers and a name"}));

INSTANTIATE_TEST_SUITE_P(
    Classes, PolicyTextErrors,
    ::testing::Values(Case{"\"id\": 1, ", "", Code::InvalidArgument, "class 1 lacks key 'id'"},
                      Case{"\"id\": 1", "\"id\": 2", Code::InvalidArgument,
                           "the class at place 1 has id 2; ids count from 0 in order"},
                      Case{"\"id\": 1", "\"id\": \"1\"", Code::Corrupt,
                           "key 'id' of class 1 is not a whole number of at least 0"},
                      Case{"\"name\": \"b\", ", "", Code::InvalidArgument, "class 1 lacks key 'name'"},
                      Case{"\"name\": \"b\"", "\"name\": \"\"", Code::InvalidArgument, "class 1 has no name"},
                      Case{"\"name\": \"b\"", "\"name\": \"A\"", Code::InvalidArgument,
                           "classes 0 and 1 are both named 'A' (letter case ignored)"},
                      Case{"\"name\": \"b\"", "\"name\": \"\\u0007\"", Code::InvalidArgument,
                           "the name of class 1 is not UTF-8 text without control characters"},
                      Case{"\"name\": \"b\"", "\"title\": \"b\"", Code::InvalidArgument,
                           "class 1 has an unknown key 'title'; known are id, name, weights, scores, split"},
                      Case{"\"scores\": {\"5\": 1.5}, ", "", Code::InvalidArgument,
                           "class 1 needs either weights or scores, and not both"},
                      Case{"\"scores\": {\"5\": 1.5}", "\"scores\": {\"5\": 1.5}, \"weights\": {\"5\": 1}",
                           Code::InvalidArgument, "class 1 needs either weights or scores, and not both"},
                      Case{"{\"5\": 1.5}", "[5]", Code::Corrupt,
                           "key 'scores' of class 1 is not an object of layer: number"},
                      Case{"{\"5\": 1.5}", "{\"05\": 1.5}", Code::Corrupt,
                           "key 'scores' of class 1 has key '05', which is not a layer counted from 0"},
                      Case{"{\"5\": 1.5}", "{\"five\": 1.5}", Code::Corrupt,
                           "key 'scores' of class 1 has key 'five', which is not a layer counted from 0"},
                      Case{"{\"5\": 1.5}", "{\"5\": null}", Code::Corrupt,
                           "key 'scores' of class 1 gives layer 5 something that is not a number"},
                      Case{"{\"5\": 0.5, \"22\": 0.5}", "\"22\"", Code::Corrupt,
                           "key 'weights' of class 0 is not an object of layer: number"},
                      Case{"\"22\": 0.5", "\"24\": 0.5", Code::InvalidArgument,
                           "class 0 names vision layer 24, but the last of 24 is 23"},
                      Case{"\"22\": 0.5", "\"22\": 0.4", Code::InvalidArgument,
                           "class 0 has weights that sum to 0.9, not 1"},
                      Case{"\"5\": 0.5, \"22\": 0.5", "\"5\": -0.5, \"22\": 1.5", Code::InvalidArgument,
                           "class 0 gives layer 5 the weight -0.5; weights are finite and at least 0"},
                      Case{"\"split\": 0.5", "\"split\": 1.01", Code::InvalidArgument,
                           "class 0 has split 1.01, which is not between 0 and 1"},
                      Case{"\"split\": 0.5", "\"split\": -0.01", Code::InvalidArgument,
                           "class 0 has split -0.01, which is not between 0 and 1"},
                      Case{"\"default_class\": 0", "\"default_class\": 2", Code::InvalidArgument,
                           "default_class 2 is not one of the 2 classes"}));

TEST(PolicyErrors, WholeTexts) {
    const auto message = [](std::string_view text) { return parse_policy(text).status().message(); };
    EXPECT_EQ(message("[]"), "the policy is not an object");
    EXPECT_EQ(message(""), "not JSON at byte 1, near ''");
    EXPECT_EQ(message(R"({"clasp_policy": 1, "name": "p", "default_class": 0, "classes": {}})"),
              "key 'classes' of the policy is not a list");
    EXPECT_EQ(message(R"({"clasp_policy": 1, "name": "p", "default_class": 0, "classes": []})"),
              "a policy has 1 to 256 classes, not 0");
    EXPECT_EQ(message(R"({"clasp_policy": 1, "name": "p", "default_class": 0, "classes": [3]})"),
              "class 0 is not an object");
    std::string many = R"({"clasp_policy": 1, "name": "p", "default_class": 0, "classes": [0)";
    for (int i = 0; i < 256; ++i) many += ",0";
    EXPECT_EQ(message(many + "]}"), "the policy has 257 classes, more than the limit of 256");
    EXPECT_EQ(message(std::string(2 << 20, ' ')), "JSON of 2097152 bytes is more than the limit of 1048576");
    EXPECT_EQ(message(std::string(100000, '[')), "JSON is nested deeper than the limit of 16 levels");
    EXPECT_EQ(parse_policy(std::string(100000, '[')).status().code(), Code::TooLarge);
    EXPECT_EQ(message("{\"name\": \"\xff\"}").substr(0, 16), "not JSON at byte");
}

// What JSON cannot express but a program can.
TEST(PolicyErrors, PoliciesMadeInMemory) {
    const Policy good = *parse_policy(kGood);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const auto message = [&](auto change) {
        Policy policy = good;
        change(policy);
        return validate(policy).message();
    };
    EXPECT_EQ(message([&](Policy& p) { p.tau = nan; }),
              "policy field 'tau' is nan, not a finite number above 0");
    EXPECT_EQ(message([&](Policy& p) { p.classes[0].weights[0].weight = nan; }),
              "class 0 gives layer 5 the weight nan; weights are finite and at least 0");
    EXPECT_EQ(
        message([&](Policy& p) { p.classes[1].scores[0].score = -std::numeric_limits<double>::infinity(); }),
        "class 1 gives layer 5 the score -inf; scores are finite, and a layer that is not read is left out");
    EXPECT_EQ(message([&](Policy& p) { p.classes[0].split = nan; }),
              "class 0 has split nan, which is not between 0 and 1");
    EXPECT_EQ(message([&](Policy& p) {
                  p.classes[0].weights.push_back({5, 0.0});
              }),
              "class 0 names vision layer 5 twice");
    EXPECT_EQ(message([&](Policy& p) { p.classes[0].name = "\xff"; }),
              "the name of class 0 is not UTF-8 text without control characters");
    EXPECT_EQ(message([&](Policy& p) { p.classes[0].name = std::string(200, 'x'); }),
              "the name of class 0 has 200 bytes, more than the limit of 128");
    EXPECT_EQ(message([&](Policy& p) { p.provenance = "{"; }).substr(0, 40),
              "policy field 'provenance': not JSON at b");
    EXPECT_EQ(message([&](Policy& p) {
                  p.n_vision_layers = 0;
                  p.classes[0].weights[0].layer = 1024;
              }),
              "class 0 names vision layer 1024, but the last of 1024 is 1023");
    EXPECT_EQ(message([&](Policy& p) { p.classes.resize(300, p.classes[0]); }),
              "a policy has 1 to 256 classes, not 300");
}

}  // namespace
}  // namespace clasp
