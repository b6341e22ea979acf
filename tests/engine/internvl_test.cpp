// Whole requests through a small InternVL: tiles, a thumbnail behind them, four patches to a token, marks
// around all of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "image/preprocess.h"
#include "support/entering_prompt.h"
#include "support/family_files.h"
#include "support/reference_vit.h"
#include "support/vision_fixture.h"

namespace clasp {
namespace {

using test::picture;
using testing::HasSubstr;

constexpr std::size_t kTileTokens = 4;  // tiles of 56 pixels, 4 x 4 patches
// 120 x 90 pixels are four tiles by three, and the thumbnail.
constexpr std::size_t kPieces = 13;
constexpr std::size_t kPictureTokens = kPieces * kTileTokens;

class InternvlTest : public testing::Test {
   protected:
    static void SetUpTestSuite() {
        files() = std::make_unique<test::FamilyFiles>(test::family_model("InternVl"));
        shared() = files()->load({.cached_images = 1});
    }
    static void TearDownTestSuite() {
        shared().reset();
        files().reset();
    }
    static std::unique_ptr<test::FamilyFiles>& files() {
        static std::unique_ptr<test::FamilyFiles> both;
        return both;
    }
    static std::unique_ptr<Engine>& shared() {
        static std::unique_ptr<Engine> engine;
        return engine;
    }
    [[nodiscard]] AskRequest request() const { return test::question_about(picture_); }
    static Answer ask(const AskRequest& request) { return test::answer_of(*shared(), request); }

