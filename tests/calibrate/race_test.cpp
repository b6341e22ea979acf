// Races between candidates whose true quality is known.
#include "calibrate/race.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "calibrate/sampling.h"

namespace clasp::calibrate {
namespace {

// Scores of a candidate with a given chance of being right; the same question is hard for all.
ScoreBlock scores_of(std::vector<double> quality, std::uint64_t seed, std::set<std::size_t>* seen = nullptr) {
    return [quality = std::move(quality), seed, seen](
               std::span<const std::size_t> candidates,
               std::span<const std::size_t> items) -> Result<std::vector<std::vector<double>>> {
        std::vector<std::vector<double>> scores;
        for (const std::size_t candidate : candidates) {
            scores.emplace_back();
            for (const std::size_t item : items) {
                if (seen != nullptr && candidate == 0) {
                    EXPECT_TRUE(seen->insert(item).second);
                }
                std::mt19937_64 shared(seed * 1000003 + item);
                std::mt19937_64 own(seed * 7919 + item * 131 + candidate);
                const double difficulty = static_cast<double>(shared() % 1000) / 1000.0;
                const double luck = static_cast<double>(own() % 1000) / 1000.0;
                scores.back().push_back(0.8 * difficulty + 0.2 * luck < quality[candidate] ? 1.0 : 0.0);
            }
        }
        return scores;
    };
}

TEST(Race, FindsAClearWinnerWithFarFewerQuestionsThanAllOfAll) {
    std::vector<double> quality(20, 0.45);
    quality[13] = 0.85;
    std::set<std::size_t> seen;
    const auto result = race(20, 320, 0, {}, scores_of(quality, 1, &seen));
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->winner, 13U);
    EXPECT_LT(result->asked, 20U * 320U / 3U);
    EXPECT_GT(result->entries[13].mean, 0.7);
    std::size_t significant = 0;
    for (const RaceEntry& entry : result->entries)
        significant += entry.rejection == Rejection::Significant ? 1U : 0U;
    EXPECT_GE(significant, 10U);
}

TEST(Race, RarelyRejectsTheBestBySignificance) {
    std::size_t lost = 0;
    RaceOptions options;
    options.use_halving = false;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        std::vector<double> quality(10, 0.6);
        quality[3] = 0.65;
        const auto result = race(10, 160, 0, options, scores_of(quality, seed));
        ASSERT_TRUE(result.ok());
        lost += result->entries[3].rejection != Rejection::None ? 1U : 0U;
    }
    EXPECT_LE(lost, 3U);
}

TEST(Race, TiesGoToWhatWasThere) {
    const auto result = race(5, 40, 2, {}, scores_of(std::vector<double>(5, 2.0), 1));
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->winner, 2U);
    for (const RaceEntry& entry : result->entries) EXPECT_EQ(entry.scores.size(), 40U);
}

TEST(Race, OneCandidateNeedsNoQuestion) {
    const auto result = race(1, 40, 0, {}, scores_of({0.5}, 1));
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->asked, 0U);
    EXPECT_FALSE(race(0, 40, 0, {}, scores_of({}, 1)).ok());
}

TEST(Sampling, BalancedGivesEveryClassItsShareAndKeepsPicturesApart) {
    std::vector<std::size_t> classes;
    std::vector<std::size_t> clusters;
    for (std::size_t i = 0; i < 600; ++i) {
        classes.push_back(i % 10 < 7 ? 0U : i % 10 - 6U);  // class 0 is seven times as frequent
        clusters.push_back(i / 3);
    }
    const auto samples = draw_samples(classes, clusters, 4, {.per_class = 40, .held_out = 0.25, .seed = 5});
    ASSERT_TRUE(samples.ok());
    std::set<std::size_t> searched;
    std::set<std::size_t> held;
    for (std::size_t id = 0; id < 4; ++id) {
        const ClassSample& sample = (*samples)[id];
        EXPECT_EQ(sample.search.size() + sample.held_out.size(), 40U);
        EXPECT_GE(sample.held_out.size(), 4U);
        for (const std::size_t place : sample.search) {
            EXPECT_EQ(classes[place], id);
            searched.insert(clusters[place]);
        }
        for (const std::size_t place : sample.held_out) held.insert(clusters[place]);
    }
    for (const std::size_t cluster : held) EXPECT_FALSE(searched.contains(cluster));

    const auto natural = draw_samples(
        classes, clusters, 4, {.sampling = Sampling::Random, .per_class = 40, .held_out = 0.25, .seed = 5});
    ASSERT_TRUE(natural.ok());
    EXPECT_GT((*natural)[0].search.size(), 2 * (*natural)[1].search.size());
    EXPECT_FALSE(draw_samples(classes, clusters, 4, {.held_out = 1.0}).ok());
}

}  // namespace
}  // namespace clasp::calibrate
