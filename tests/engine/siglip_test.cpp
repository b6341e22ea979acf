// Whole requests through small SmolVLM and Gemma 3 models: tiles, words around pictures, tokens that see each
// other, windows; what holds whatever is pruned.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/row_masks.h"
#include "family_fixture.h"
#include "image/preprocess.h"
#include "support/entering_prompt.h"
#include "support/reference_vit.h"
#include "support/vision_fixture.h"

namespace clasp {
namespace {

using test::EnteringPrompt;
using test::picture;
using testing::HasSubstr;

class SiglipRequests : public FamilyTest {
   protected:
    [[nodiscard]] static bool is_smolvlm() { return GetParam() == "SmolVlm"; }
    [[nodiscard]] static test::MmprojSpec vision_spec() {
        const auto width = static_cast<std::size_t>(family().text.width);
        return is_smolvlm() ? test::smolvlm_family_vision(width) : test::gemma3_family_vision(width);
    }
    [[nodiscard]] static EnteringPrompt enter(const std::vector<std::string>& pictures,
                                              const std::string& words, const Mix& mix) {
        return test::enter_prompt(files().text(), files().vision(), pictures, words, mix);
    }
};

TEST_P(SiglipRequests, APictureBecomesWhatItsPlanSays) {
    AskRequest vanilla = question();
    vanilla.vanilla = true;
    const Answer answer = ask(vanilla);
    EXPECT_EQ(answer.layouts[0].n_pieces, is_smolvlm() ? 13U : 1U);
    EXPECT_EQ(answer.layouts[0].tiles, is_smolvlm() ? (Grid{3, 4}) : (Grid{1, 1}));
    EXPECT_EQ(answer.policy_name, "llava-by-depth");
    AskRequest few = vanilla;
    few.detail.max_tiles = 4;
    if (is_smolvlm()) {
        EXPECT_EQ(ask(few).tokens.visual, 5U * 4U);
    } else {
        EXPECT_THAT(engine().ask(few).status().message(),
                    HasSubstr("leaves no choice of the number of tiles"));
    }
}

TEST_P(SiglipRequests, PicturesOfDifferentShapesShareARequest) {
    AskRequest both = question();
    const std::string tall = picture(2, 30, 130);
    const std::string small = picture(3, 20, 20);
    both.images = {{{}, picture_}, {{}, tall}, {{}, small}};
    both.forced_stages = {{2, 30}};
    both.method = "clasp";
    const Answer answer = ask(both);
    ASSERT_EQ(answer.layouts.size(), 3U);
    if (is_smolvlm()) {
        EXPECT_EQ(answer.layouts[1].tiles, (Grid{4, 1}));
        EXPECT_EQ(answer.layouts[2].tiles, (Grid{4, 4}));
        EXPECT_EQ(answer.tokens.visual, 52U + 20U + 68U);
    } else {
        EXPECT_EQ(answer.tokens.visual, 3U * 64U);
    }
    EXPECT_EQ(answer.stages[0].kept.size(), 30U);
    // Another order is another question.
    AskRequest turned = both;
    std::swap(turned.images[0], turned.images[2]);
    EXPECT_NE(ask(turned).logits, answer.logits);
}

// Thin, tiny, and of no size that a tile divides.
TEST_P(SiglipRequests, OddPicturesAreAnswered) {
    for (const auto& [width, height] : {std::pair{2U, 2U}, {5U, 900U}, {900U, 5U}, {33U, 129U}}) {
        AskRequest asked = question();
        const std::string odd = picture(1, width, height);
        asked.images = {{{}, odd}};
        asked.forced_stages = {{1, 5}};
        asked.method = "clasp";
        EXPECT_EQ(ask(asked).stages[0].kept.size(), 5U) << width << " x " << height;
    }
}

// The rows of a picture cut by hand, the original tower in plain loops.
TEST_P(SiglipRequests, RowsAreThoseOfASlowReference) {
    const Mix mix = {{1, 0.25}, {5, 0.75}};
    const EnteringPrompt entering = enter({picture_}, "Why?", mix);
    const std::string file = test::random_mmproj(vision_spec());
    const auto reader = model::GgufReader::parse(test::bytes_of(file));
    ASSERT_TRUE(reader.ok());
    const test::ReferenceVit reference(*reader);
    const auto decoded =
        decode_image({reinterpret_cast<const std::uint8_t*>(picture_.data()), picture_.size()});
    ASSERT_TRUE(decoded.ok());
    std::vector<double> wanted;
    const auto add = [&](const Image& piece) {
        const auto planes = image::normalise(
            piece, {.mean = {0.5F, 0.5F, 0.5F}, .deviation = {0.5F, 0.5F, 0.5F}}, Compat::Original);
        const test::ReferenceOutput layers = reference.encode(planes->values);
        test::Matrix fused = layers.layers[1];
        for (std::size_t i = 0; i < fused.values.size(); ++i) {
            fused.values[i] = 0.25 * fused.values[i] + 0.75 * layers.layers[5].values[i];
        }
        const test::Matrix tokens = reference.project(fused);
        wanted.insert(wanted.end(), tokens.values.begin(), tokens.values.end());
    };
    if (is_smolvlm()) {
        // 120 x 90 to 128 x 96, which is 4 x 3 tiles already.
        const auto scaled = image::resize(*decoded, {128, 96}, image::Filter::Lanczos);
        for (int top = 0; top < 96; top += 32) {
            for (int left = 0; left < 128; left += 32) add(*image::crop(*scaled, left, top, {32, 32}));
        }
        add(*image::resize(*scaled, {32, 32}, image::Filter::Lanczos));
    } else {
        add(*image::resize(*decoded, {128, 128}, image::Filter::Bilinear));
    }
    std::vector<float> got;
    for (const engine::PromptPart& part : entering.images[0].parts) {
        got.insert(got.end(), part.embeddings.begin(), part.embeddings.end());
    }
    EXPECT_LT(test::relative_error(got, wanted), 1e-3);
}

TEST_P(SiglipRequests, ThePromptIsTheAuthors) {
    const EnteringPrompt entering = enter({picture(1, 128, 20)}, "why", {{5, 1.0}});
    if (is_smolvlm()) {
        EXPECT_EQ(test::words_of(entering),
                  "<s><|im_start|>User:<fake_token_around_image><row_1_col_1>#<fake_token_around_image>"
                  "<row_1_col_2>#<fake_token_around_image><row_1_col_3>#<fake_token_around_image>"
                  "<row_1_col_4>#\n\n<fake_token_around_image><global-img>#<fake_token_around_image>why"
                  "<end_of_utterance>\nAssistant:");
        return;
    }
    EXPECT_EQ(test::words_of(entering),
              "<s><start_of_turn>user\n\n\n<start_of_image>#<end_of_image>\n\nwhy<end_of_turn>\n"
              "<start_of_turn>model\n");
    // Three line breaks are one token, as in the original's tokenisation of the whole text.
    const std::vector<std::int32_t> three = *entering.text->tokenize("\n\n\n", false, false);
    ASSERT_EQ(three.size(), 1U);
    EXPECT_EQ(entering.parts[0].tokens.back(), three[0]);
}

INSTANTIATE_TEST_SUITE_P(Families, SiglipRequests, testing::Values("SmolVlm", "Gemma3"), family_case_name);

// After pruning, the tokens that are left of a picture still see each other, and windows count the positions
// of the unpruned prompt: a token 16 or more positions away is out of sight however few rows lie between.
TEST(Gemma3Masks, OutlivePruning) {
    const test::FamilyModel model = test::family_model("Gemma3");
    const test::FamilyFiles files(model);
    const EnteringPrompt entering = test::enter_prompt(
        files.text(), files.vision(), {picture(1, 120, 90), picture(2, 64, 30)}, "how many cups?");
    std::vector<bool> is_visual;
    for (const engine::PromptPart& part : entering.parts) {
        is_visual.insert(is_visual.end(), part.tokens.size(), false);
        is_visual.insert(is_visual.end(), part.embeddings.size() / static_cast<std::size_t>(model.text.width),
                         true);
    }
    engine::LiveRows live(is_visual);
    const auto before = engine::mask_rows(live.rows());
    std::vector<TokenIndex> kept;
    for (TokenIndex i = 0; i < entering.n_visual; i += 5) kept.push_back(i);
    const auto all = live.rows().size();
    ASSERT_TRUE(live.apply({kept, {}}).ok());
    const auto rows = engine::mask_rows(live.rows());
    ASSERT_EQ(rows.size(), all - entering.n_visual + kept.size());
    const engine::MaskRule global = {.window = 0, .images_see_both_ways = true};
    const engine::MaskRule local = {.window = 16, .images_see_both_ways = true};
    std::size_t n_hidden = 0;
    for (std::size_t query = 0; query < rows.size(); ++query) {
        for (std::size_t key = 0; key < rows.size(); ++key) {
            const bool is_same_picture = rows[query].image >= 0 && rows[query].image == rows[key].image;
            EXPECT_EQ(engine::sees(rows, query, key, global), key <= query || is_same_picture);
            // By the rows as they were, which their positions name.
            const auto was = [&](std::size_t row) {
                return static_cast<std::size_t>(std::find_if(before.begin(), before.end(),
                                                             [&](const engine::MaskRow& other) {
                                                                 return other.position == rows[row].position;
                                                             }) -
                                                before.begin());
            };
            const bool sees = engine::sees(rows, query, key, local);
            EXPECT_EQ(sees, engine::sees(before, was(query), was(key), local));
            if (key <= query && !sees && query - key < 16) ++n_hidden;
        }
    }
    EXPECT_GT(n_hidden, 0U) << "rows that are near now were far";
}

}  // namespace
}  // namespace clasp
