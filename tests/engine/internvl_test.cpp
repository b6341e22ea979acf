// Whole requests through a small InternVL: tiles, a thumbnail behind them, four patches to a token, marks
// around all of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "clasp/conversation.h"
#include "clasp/engine.h"
#include "engine/arranged_image.h"
#include "engine/executor.h"
#include "engine/sequence.h"
#include "engine_fixture.h"
#include "image/preprocess.h"
#include "support/decoder_case.h"
#include "support/reference_decoder.h"
#include "support/reference_vit.h"
#include "support/vision_fixture.h"

namespace clasp {
namespace {

using testing::HasSubstr;

constexpr std::size_t kInternvlWidth = 96;
constexpr std::size_t kTileTokens = 4;  // tiles of 56 pixels, 4 x 4 patches
// 120 x 90 pixels are four tiles by three, and the thumbnail.
constexpr std::size_t kPieces = 13;
constexpr std::size_t kPictureTokens = kPieces * kTileTokens;

test::MmprojSpec internvl_tower() {
    test::MmprojSpec spec = test::internvl_mmproj();
    spec.n_blocks = 24;
    spec.output_width = kInternvlWidth;
    return spec;
}

class InternvlTest : public testing::Test {
   protected:
    static void SetUpTestSuite() {
        prefix() = std::string(test::scratch_dir()) + "/internvl-" + std::to_string(getpid());
        test::RandomLlama text;
        text.architecture = "qwen2";
        text.has_qkv_biases = true;
        text.n_layers = 8;
        text.width = kInternvlWidth;
        text.n_heads = 3;
        text.n_kv_heads = 3;
        text.control_tokens = {"<|im_start|>", "<|im_end|>", "<img>", "</img>"};
        ASSERT_TRUE(test::write_random_llama(text_path(), text));
        std::ofstream out(vision_path(), std::ios::binary);
        test::write_random_mmproj(internvl_tower(), out);
        out.close();
        shared() = load(1);
    }
    static void TearDownTestSuite() {
        shared().reset();
        std::filesystem::remove(text_path());
        std::filesystem::remove(vision_path());
    }
    static std::unique_ptr<Engine> load(std::size_t cached_images) {
        auto engine = Engine::load(
            {.model = text_path(), .mmproj = vision_path(), .n_threads = 1, .cached_images = cached_images});
        EXPECT_TRUE(engine.ok()) << engine.status().message();
        return engine.ok() ? std::move(engine).value() : nullptr;
    }
    static std::string text_path() { return prefix() + "-text.gguf"; }
    static std::string vision_path() { return prefix() + "-mmproj.gguf"; }
    static std::string& prefix() {
        static std::string path;
        return path;
    }
    static std::unique_ptr<Engine>& shared() {
        static std::unique_ptr<Engine> engine;
        return engine;
    }

    AskRequest request() const {
        AskRequest request;
        request.images = {{{}, picture_}};
        request.question = "How many cups are on the table?";
        request.generation.max_tokens = 2;
        request.want_logits = true;
        return request;
    }
    static Answer ask(const AskRequest& request) {
        auto answer = shared()->ask(request);
        EXPECT_TRUE(answer.ok()) << answer.status().message();
        return answer.ok() ? std::move(answer).value() : Answer();
    }

