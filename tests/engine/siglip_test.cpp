// Whole requests through small SmolVLM and Gemma 3 models: tiles, words around pictures, tokens that see each
// other, windows; what holds whatever is pruned.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "clasp/conversation.h"
#include "engine/arranged_image.h"
#include "engine/prompt.h"
#include "engine/row_masks.h"
#include "image/preprocess.h"
#include "model/vision_model.h"
#include "siglip_fixture.h"
#include "support/decoder_case.h"
#include "support/reference_decoder.h"
#include "support/reference_vit.h"
#include "support/session.h"
#include "support/vision_fixture.h"

namespace clasp {
namespace {

using testing::HasSubstr;

class SiglipRequests : public testing::TestWithParam<SiglipFamily> {
   protected:
    static SiglipFiles& files(SiglipFamily family) {
        static std::array<std::unique_ptr<SiglipFiles>, 2> all;
        auto& made = all[static_cast<std::size_t>(family)];
        if (made == nullptr) made = std::make_unique<SiglipFiles>(family);
        return *made;
    }
    static Engine& engine(SiglipFamily family) {
        static std::array<std::unique_ptr<Engine>, 2> all;
        auto& loaded = all[static_cast<std::size_t>(family)];
        if (loaded == nullptr) loaded = files(family).load();
        return *loaded;
    }
    [[nodiscard]] static bool is_smolvlm() { return GetParam() == SiglipFamily::SmolVlm; }
    // 120 x 90: 4 x 3 tiles and the overview, 4 tokens each; or the square.
    [[nodiscard]] static std::size_t n_visual() { return is_smolvlm() ? 52 : 64; }

    AskRequest request() const {
        AskRequest request;
        request.images = {{{}, picture_}};
        request.question = "How many cups are on the table?";
        request.generation.max_tokens = 2;
        request.want_logits = true;
        return request;
    }
    static Answer ask(const AskRequest& request) {
        auto answer = engine(GetParam()).ask(request);
        EXPECT_TRUE(answer.ok()) << answer.status().message();
        return answer.ok() ? std::move(answer).value() : Answer();
    }