    std::string picture_ = picture(1, 120, 90);
};

TEST_F(InternvlTest, ThePictureIsCutAsAsked) {
    AskRequest vanilla = request();
    vanilla.vanilla = true;
    const Answer twelve = ask(vanilla);
    EXPECT_EQ(twelve.tokens.visual, kPictureTokens);
    EXPECT_EQ(twelve.tokens.entering, kPictureTokens);
    EXPECT_EQ(twelve.layouts[0].tiles, (Grid{3, 4}));
    EXPECT_EQ(twelve.layouts[0].n_pieces, kPieces);
    vanilla.detail.max_tiles = 6;
    const Answer six = ask(vanilla);
    EXPECT_EQ(six.layouts[0].tiles, (Grid{2, 3}));
    EXPECT_EQ(six.tokens.visual, 7 * kTileTokens);
    EXPECT_EQ(six.tokens.text, twelve.tokens.text);
    vanilla.detail.max_tiles = 1;
    EXPECT_EQ(ask(vanilla).tokens.visual, kTileTokens);
    vanilla.detail.max_tiles = 0;
    EXPECT_EQ(ask(vanilla).logits, twelve.logits) << "what is remembered of one limit is not another's";
    // llama.cpp: small pictures stay whole.
    vanilla.compat = Compat::LlamaCpp;
    EXPECT_EQ(ask(vanilla).tokens.visual, 7 * kTileTokens);
    const std::string small = picture(1, 52, 40);
    vanilla.images = {{{}, small}};
    EXPECT_EQ(ask(vanilla).tokens.visual, kTileTokens);
    vanilla.detail.min_tokens = 100;
    EXPECT_THAT(shared()->ask(vanilla).status().message(),
                HasSubstr("internvit leaves no choice of how many tokens a picture becomes"));
}

TEST_F(InternvlTest, ThePolicyIsLlavasByDepth) {
    EXPECT_EQ(shared()->policy().name, "llava-by-depth");
    AskRequest fused = request();
    fused.class_choice = "0";
    const Answer answer = ask(fused);
    ASSERT_GT(answer.mix.size(), 1U);
    EXPECT_EQ(answer.mix.back().layer, 23U);
    const std::set<std::size_t> mapped = {3, 5, 13, 15, 16, 18, 19, 20, 21, 23};
    for (const LayerWeight& part : answer.mix) EXPECT_TRUE(mapped.contains(part.layer)) << part.layer;
}

// The tiles cut by hand, the original tower in plain loops, the marks around the tokens.
TEST_F(InternvlTest, RowsAreThoseOfASlowReference) {
    const test::EnteringPrompt got =
        test::enter_prompt(files()->text(), files()->vision(), {picture_}, "why", {{4, 0.25}, {23, 0.75}});
    const std::vector<engine::PromptPart>& parts = got.images[0].parts;
    ASSERT_EQ(parts.size(), 3U);
    EXPECT_EQ(parts[0].tokens.size(), 1U);
    EXPECT_EQ(parts[2].tokens.size(), 1U);
    EXPECT_THAT(test::words_of(got), HasSubstr("<img>#</img>"));

    const std::string file = test::random_mmproj(test::internvl_family_vision());
    const auto reader = model::GgufReader::parse(test::bytes_of(file));
    const test::ReferenceVit reference(*reader);
    const auto decoded =
        decode_image({reinterpret_cast<const std::uint8_t*>(picture_.data()), picture_.size()});
    ASSERT_TRUE(decoded.ok());
    const image::Normalisation imagenet = {{0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F}};
    std::vector<double> wanted;
    const auto add_tokens_of = [&](const Image& tile) {
        const auto planes = image::normalise(tile, imagenet, Compat::Original);
        const test::ReferenceOutput layers = reference.encode(planes->values);
        test::Matrix fused = test::patches_of(layers.layers[4]);
        const test::Matrix last = test::patches_of(layers.layers[23]);
        for (std::size_t i = 0; i < fused.values.size(); ++i) {
            fused.values[i] = 0.25 * fused.values[i] + 0.75 * last.values[i];
        }
        const test::Matrix tokens = reference.project(fused);
        wanted.insert(wanted.end(), tokens.values.begin(), tokens.values.end());
    };
    const auto stretched = image::resize(*decoded, {4 * 56, 3 * 56}, image::Filter::Bicubic);
    for (int top = 0; top < 3 * 56; top += 56) {
        for (int left = 0; left < 4 * 56; left += 56) {
            add_tokens_of(*image::crop(*stretched, left, top, {56, 56}));
        }
    }
    add_tokens_of(*image::resize(*decoded, {56, 56}, image::Filter::Bicubic));
    const auto rows = parts[1].embeddings;
    EXPECT_LT(test::relative_error(std::vector<float>(rows.begin(), rows.end()), wanted), 2e-4);
}

TEST_F(InternvlTest, PicturesOfDifferentShapesShareARequest) {
    AskRequest all = request();
    const std::string tall = picture(2, 40, 130);
    const std::string square = picture(3, 20, 20);
    all.images = {{{}, picture_}, {{}, tall}, {{}, square}};
    all.method = "clasp";
    all.forced_stages = {{2, 30}};
    const Answer answer = ask(all);
    ASSERT_EQ(answer.layouts.size(), 3U);
    EXPECT_EQ(answer.layouts[1].tiles, (Grid{3, 1}));
    EXPECT_EQ(answer.layouts[2].tiles, (Grid{1, 1}));
    EXPECT_EQ(answer.layouts[2].n_pieces, 1U) << "one tile needs no thumbnail";
    EXPECT_EQ(answer.tokens.entering, (kPieces + 4 + 1) * kTileTokens);
    EXPECT_EQ(answer.stages[0].kept.size(), 30U);
}

TEST_F(InternvlTest, AThreadAndADotAreAnswered) {
    AskRequest asked = request();
    asked.method = "clasp";
    asked.forced_stages = {{1, 3}};
    const std::string thread = picture(1, 4, 700);
    asked.images = {{{}, thread}};
    EXPECT_EQ(ask(asked).layouts[0].tiles, (Grid{12, 1}));
    const std::string dot = picture(1, 2, 2);
    asked.images = {{{}, dot}};
    EXPECT_EQ(ask(asked).tokens.visual, kTileTokens);
}

}  // namespace
}  // namespace clasp