    std::string picture_ = picture(1, 120, 90);
};

// What the decoder gets for one picture, and everything that it borrows from.
struct PictureParts {
    std::shared_ptr<const model::VisionModel> vision;
    std::shared_ptr<const model::TextModel> text;
    std::vector<engine::SeenImage> images;
    engine::ArrangedImage arranged;
    std::vector<std::int32_t> before;
    std::vector<std::int32_t> question;
    std::vector<engine::PromptPart> parts;
};

PictureParts parts_of(const std::string& text_path, const std::string& vision_path,
                      const std::string& picture, const Mix& mix, bool has_text_before = true) {
    PictureParts result;
    auto compute = model::Compute::create({.n_threads = 1, .use_gpu = false});
    result.vision = *model::VisionModel::load(vision_path, {.weights = model::VisionWeights::F32}, *compute);
    result.text = *model::TextModel::load(text_path, *compute, {.repack = false});
    const auto session = model::VisionSession::create(result.vision);
    engine::VisualRequest seeing;
    seeing.mix = mix;
    const auto planned = engine::plan_pictures({{{}, picture}}, *result.vision, {}, nullptr);
    EXPECT_TRUE(planned.ok()) << planned.status().message();
    auto seen = engine::prepare_images(*planned, seeing, **session, nullptr);
    EXPECT_TRUE(seen.ok()) << seen.status().message();
    result.images = std::move(seen->images);
    std::int32_t next_line = 0;
    auto arranged = engine::arrange_image(result.images[0], false, *result.vision, *result.text, next_line);
    EXPECT_TRUE(arranged.ok()) << arranged.status().message();
    result.arranged = std::move(*arranged);
    result.before = {5, 6, 7, 8, 9};
    result.question = {20, 21, 22, 23, 24, 25};
    if (has_text_before) result.parts.push_back({.tokens = result.before});
    result.parts.insert(result.parts.end(), result.arranged.parts.begin(), result.arranged.parts.end());
    result.parts.push_back({.tokens = result.question});
    return result;
}

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

TEST_F(InternvlTest, KeepingEverythingIsNoMethodBitForBit) {
    for (const bool fusion : {false, true}) {
        AskRequest none = request();
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
    }
    AskRequest vanilla = request();
    vanilla.vanilla = true;
    AskRequest plain = request();
    plain.use_fusion = false;
    plain.budget = {BudgetSpec::Kind::None, 0};
    EXPECT_EQ(ask(vanilla).logits, ask(plain).logits);
}

// The tiles cut by hand, the original tower in plain loops, the marks around the tokens.
TEST_F(InternvlTest, RowsAreThoseOfASlowReference) {
    const PictureParts got = parts_of(text_path(), vision_path(), picture_, {{4, 0.25}, {23, 0.75}});
    ASSERT_EQ(got.arranged.parts.size(), 3U);
    const auto text_of = [&](std::size_t part) {
        std::string text;
        for (const std::int32_t token : got.arranged.parts[part].tokens) text += got.text->piece(token, true);
        return text;
    };
    EXPECT_EQ(got.arranged.parts[0].tokens.size(), 1U);
    EXPECT_EQ(text_of(0), "<img>");
    EXPECT_EQ(text_of(2), "</img>");

    const std::string file = test::random_mmproj(internvl_tower());
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
    const auto rows = got.arranged.parts[1].embeddings;
    EXPECT_LT(test::relative_error(std::vector<float>(rows.begin(), rows.end()), wanted), 2e-4);
}

// ---- Dropping ----

engine::StageSelector chosen(const std::vector<std::vector<TokenIndex>>& kept,
                             const std::vector<std::vector<float>>& masses = {}) {
    return [kept, masses](const engine::StageView& view) -> Result<engine::StageChoice> {
        return engine::StageChoice{kept[view.stage],
                                   masses.empty() ? std::vector<float>() : masses[view.stage]};
    };
}

Result<engine::PrefillResult> prefilled(const PictureParts& prompt, const engine::PrefillRequest& request) {
    auto executor = engine::Executor::create(prompt.text);
    auto sequence = engine::Sequence::create(prompt.text, {.kv_type = GGML_TYPE_F32});
    return (*executor)->prefill(*sequence, request);
}

// Plain loops in which a token that was dropped stays where it is and is seen by nobody: so survivors have
// their old positions, and the marks of the picture stay.
TEST_F(InternvlTest, DroppingATokenIsHidingItFromThenOn) {
    const PictureParts prompt = parts_of(text_path(), vision_path(), picture_, {{23, 1.0}});
    const std::vector<engine::PrefillStage> stages = {{.layer = 2}, {.layer = 5}};
    std::vector<TokenIndex> first;
    for (TokenIndex i = 1; i < kPictureTokens; i += 3) first.push_back(i);
    engine::PrefillRequest request = {.parts = prompt.parts, .stages = stages};
    request.selector = chosen({first, {4, 22, 49}});
    const auto got = prefilled(prompt, request);
    ASSERT_TRUE(got.ok()) << got.status().message();
    const test::ReferenceDecoder reference(*prompt.text);
    const auto masked = reference.run(request, test::Dropping::Mask);
    EXPECT_LT(test::relative_distance(got->logits, masked.logits), 1e-4);
    EXPECT_EQ(got->visual_per_layer[0], static_cast<std::int32_t>(kPictureTokens));
    EXPECT_EQ(got->visual_per_layer[7], 3);
    EXPECT_EQ(got->rows_per_layer[7], 3 + 5 + 2 + 6) << "text before, marks, question";
    const auto whole = prefilled(prompt, {.parts = prompt.parts});
    EXPECT_GT(test::relative_distance(got->logits, whole->logits), 1e-2);
}

// A picture of one colour: all tiles and the thumbnail are the same four tokens. Each with the mass of its
// copies does the work of all, exactly where nothing rotates and one block looks at them.
TEST_F(InternvlTest, MassesStandForEqualTiles) {
    test::RandomLlama text;
    text.n_layers = 1;
    text.width = kInternvlWidth;
    text.n_heads = 3;
    text.n_kv_heads = 3;
    text.has_rope_factors = true;
    text.rope_factor = 1e9F;
    text.control_tokens = {"<img>", "</img>"};
    const std::string unrotated = prefix() + "-unrotated.gguf";
    ASSERT_TRUE(test::write_random_llama(unrotated, text));
    const std::string grey = test::make_bmp(120, 90, [](std::uint32_t) { return 120U; });
    const PictureParts prompt = parts_of(unrotated, vision_path(), grey, {{23, 1.0}});
    std::filesystem::remove(unrotated);
    const auto rows = prompt.arranged.parts[1].embeddings;
    ASSERT_EQ(rows.size(), kPictureTokens * kInternvlWidth);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        ASSERT_EQ(rows[i], rows[i % (kTileTokens * kInternvlWidth)]) << i;
    }
    std::vector<float> cosines(kPictureTokens * kPictureTokens);
    SelectWorkspace workspace;
    ASSERT_TRUE(gram({rows.data(), kPictureTokens, kInternvlWidth, kInternvlWidth}, workspace, nullptr,
                     cosines.data(), kPictureTokens)
                    .ok());
    std::vector<TokenIndex> live(kPictureTokens);
    for (TokenIndex i = 0; i < kPictureTokens; ++i) live[i] = i;
    const std::vector<TokenIndex> kept = {1, 4, 18, 51};  // one of each
    std::vector<float> masses(kPictureTokens, 1.0F);
    ASSERT_TRUE(assign_masses({cosines.data(), kPictureTokens, kPictureTokens}, live, kept, masses).ok());
    std::vector<float> of_kept;
    for (const TokenIndex token : kept) of_kept.push_back(masses[token]);
    EXPECT_EQ(of_kept, std::vector<float>(4, static_cast<float>(kPieces)));