    std::string picture_ = picture(1, 120, 90);
};

TEST_P(SiglipRequests, APictureBecomesWhatItsPlanSays) {
    AskRequest vanilla = request();
    vanilla.vanilla = true;
    const Answer answer = ask(vanilla);
    EXPECT_EQ(answer.tokens.visual, n_visual());
    EXPECT_EQ(answer.tokens.entering, n_visual());
    EXPECT_EQ(answer.layouts[0].n_pieces, is_smolvlm() ? 13U : 1U);
    EXPECT_EQ(answer.layouts[0].tiles, is_smolvlm() ? (Grid{3, 4}) : (Grid{1, 1}));
    EXPECT_EQ(answer.policy_name, "llava-by-depth");
    AskRequest few = vanilla;
    few.detail.max_tiles = 4;
    if (is_smolvlm()) {
        EXPECT_EQ(ask(few).tokens.visual, 5U * 4U);
    } else {
        EXPECT_THAT(engine(GetParam()).ask(few).status().message(),
                    HasSubstr("leaves no choice of the number of tiles"));
    }
}

TEST_P(SiglipRequests, KeepingEverythingIsNoMethodBitForBit) {
    for (const Compat compat : {Compat::Original, Compat::LlamaCpp}) {
        for (const bool fusion : {false, true}) {
            AskRequest none = request();
            none.compat = compat;
            none.use_fusion = fusion;
            none.budget = {BudgetSpec::Kind::None, 0};
            const Answer without = ask(none);
            for (const std::string method : {"clasp", "clasp+", "fastv"}) {
                AskRequest all = none;
                all.budget = {};
                all.method = method;
                all.forced_stages = {{1, 200}, {3, 200}};
                EXPECT_EQ(ask(all).logits, without.logits) << method;
            }
            if (fusion) continue;
            AskRequest vanilla = request();
            vanilla.compat = compat;
            vanilla.vanilla = true;
            EXPECT_EQ(ask(vanilla).logits, without.logits);
        }
    }
}

TEST_P(SiglipRequests, MethodsAnswerOrSayWhatTheTowerDoesNotAllow) {
    std::size_t n_answers = 0;
    for (const methods::Method& method : methods::all_methods()) {
        SCOPED_TRACE(method.name);
        AskRequest pruned = request();
        pruned.method = std::string(method.name);
        pruned.budget = {BudgetSpec::Kind::Tokens, 26};
        pruned.generation.max_tokens = 1;
        const auto answer = engine(GetParam()).ask(pruned);
        if (!answer.ok()) {
            EXPECT_EQ(answer.status().code(), Code::Unsupported) << answer.status().message();
            EXPECT_THAT(answer.status().message(),
                        testing::AnyOf(HasSubstr("with a class token"), HasSubstr("makes one token from 4"),
                                       HasSubstr("as one grid")));
            continue;
        }
        ++n_answers;
        EXPECT_LT(answer->stages.back().kept.size(), n_visual());
        EXPECT_EQ(answer->tokens.final, answer->stages.back().kept.size());
    }
    EXPECT_GE(n_answers, 8U);
}

TEST_P(SiglipRequests, PicturesOfDifferentShapesShareARequest) {
    AskRequest both = request();
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

TEST_P(SiglipRequests, ConversationsGoOn) {
    const auto cached = files(GetParam()).load(2);
    Conversation conversation(*cached);
    AskRequest first = request();
    first.forced_stages = {{2, 12}};
    first.method = "clasp";
    auto answer = conversation.ask(first);
    ASSERT_TRUE(answer.ok()) << answer.status().message();
    AskRequest second = request();
    second.images = {};
    second.question = "And plates?";
    second.forced_stages = {{2, 12}};
    second.method = "clasp";
    auto next = conversation.ask(second);
    ASSERT_TRUE(next.ok()) << next.status().message();
    EXPECT_EQ(next->cache_hit, true);
    EXPECT_EQ(next->tokens.visual, n_visual());
    EXPECT_EQ(next->stages[0].kept.size(), 12U);
}

TEST_P(SiglipRequests, RememberedLayersGiveTheSameBits) {
    const auto cached = files(GetParam()).load(2);
    AskRequest asked = request();
    asked.budget = {BudgetSpec::Kind::Percent, 50};
    const auto first = cached->ask(asked);
    const auto second = cached->ask(asked);
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_EQ(second->cache_hit, true);
    EXPECT_EQ(second->logits, first->logits);
    EXPECT_EQ(ask(asked).logits, first->logits);
}

// Thin, tiny, and of no size that a tile divides.
TEST_P(SiglipRequests, OddPicturesAreAnswered) {
    for (const auto& [width, height] : {std::pair{2U, 2U}, {5U, 900U}, {900U, 5U}, {33U, 129U}}) {
        AskRequest asked = request();
        const std::string odd = picture(1, width, height);
        asked.images = {{{}, odd}};
        asked.forced_stages = {{1, 5}};
        asked.method = "clasp";
        EXPECT_EQ(ask(asked).stages[0].kept.size(), 5U) << width << " x " << height;
    }
}

// What enters the decoder for a prompt about the picture, as the engine puts it together.
struct EnteringPrompt {
    std::shared_ptr<const model::TextModel> text;
    std::shared_ptr<const model::VisionModel> vision;
    engine::VisualInput seen;
    engine::Prompt prompt;
    std::vector<engine::ArrangedImage> images;
    std::vector<engine::PromptPart> parts;
    std::vector<std::int32_t> question;  // places of the last text
    std::size_t n_visual = 0;
};

EnteringPrompt enter(const SiglipFiles& files, const std::vector<std::string>& pictures,
                     const std::string& words, const Mix& mix) {
    EnteringPrompt entering;
    auto compute = model::Compute::create({.n_threads = 1, .use_gpu = false});
    entering.text = *model::TextModel::load(files.text(), *compute, {.repack = false});
    entering.vision =
        *model::VisionModel::load(files.vision(), {.weights = model::VisionWeights::F32}, *compute);
    const auto session = model::VisionSession::create(entering.vision);
    Message message = {Message::Role::User, {}};
    std::vector<ImageSource> sources;
    for (const std::string& picture : pictures) {
        sources.push_back({{}, picture});
        message.parts.push_back({"", sources.back()});
    }
    message.parts.push_back({words});
    const auto planned = engine::plan_pictures(sources, *entering.vision, {}, nullptr);
    EXPECT_TRUE(planned.ok()) << planned.status().message();
    engine::VisualRequest seeing;
    seeing.mix = mix;
    auto seen = engine::prepare_images(*planned, seeing, **session, nullptr);
    EXPECT_TRUE(seen.ok()) << seen.status().message();
    entering.seen = std::move(*seen);
    auto prompt = engine::build_prompt(*entering.text, std::span(&message, 1),
                                       {.words = entering.vision->info().words});
    EXPECT_TRUE(prompt.ok()) << prompt.status().message();
    entering.prompt = std::move(*prompt);
    std::int32_t next_line = 0;
    for (const engine::SeenImage& image : entering.seen.images) {
        auto arranged = engine::arrange_image(image, false, *entering.vision, *entering.text, next_line);
        EXPECT_TRUE(arranged.ok()) << arranged.status().message();
        entering.images.push_back(std::move(*arranged));
        entering.n_visual += image.plan.layout.n_tokens();
    }
    std::int32_t place = 0;
    for (const engine::PromptPiece& piece : entering.prompt.pieces) {
        if (piece.image >= 0) {
            for (const engine::PromptPart& part :
                 entering.images[static_cast<std::size_t>(piece.image)].parts) {
                entering.parts.push_back(part);
            }
            place += static_cast<std::int32_t>(entering.images[static_cast<std::size_t>(piece.image)].n_rows);
            continue;
        }
        entering.parts.push_back({.tokens = piece.tokens});
        entering.question.clear();
        for (std::size_t i = 0; i < piece.tokens.size(); ++i) entering.question.push_back(place++);
    }
    return entering;
}

// The rows of a picture cut by hand, the original tower in plain loops.
TEST_P(SiglipRequests, RowsAreThoseOfASlowReference) {
    const Mix mix = {{1, 0.25}, {5, 0.75}};
    const EnteringPrompt entering = enter(files(GetParam()), {picture_}, "Why?", mix);
    const std::string file = test::random_mmproj(files(GetParam()).vision_spec());
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

// The words of a whole prompt, rows of pictures as #.
std::string words_of(const EnteringPrompt& entering) {
    std::string words;
    for (const engine::PromptPart& part : entering.parts) {
        for (const std::int32_t token : part.tokens) words += entering.text->piece(token, true);
        if (!part.embeddings.empty()) words += "#";
    }
    return words;
}

TEST_P(SiglipRequests, ThePromptIsTheAuthors) {
    const EnteringPrompt entering = enter(files(GetParam()), {picture(1, 128, 20)}, "why", {{5, 1.0}});
    if (is_smolvlm()) {
        EXPECT_EQ(words_of(entering),
                  "<s><|im_start|>User:<fake_token_around_image><row_1_col_1>#<fake_token_around_image>"
                  "<row_1_col_2>#<fake_token_around_image><row_1_col_3>#<fake_token_around_image>"
                  "<row_1_col_4>#\n\n<fake_token_around_image><global-img>#<fake_token_around_image>why"
                  "<end_of_utterance>\nAssistant:");
        return;
    }
    EXPECT_EQ(words_of(entering),
              "<s><start_of_turn>user\n\n\n<start_of_image>#<end_of_image>\n\nwhy<end_of_turn>\n"
              "<start_of_turn>model\n");
    // Three line breaks are one token, as in the original's tokenisation of the whole text.
    const std::vector<std::int32_t> three = *entering.text->tokenize("\n\n\n", false, false);
    ASSERT_EQ(three.size(), 1U);
    EXPECT_EQ(entering.parts[0].tokens.back(), three[0]);
}

// Two pictures with words around them; what each stage keeps is given.
TEST_P(SiglipRequests, DroppingEqualsMaskingTheKeyFromThenOn) {
    const EnteringPrompt entering =
        enter(files(GetParam()), {picture(1, 120, 90), picture(2, 64, 30)}, "how many cups?", {{5, 1.0}});
    std::vector<TokenIndex> thirds;
    for (TokenIndex i = 0; i < entering.n_visual; i += 3) thirds.push_back(i);
    const std::vector<TokenIndex> few = {thirds[0], thirds[9], thirds[10], thirds.back()};
    std::vector<engine::PrefillStage> stages;
    for (const std::int32_t layer : {1, 4}) {
        stages.push_back({.layer = layer, .reference = entering.question});
    }
    const auto request = [&](std::vector<std::vector<float>> masses) {
        engine::PrefillRequest wanted = {.parts = entering.parts, .stages = stages};
        wanted.selector = [&, masses](const engine::StageView& view) -> Result<engine::StageChoice> {
            return engine::StageChoice{view.stage == 0 ? thirds : few,
                                       masses.empty() ? std::vector<float>() : masses[view.stage]};
        };
        return wanted;
    };
    const auto run = [&](const engine::PrefillRequest& wanted) {
        test::Session session(entering.text, {.kv_type = GGML_TYPE_F32});
        const auto result = session.prefill(wanted);
        EXPECT_TRUE(result.ok()) << result.status().message();
        const auto all = engine::PrefillRequest{.parts = entering.parts};
        test::Session whole(entering.text, {.kv_type = GGML_TYPE_F32});
        EXPECT_TRUE(whole.prefill(all).ok());
        EXPECT_EQ(session.sequence().next_position(), whole.sequence().next_position());
        return result.ok() ? result->logits : std::vector<float>();
    };
    const test::ReferenceDecoder reference(*entering.text);
    const auto masked = reference.run(request({}), test::Dropping::Mask).logits;
    // GELU goes through a table in half precision.
    const double tolerance = is_smolvlm() ? 1e-4 : 5e-3;
    EXPECT_LT(test::relative_distance(run(request({})), masked), tolerance);
    engine::PrefillRequest compact = request({});
    compact.positions = engine::PositionMode::Compact;
    test::Session session(entering.text, {.kv_type = GGML_TYPE_F32});
    const auto counted = session.prefill(compact);
    ASSERT_TRUE(counted.ok());
    EXPECT_GT(test::relative_distance(counted->logits, masked), 1e-2) << "positions of the rest are kept";
    const std::vector<std::vector<float>> masses = {std::vector<float>(thirds.size(), 3.0F), {20, 30, 10, 5}};
    EXPECT_LT(test::relative_distance(run(request(masses)), reference.run(request(masses)).logits), 5e-3);
}

INSTANTIATE_TEST_SUITE_P(Families, SiglipRequests,
                         testing::Values(SiglipFamily::SmolVlm, SiglipFamily::Gemma3), [](const auto& test) {
                             return test.param == SiglipFamily::SmolVlm ? "SmolVlm" : "Gemma3";
                         });

// After pruning, the tokens that are left of a picture still see each other, and windows count the positions
// of the unpruned prompt: a token 16 or more positions away is out of sight however few rows lie between.
TEST(Gemma3Masks, OutlivePruning) {
    const SiglipFiles files(SiglipFamily::Gemma3);
    const EnteringPrompt entering =
        enter(files, {picture(1, 120, 90), picture(2, 64, 30)}, "how many cups?", {{5, 1.0}});
    std::vector<bool> is_visual;
    for (const engine::PromptPart& part : entering.parts) {
        is_visual.insert(is_visual.end(), part.tokens.size(), false);
        is_visual.insert(is_visual.end(), part.embeddings.size() / files.width(), true);
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
