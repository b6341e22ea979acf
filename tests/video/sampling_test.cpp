// Which frames of a clip are seen: the tables of the model families' authors, and what requests say instead.
#include "video/sampling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace clasp::video {
namespace {

using ::testing::DoubleEq;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Qwen's rule, as the towers have it.
constexpr SampleRule kTwoASecond = {.places = SampleRule::Places::Ends,
                                    .n_frames = 0,
                                    .fps = 2.0,
                                    .min_frames = 4,
                                    .max_frames = 768,
                                    .multiple = 2};
constexpr SampleRule kEightMiddles = {};
constexpr SampleRule kInternvl = {.repeats = true};
constexpr SampleRule kVideoLlava = {.places = SampleRule::Places::Floor, .repeats = true, .is_fixed = true};
constexpr SampleRule kVideoLlavaPort = {.places = SampleRule::Places::Starts, .repeats = true};
constexpr SampleRule kEightFloored = {.places = SampleRule::Places::Floor};

std::vector<double> times(std::size_t n, double fps) {
    std::vector<double> seconds;
    for (std::size_t i = 0; i < n; ++i) seconds.push_back(static_cast<double>(i) / fps);
    return seconds;
}

Sample sampled(std::size_t n, double fps, const SampleRule& rule, const ClipChoice& choice = {}) {
    const auto sample = sample_clip(times(n, fps), fps, false, rule, choice);
    EXPECT_TRUE(sample.ok()) << sample.status().message();
    return sample.ok() ? *sample : Sample();
}

std::string refusal(std::size_t n, const ClipChoice& choice, const SampleRule& rule = kEightMiddles) {
    return sample_clip(times(n, 10.0), 10.0, false, rule, choice).status().message();
}

TEST(Sampling, TwoFramesASecondAsQwensAuthorsTakeThem) {
    const Sample ten = sampled(300, 30.0, kTwoASecond);
    ASSERT_EQ(ten.frames.size(), 20U);
    EXPECT_THAT(std::vector<std::size_t>(ten.frames.begin(), ten.frames.begin() + 6),
                ElementsAre(0U, 16U, 31U, 47U, 63U, 79U));
    EXPECT_EQ(ten.frames.back(), 299U);
    EXPECT_DOUBLE_EQ(ten.fps, 2.0);
    const Sample slower = sampled(250, 25.0, kTwoASecond);
    ASSERT_EQ(slower.frames.size(), 20U);
    EXPECT_THAT(std::vector<std::size_t>(slower.frames.begin(), slower.frames.begin() + 6),
                ElementsAre(0U, 13U, 26U, 39U, 52U, 66U));
    EXPECT_EQ(slower.frames.back(), 249U);
    EXPECT_THAT(sampled(90, 30.0, kTwoASecond).frames, ElementsAre(0U, 18U, 36U, 53U, 71U, 89U));
}

TEST(Sampling, CountsAreEvenAndWithinTheAuthorsLimits) {
    EXPECT_EQ(sampled(10, 30.0, kTwoASecond).frames.size(), 4U) << "a third of a second: at least 4";
    EXPECT_EQ(sampled(3, 30.0, kTwoASecond).frames.size(), 2U) << "no more than there are, floored to even";
    EXPECT_EQ(sampled(1, 30.0, kTwoASecond).frames.size(), 1U);
    EXPECT_EQ(sampled(30000, 30.0, kTwoASecond).frames.size(), 768U);
    EXPECT_EQ(sampled(105, 30.0, kTwoASecond).frames.size(), 6U) << "7 is floored";
}

// A rate that doubles cannot hold loses no frame, and what the authors floor is floored.
TEST(Sampling, OnlyWhatDoublesLoseIsGivenBack) {
    EXPECT_EQ(sampled(100, 100 / 9.999999999, kTwoASecond).frames.size(), 20U);
    EXPECT_EQ(sampled(2997, 30000.0 / 1001.0, kTwoASecond).frames.size(), 198U) << "199.9998";
    EXPECT_EQ(sampled(100, 100 / 9.999, kTwoASecond).frames.size(), 18U);
}

TEST(Sampling, MiddlesOfEqualPartsAsInternvlTakesThem) {
    for (const SampleRule& rule : {kEightMiddles, kInternvl}) {
        EXPECT_THAT(sampled(300, 30.0, rule).frames,
                    ElementsAre(18U, 55U, 93U, 130U, 168U, 205U, 242U, 280U));
    }
}

TEST(Sampling, ShortClipsShowFramesAgainInInternvl) {
    EXPECT_THAT(sampled(8, 30.0, kInternvl).frames, ElementsAre(0U, 1U, 2U, 3U, 4U, 4U, 5U, 6U));
    EXPECT_THAT(sampled(5, 30.0, kInternvl).frames, ElementsAre(0U, 0U, 1U, 2U, 2U, 2U, 3U, 4U));
    EXPECT_THAT(sampled(1, 30.0, kInternvl).frames, ElementsAre(0U, 0U, 0U, 0U, 0U, 0U, 0U, 0U));
    EXPECT_THAT(sampled(9, 30.0, kInternvl).frames, ElementsAre(0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U));
    // Frames that somebody else has chosen are shown once each, and so is a short clip in other models.
    const auto chosen = sample_clip(times(8, 2.0), 2.0, true, kInternvl, {});
    ASSERT_TRUE(chosen.ok());
    EXPECT_THAT(chosen->frames, ElementsAre(0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U));
    EXPECT_THAT(sampled(8, 30.0, kEightMiddles).frames, ElementsAre(0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U));
    EXPECT_THAT(sampled(5, 30.0, kEightMiddles).frames, ElementsAre(0U, 1U, 2U, 3U, 4U));
}

TEST(Sampling, FlooredPlacesAsVideoLlavaTakesThem) {
    for (const SampleRule& rule : {kEightFloored, kVideoLlava}) {
        EXPECT_THAT(sampled(300, 30.0, rule).frames, ElementsAre(0U, 42U, 85U, 128U, 170U, 213U, 256U, 299U));
    }
}

TEST(Sampling, ShortClipsShowFramesAgainInVideoLlava) {
    EXPECT_THAT(sampled(5, 30.0, kVideoLlava).frames, ElementsAre(0U, 0U, 1U, 1U, 2U, 2U, 3U, 4U));
    EXPECT_THAT(sampled(1, 30.0, kVideoLlava).frames, ElementsAre(0U, 0U, 0U, 0U, 0U, 0U, 0U, 0U));
    EXPECT_THAT(sampled(8, 30.0, kVideoLlava).frames, ElementsAre(0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U));
}

TEST(Sampling, BeginningsOfEqualPartsAsThePortTakesThem) {
    EXPECT_THAT(sampled(300, 30.0, kVideoLlavaPort).frames,
                ElementsAre(0U, 37U, 75U, 112U, 150U, 187U, 225U, 262U));
    EXPECT_THAT(sampled(5, 30.0, kVideoLlavaPort).frames, ElementsAre(0U, 0U, 1U, 1U, 2U, 3U, 3U, 4U));
    EXPECT_THAT(sampled(300, 30.0, kVideoLlavaPort, {.n_frames = 3}).frames, ElementsAre(0U, 100U, 200U));
}

TEST(Sampling, AFixedNumberIsTheOnlyOne) {
    EXPECT_THAT(refusal(300, {.n_frames = 4}, kVideoLlava),
                HasSubstr("the model sees 8 frames of every clip, and no other number; 4 are wanted"));
    EXPECT_THAT(refusal(300, {.fps = 2.0}, kVideoLlava),
                HasSubstr("8 frames of every clip, whatever its rate"));
    EXPECT_EQ(sampled(5, 30.0, kVideoLlava, {.n_frames = 8}).frames.size(), 8U);
    // Also of frames that somebody else has chosen, whose rate may be said.
    const auto chosen = sample_clip(times(16, 2.0), 2.0, true, kVideoLlava, {.fps = 1.0});
    ASSERT_TRUE(chosen.ok()) << chosen.status().message();
    EXPECT_THAT(chosen->frames, ElementsAre(0U, 2U, 4U, 6U, 8U, 10U, 12U, 15U));
    EXPECT_DOUBLE_EQ(chosen->seconds.back(), 15.0);
}

TEST(Sampling, ACountOrARateReplacesTheRules) {
    EXPECT_THAT(sampled(300, 30.0, kTwoASecond, {.n_frames = 3}).frames, ElementsAre(0U, 150U, 299U))
        << "odd counts are taken as they are";
    EXPECT_EQ(sampled(300, 30.0, kTwoASecond, {.fps = 4.0}).frames.size(), 40U);
    EXPECT_DOUBLE_EQ(sampled(300, 30.0, kTwoASecond, {.fps = 4.0}).fps, 4.0);
    EXPECT_EQ(sampled(300, 30.0, kEightMiddles, {.fps = 1.0}).frames.size(), 10U);
    EXPECT_EQ(sampled(300, 30.0, kEightMiddles, {.n_frames = 300}).frames[7], 7U) << "all there are";
}

TEST(Sampling, StartAndEndCutTheClip) {
    const Sample part = sampled(300, 30.0, kTwoASecond, {.start_s = 2.0, .end_s = 4.0});
    EXPECT_THAT(part.frames, ElementsAre(60U, 80U, 100U, 120U));
    EXPECT_THAT(part.seconds,
                ElementsAre(DoubleEq(2.0), DoubleEq(80.0 / 30), DoubleEq(100.0 / 30), DoubleEq(4.0)));
    EXPECT_EQ(sampled(300, 30.0, kEightMiddles, {.start_s = 9.95}).frames.size(), 1U) << "what is left";
}

TEST(Sampling, FramesThatWereChosenAreAllTaken) {
    const auto all = sample_clip(times(5, 2.0), 2.0, true, kTwoASecond, {});
    ASSERT_TRUE(all.ok());
    EXPECT_THAT(all->frames, ElementsAre(0U, 1U, 2U, 3U, 4U));
    EXPECT_DOUBLE_EQ(all->fps, 2.0);
    const auto slow = sample_clip(times(4, 2.0), 2.0, true, kTwoASecond, {.fps = 0.5});
    ASSERT_TRUE(slow.ok());
    EXPECT_DOUBLE_EQ(slow->fps, 0.5);
    EXPECT_THAT(slow->seconds, ElementsAre(0.0, 2.0, 4.0, 6.0)) << "a rate says when they were taken";
}

TEST(Sampling, SaysWhatCannotBe) {
    EXPECT_THAT(refusal(10, {.n_frames = 11}), HasSubstr("11 frames are wanted, and there are 10"));
    EXPECT_THAT(refusal(10, {.n_frames = 0}), HasSubstr("no frame"));
    EXPECT_THAT(refusal(10, {.n_frames = 2, .fps = 1.0}), HasSubstr("exclude each other"));
    EXPECT_THAT(refusal(10, {.start_s = 5.0}), HasSubstr("behind the clip's last frame at 0.9 s"));
    EXPECT_THAT(refusal(10, {.start_s = 0.5, .end_s = 0.2}), HasSubstr("before the start"));
    EXPECT_THAT(refusal(10, {.start_s = 0.11, .end_s = 0.12}), HasSubstr("no frame from 0.11 s to 0.12 s"));
    EXPECT_THAT(refusal(5000, {.n_frames = 1000}), HasSubstr("limit of 768"));
}

// Whatever is asked: indices never fall and lie inside.
TEST(Sampling, IndicesNeverFall) {
    for (const SampleRule& rule :
         {kTwoASecond, kEightMiddles, kInternvl, kEightFloored, kVideoLlava, kVideoLlavaPort}) {
        for (std::size_t n = 1; n < 60; ++n) {
            const Sample sample = sampled(n, 12.5, rule);
            ASSERT_FALSE(sample.frames.empty());
            EXPECT_LT(sample.frames.back(), n);
            EXPECT_TRUE(std::is_sorted(sample.frames.begin(), sample.frames.end()));
            EXPECT_EQ(sample.seconds.size(), sample.frames.size());
        }
    }
}

}  // namespace
}  // namespace clasp::video
