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

TEST(Calibrate, TheThresholdLiesWhereActingBeginsToPay) {
    std::vector<UnseenQuestion> unseen;
    add(unseen, 500, 480, 3.0f);
    add(unseen, 500, 260, 0.1f);  // wrong in 48 of 100, falling back costs only 44
    const Calibration calibration = calibrate(unseen, three_classes());
    const auto confidence = [&](double gap) {
        return 1.0 / (1.0 + std::exp(-gap / static_cast<double>(calibration.temperature)));
    };
    EXPECT_GT(static_cast<double>(calibration.threshold), confidence(0.1));
    EXPECT_LE(static_cast<double>(calibration.threshold), confidence(3.0));
}

TEST(Calibrate, WithoutQuestionsNothingIsChanged) {
    const Calibration calibration = calibrate({}, three_classes());
    EXPECT_EQ(calibration.temperature, 1.0f);
    EXPECT_EQ(calibration.threshold, 0.5f);
}

}  // namespace
}  // namespace clasp::route
