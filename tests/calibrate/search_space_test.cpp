#include "calibrate/search_space.h"

#include <gtest/gtest.h>

#include <cmath>

namespace clasp::calibrate {
namespace {

double sum_of(const std::vector<LayerWeight>& weights) {
    double sum = 0.0;
    for (const LayerWeight& entry : weights) sum += entry.weight;
    return sum;
}

TEST(SearchSpace, DefaultsFitEveryTowerAndComeBackFromJson) {
    for (const std::size_t layers : {4U, 12U, 23U, 24U, 32U}) {
        const SearchSpace space = default_space(layers, layers - 1);
        EXPECT_EQ(joint_candidates(space).size(), space.mixes.size() * space.splits.size());
        const auto back = parse_space(base::dump_json(as_json(space)), layers);
        ASSERT_TRUE(back.ok()) << back.status().message();
        EXPECT_EQ(base::dump_json(as_json(*back)), base::dump_json(as_json(space)));
    }
    EXPECT_EQ(default_space(24, 22).mixes[2].weights, (std::vector<LayerWeight>{{5, 0.2}, {22, 0.8}}));
}

TEST(SearchSpace, RefusesWhatCannotBeTried) {
    for (const char* text : {"{}", "[]", R"({"mixes": [], "splits": [0.5]})",
                             R"({"mixes": [{"name": "x", "weights": {"30": 1}}], "splits": [0.5]})",
                             R"({"mixes": [{"name": "x", "weights": {"3": 0.5}}], "splits": [0.5]})",
                             R"({"mixes": [{"name": "x", "weights": {"3": 1}}], "splits": [1.5]})",
                             R"({"mixes": [{"name": "x", "weights": {"a": 1}}], "splits": [0.5]})",
                             R"({"mixes": [{"name": "x", "weights": {"4.44e71": 1}}], "splits": [0.5]})",
                             R"({"mixes": [{"name": "x", "weights": {"3": "1"}}], "splits": [0.5]})",
                             R"({"mixes": [{"name": "x", "weights": {"3": 4.44e71}}], "splits": [0.5]})",
                             R"({"mixes": [{"name": "x", "weights": [1]}], "splits": [0.5]})",
                             R"({"mixes": [{"name": 5, "weights": {"3": 1}}], "splits": [0.5]})",
                             R"({"mixes": {"x": {"name": "x", "weights": {"3": 1}}}, "splits": [0.5]})",
                             R"({"mixes": [{"name": "x", "weights": {"3": 1}}], "splits": ["0.5"]})",
                             R"({"mixes": [{"name": "x", "weights": {"3": 1}}], "splits": 0.5})"}) {
        EXPECT_FALSE(parse_space(text, 24).ok()) << text;
    }
}

TEST(Candidates, GoIntoAPolicyAndComeOutAgain) {
    Policy policy = find_profile("llava").value();
    const Candidate candidate{"x", {{3, 0.25}, {20, 0.75}}, 0.35};
    for (const double tau : {1.0, 2.0}) {
        policy.tau = tau;
        const Policy changed = with_candidate(policy, 5, candidate);
        ASSERT_TRUE(validate(changed).ok()) << validate(changed).message();
        const auto back = candidate_of(changed, 5);
        ASSERT_TRUE(back.ok());
        ASSERT_EQ(back->weights.size(), 2U);
        EXPECT_NEAR(back->weights[1].weight, 0.75, 1e-12);
        EXPECT_DOUBLE_EQ(back->split, 0.35);
        EXPECT_EQ(changed.classes[4].split, policy.classes[4].split);
    }
}

TEST(Candidates, NearbyOnesStayOnTheSimplex) {
    const Candidate centre{"x", {{3, 0.25}, {20, 0.75}}, 0.95};
    const auto nearby = nearby_candidates(centre, 30, 7);
    ASSERT_EQ(nearby.size(), 30U);
    for (const Candidate& candidate : nearby) {
        EXPECT_NEAR(sum_of(candidate.weights), 1.0, 1e-12);
        EXPECT_GE(candidate.split, 0.85 - 1e-3);
        EXPECT_LE(candidate.split, 1.0);
    }
    EXPECT_EQ(nearby_candidates(centre, 30, 7)[4].split, nearby[4].split);
}

TEST(Candidates, OneThatIsThereIsNotAddedTwice) {
    std::vector<Candidate> candidates = joint_candidates(default_space(24, 22));
    const std::size_t n = candidates.size();
    EXPECT_EQ(include_candidate(candidates[7], candidates), 7U);
    EXPECT_EQ(candidates.size(), n);
    EXPECT_EQ(include_candidate({"new", {{1, 1.0}}, 0.2}, candidates), 0U);
    EXPECT_EQ(candidates.size(), n + 1);
}

}  // namespace
}  // namespace clasp::calibrate
