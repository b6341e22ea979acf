#include "route/calibrate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace clasp::route {
namespace {

Taxonomy three_classes() {
    return *Taxonomy::parse(R"({"version": 1, "name": "t", "default": 2,
        "classes": [{"id": 0, "name": "a"}, {"id": 1, "name": "b"}, {"id": 2, "name": "rest"}]})");
}

// `n` questions for which the draft prefers class 0 by `gap`; `n_right` of them are of class 0, the others of
// class 1. The third class is out of the question.
void add(std::vector<UnseenQuestion>& unseen, std::size_t n, std::size_t n_right, float gap) {
    for (std::size_t i = 0; i < n; ++i) {
        const bool right = i < n_right;
        unseen.push_back({{gap, 0.0f, -100.0f}, {right, !right, false}, right ? 0u : 1u});
    }
}

TEST(Calibrate, ConfidenceIsHowOftenDraftsWereRight) {
    std::vector<UnseenQuestion> unseen;
    add(unseen, 1000, 600, 1.0f);
    const Calibration calibration = calibrate(unseen, three_classes());
    EXPECT_NEAR(1.0 / (1.0 + std::exp(-1.0 / static_cast<double>(calibration.temperature))), 0.6, 0.01);
}

TEST(Calibrate, AboveTheThresholdFewAreWrong) {
    std::vector<UnseenQuestion> unseen;
    add(unseen, 500, 480, 3.0f);
    add(unseen, 500, 260, 0.1f);
    const Calibration calibration = calibrate(unseen, three_classes());
    const auto confidence = [&](double gap) {
        return 1.0 / (1.0 + std::exp(-gap / static_cast<double>(calibration.temperature)));
    };
    EXPECT_GT(static_cast<double>(calibration.threshold), confidence(0.1));
    EXPECT_LE(static_cast<double>(calibration.threshold), confidence(3.0));
}

TEST(Calibrate, WhoIsHardlyEverWrongMayAlwaysAct) {
    std::vector<UnseenQuestion> unseen;
    add(unseen, 500, 500, 3.0f);
    add(unseen, 500, 480, 0.5f);
    const Calibration calibration = calibrate(unseen, three_classes());
    EXPECT_LE(static_cast<double>(calibration.threshold),
              1.0 / (1.0 + std::exp(-0.5 / static_cast<double>(calibration.temperature))));
}

// Claims of the default class: ten doubtful ones are wrong, the sure ones never.
TEST(Calibrate, DefaultIsClaimedWhereItIsBeyondDoubtOnly) {
    std::vector<UnseenQuestion> unseen;
    add(unseen, 1000, 1000, 3.0f);
    for (int i = 0; i < 400; ++i) unseen.push_back({{-100.0f, 0.0f, 4.0f}, {false, false, true}, 2});
    for (int i = 0; i < 40; ++i) {
        const bool right = i >= 10;
        unseen.push_back({{-100.0f, 0.0f, 2.0f}, {false, !right, right}, right ? 2u : 1u});
    }
    const Calibration calibration = calibrate(unseen, three_classes());
    const auto confidence = [&](double gap) {
        return 1.0 / (1.0 + std::exp(-gap / static_cast<double>(calibration.temperature)));
    };
    EXPECT_GT(static_cast<double>(calibration.default_threshold), confidence(2.0));
    EXPECT_LE(static_cast<double>(calibration.default_threshold), confidence(4.0));
    EXPECT_GE(calibration.default_threshold, calibration.threshold);
}

TEST(Calibrate, WithoutQuestionsNothingIsChanged) {
    const Calibration calibration = calibrate({}, three_classes());
    EXPECT_EQ(calibration.temperature, 1.0f);
    EXPECT_EQ(calibration.threshold, 0.5f);
    EXPECT_EQ(calibration.default_threshold, 0.5f);
}

}  // namespace
}  // namespace clasp::route