    const std::vector<engine::PrefillStage> stages = {{.layer = 0}};
    const auto whole = prefilled(prompt, {.parts = prompt.parts});
    const auto massive =
        prefilled(prompt, {.parts = prompt.parts, .stages = stages, .selector = chosen({kept}, {of_kept})});
    const auto light =
        prefilled(prompt, {.parts = prompt.parts, .stages = stages, .selector = chosen({kept})});
    ASSERT_TRUE(whole.ok() && massive.ok() && light.ok());
    // The logarithm of a mass travels in half precision.
    EXPECT_LT(test::relative_distance(massive->logits, whole->logits), 2e-3);
    EXPECT_GT(test::relative_distance(light->logits, whole->logits), 2e-2);
}

TEST_F(InternvlTest, StagesKeepWhatTheyAreTold) {
    for (const std::string method : {"clasp", "clasp+", "random", "attention", "uniform"}) {
        SCOPED_TRACE(method);
        AskRequest pruned = request();
        pruned.method = method;
        pruned.generation.max_tokens = 1;
        pruned.forced_stages = {{1, 30}, {3, 7}};
        const Answer answer = ask(pruned);
        ASSERT_EQ(answer.stages.size(), 2U);
        EXPECT_EQ(answer.stages[0].kept.size(), 30U);
        EXPECT_EQ(answer.stages[1].kept.size(), 7U);
        EXPECT_EQ(answer.tokens.final, 7U);
        EXPECT_DOUBLE_EQ(answer.tokens.average, static_cast<double>(kPictureTokens + 2 * 30 + 5 * 7) / 8.0);
    }
}

TEST_F(InternvlTest, MethodsAnswerOrSayWhatTheModelDoesNotAllow) {
    std::set<std::string> refused;
    for (const methods::Method& method : methods::all_methods()) {
        SCOPED_TRACE(method.name);
        AskRequest pruned = request();
        pruned.method = std::string(method.name);
        pruned.budget = {BudgetSpec::Kind::Tokens, 24};
        pruned.generation.max_tokens = 1;
        const auto answer = shared()->ask(pruned);
        if (answer.ok()) {
            EXPECT_LT(answer->stages.back().kept.size(), kPictureTokens);
            continue;
        }
        EXPECT_EQ(answer.status().code(), Code::Unsupported) << answer.status().message();
        refused.insert(std::string(method.name));
    }
    for (const std::string answers : {"clasp", "clasp+", "fastv", "sparsevlm", "pdrop", "dart", "divprune"}) {
        EXPECT_FALSE(refused.contains(answers)) << answers;
    }
    // Rows of the encoder are four to a token here.
    for (const std::string refuses : {"visionzip", "tome", "prumerge", "fastervlm", "vispruner"}) {
        EXPECT_TRUE(refused.contains(refuses)) << refuses;
    }
}

// ---- Several pictures, several turns ----

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

TEST_F(InternvlTest, AFollowUpQuestionIsTheSameHistoryInOneRequest) {
    const std::unique_ptr<Engine> engine = load(1);
    Conversation conversation(*engine);
    AskRequest first = request();
    first.budget = {BudgetSpec::Kind::Percent, 50};
    const auto one = conversation.ask(first);
    ASSERT_TRUE(one.ok()) << one.status().message();
    AskRequest second;
    second.question = "And what colour are they?";
    second.generation.max_tokens = 2;
    second.want_logits = true;
    second.budget = first.budget;
    const auto two = conversation.ask(second);
    ASSERT_TRUE(two.ok()) << two.status().message();
    EXPECT_EQ(two->cache_hit, true);
    EXPECT_EQ(two->tokens.visual, kPictureTokens);
    AskRequest whole = second;
    whole.history = {
        {Message::Role::User, {{.text = {}, .image = ImageSource{{}, picture_}}, {.text = first.question}}},
        {Message::Role::Assistant, {{.text = one->text}}}};
    EXPECT_EQ(load(0)->ask(whole)->logits, two->logits);
}

}  // namespace
}  // namespace clasp
