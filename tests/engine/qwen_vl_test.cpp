// Whole requests through a small Qwen2-VL and a small Qwen2.5-VL: pictures of any shape, four patches per
// token, positions in planes, marks around pictures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "clasp/conversation.h"
#include "clasp/engine.h"
#include "clasp/schedule.h"
#include "engine/arranged_image.h"
#include "engine_fixture.h"
#include "methods/method.h"
#include "support/qwen_pair.h"
#include "support/reference_qwen.h"
#include "support/vision_fixture.h"

namespace clasp {
namespace {

using test::QwenKind;
using testing::HasSubstr;

constexpr std::size_t kQwenRows = 5;  // 168 x 140 pixels
constexpr std::size_t kQwenColumns = 6;
constexpr std::size_t kQwenVisual = kQwenRows * kQwenColumns;

class QwenVlTest : public testing::Test {
   protected:
    static constexpr std::array kKinds = {QwenKind::Qwen2, QwenKind::Qwen25, QwenKind::Qwen3};
    static constexpr std::size_t kTwo = 0;
    static constexpr std::size_t kTwoAndAHalf = 1;
    static constexpr std::size_t kThree = 2;

    static void SetUpTestSuite() {
        prefix() = std::string(test::scratch_dir()) + "/qwen-" + std::to_string(getpid());
        for (std::size_t i = 0; i < kKinds.size(); ++i) {
            const test::RandomLlama text = test::qwen_text(kKinds[i]);
            ASSERT_TRUE(test::write_random_llama(text_path(i), text));
            std::ofstream out(vision_path(i), std::ios::binary);
            test::write_random_qwen_mmproj(test::qwen_vision(kKinds[i], text), out);
            out.close();
            auto engine = Engine::load({.model = text_path(i), .mmproj = vision_path(i), .n_threads = 1});
            ASSERT_TRUE(engine.ok()) << engine.status().message();
            engines()[i] = std::move(engine).value();
        }
    }
    static void TearDownTestSuite() {
        for (std::size_t i = 0; i < kKinds.size(); ++i) {
            engines()[i].reset();
            std::filesystem::remove(text_path(i));
            std::filesystem::remove(vision_path(i));
        }
    }
    static std::string text_path(std::size_t kind) {
        return prefix() + "-" + std::to_string(kind) + "-text.gguf";
    }
    static std::string vision_path(std::size_t kind) {
        return prefix() + "-" + std::to_string(kind) + "-mmproj.gguf";
    }
    static std::string& prefix() {
        static std::string path;
        return path;
    }
    static std::array<std::unique_ptr<Engine>, kKinds.size()>& engines() {
        static std::array<std::unique_ptr<Engine>, kKinds.size()> all;
        return all;
    }

    static std::size_t n_visual(std::size_t kind) { return kind == kThree ? 72 : kQwenVisual; }
    AskRequest request() const {
        AskRequest request;
        request.images = {{{}, picture_}};
        request.question = "how many cups are on the table";
        request.generation.max_tokens = 2;
        request.want_logits = true;
        return request;
    }
    static Answer ask(const AskRequest& request, std::size_t kind = kTwoAndAHalf) {
        auto answer = engines()[kind]->ask(request);
        EXPECT_TRUE(answer.ok()) << answer.status().message();
        return answer.ok() ? std::move(answer).value() : Answer();
    }

    std::string picture_ = picture(1, 168, 140);
    std::string line_ = picture(2, 224, 28);
};

TEST_F(QwenVlTest, PicturesKeepTheirShape) {
    for (std::size_t kind = 0; kind < kKinds.size(); ++kind) {
        AskRequest asked = request();
        asked.vanilla = true;
        const Answer answer = ask(asked, kind);
        EXPECT_EQ(answer.tokens.visual, n_visual(kind));
        EXPECT_EQ(answer.tokens.entering, n_visual(kind));
        // Qwen3-VL has larger tokens, and at least 64.
        EXPECT_EQ(answer.layouts[0].grid, kind == kThree ? (Grid{8, 9}) : (Grid{kQwenRows, kQwenColumns}));
        EXPECT_EQ(answer.policy_name, kind == kThree ? "llava-by-depth" : "qwen2.5-vl");
        asked.images = {{{}, line_}};
        EXPECT_EQ(ask(asked, kind).layouts[0].grid, kind == kThree ? (Grid{3, 23}) : (Grid{1, 8}));
    }
}

TEST_F(QwenVlTest, HowFinelyPicturesAreSeenIsAChoice) {
    AskRequest asked = request();
    asked.vanilla = true;
    asked.generation.max_tokens = 1;
    asked.detail.max_tokens = 12;
    EXPECT_EQ(ask(asked).layouts[0].grid, (Grid{3, 3}));
    asked.detail = {.min_tokens = 50};
    EXPECT_EQ(ask(asked).layouts[0].grid, (Grid{7, 8}));
    asked.detail = {.min_tokens = 20000};
    EXPECT_THAT(engines()[0]->ask(asked).status().message(),
                HasSubstr("at least 20000 and at most 16384 tokens"));
}

TEST_F(QwenVlTest, KeepingEverythingIsNoMethodBitForBit) {
    for (std::size_t kind = 0; kind < kKinds.size(); ++kind) {
        for (const bool fusion : {false, true}) {
            AskRequest none = request();
            none.use_fusion = fusion;
            none.budget = {BudgetSpec::Kind::None, 0};
            const Answer without = ask(none, kind);
            for (const std::string method : {"clasp", "clasp+", "fastv"}) {
                AskRequest all = none;
                all.budget = {};
                all.method = method;
                all.forced_stages = {{1, 200}, {3, 200}};
                EXPECT_EQ(ask(all, kind).logits, without.logits) << method;
            }
        }
        AskRequest vanilla = request();
        vanilla.vanilla = true;
        AskRequest plain = request();
        plain.use_fusion = false;
        plain.budget = {BudgetSpec::Kind::None, 0};
        EXPECT_EQ(ask(vanilla, kind).logits, ask(plain, kind).logits);
        plain.use_fusion = true;
        EXPECT_NE(ask(vanilla, kind).logits, ask(plain, kind).logits);
    }
}

// The rows that enter the decoder: the original tower in plain loops, fused before its merger's norm.
TEST_F(QwenVlTest, RowsAreThoseOfASlowReference) {
    for (std::size_t kind = 0; kind <= kTwoAndAHalf; ++kind) {
        auto compute = model::Compute::create({.n_threads = 1, .use_gpu = false});
        const auto vision =
            model::VisionModel::load(vision_path(kind), {.weights = model::VisionWeights::F32}, *compute);
        const auto text = model::TextModel::load(text_path(kind), *compute);
        ASSERT_TRUE(vision.ok() && text.ok());
        const auto session = model::VisionSession::create(*vision);
        engine::VisualRequest seeing;
        seeing.mix = {{9, 0.25}, {31, 0.75}};
        const auto planned = engine::plan_pictures({{{}, picture_}}, **vision, {}, nullptr);
        const auto seen = engine::prepare_images(*planned, seeing, **session, nullptr);
        ASSERT_TRUE(seen.ok()) << seen.status().message();
        std::int32_t next_line = 0;
        const auto arranged = engine::arrange_image(seen->images[0], false, **vision, **text, next_line);
        ASSERT_TRUE(arranged.ok()) << arranged.status().message();
        ASSERT_EQ(arranged->parts.size(), 3U);
        EXPECT_EQ(arranged->parts[0].tokens.size(), 1U) << "one control token";
        EXPECT_TRUE(arranged->parts[2].is_text_of_image);
        const engine::PromptPart& part = arranged->parts[1];
        EXPECT_EQ(part.n_positions, 6);
        for (std::size_t i = 0; i < kQwenVisual; ++i) {
            EXPECT_EQ(part.offsets[i], (model::Position{{0, static_cast<std::int32_t>(i / kQwenColumns),
                                                         static_cast<std::int32_t>(i % kQwenColumns), 0}}));
        }
        const std::string file =
            test::random_qwen_mmproj(test::qwen_vision(kKinds[kind], test::qwen_text(kKinds[kind])));
        const auto reader = model::GgufReader::parse(test::bytes_of(file));
        const test::ReferenceQwen reference(*reader);
        const auto decoded =
            decode_image({reinterpret_cast<const std::uint8_t*>(picture_.data()), picture_.size()});
        const auto planes = image::normalise(*decoded, {}, Compat::Original);
        const test::ReferenceQwen::Layers layers = reference.encode(planes->values, 168, 140);
        test::Matrix fused = layers.layers[9];
        for (std::size_t i = 0; i < fused.values.size(); ++i) {
            fused.values[i] = 0.25 * fused.values[i] + 0.75 * layers.layers[31].values[i];
        }
        const std::vector<float> got(part.embeddings.begin(), part.embeddings.end());
        EXPECT_LT(test::relative_error(got, reference.project(fused, 12).values), 2e-3);
    }
}

// What Qwen3-VL's first decoder blocks get beside the tokens goes with them, also when some are lost.
TEST_F(QwenVlTest, DeepstackRowsGoWithTheirTokens) {
    auto compute = model::Compute::create({.n_threads = 1, .use_gpu = false});
    const auto vision =
        model::VisionModel::load(vision_path(kThree), {.weights = model::VisionWeights::F32}, *compute);
    const auto text = model::TextModel::load(text_path(kThree), *compute);
    ASSERT_TRUE(vision.ok() && text.ok());
    EXPECT_EQ((*text)->config().n_deepstack, 2);
    const auto session = model::VisionSession::create(*vision);
    engine::VisualRequest seeing;
    seeing.mix = {{3, 1.0}};  // the branches read deeper blocks
    const auto planned = engine::plan_pictures({{{}, picture_}}, **vision, {}, nullptr);
    auto seen = engine::prepare_images(*planned, seeing, **session, nullptr);
    ASSERT_TRUE(seen.ok()) << seen.status().message();
    engine::SeenImage& image = seen->images[0];
    const std::string file =
        test::random_qwen_mmproj(test::qwen_vision(QwenKind::Qwen3, test::qwen_text(QwenKind::Qwen3)));
    const auto reader = model::GgufReader::parse(test::bytes_of(file));
    const test::ReferenceQwen reference(*reader);
    const auto decoded =
        decode_image({reinterpret_cast<const std::uint8_t*>(picture_.data()), picture_.size()});
    const auto pieces = (*vision)->preprocess(*decoded, image.plan, Compat::Original);
    const test::ReferenceQwen::Layers layers = reference.encode(pieces->front().values, 9 * 32, 8 * 32);
    const std::size_t width = (*vision)->info().output_width;
    const test::Matrix first = reference.branch(layers.layers[5], 5, 18);
    const test::Matrix second = reference.branch(layers.layers[11], 11, 18);
    const auto check = [&](const std::vector<TokenIndex>& places) {
        std::int32_t next_line = 0;
        const auto arranged = engine::arrange_image(image, true, **vision, **text, next_line);
        ASSERT_TRUE(arranged.ok()) << arranged.status().message();
        std::vector<double> wanted;
        for (const TokenIndex place : places) {
            for (const test::Matrix* rows : {&first, &second}) {
                const auto from = rows->values.begin() + static_cast<std::ptrdiff_t>(place * width);
                wanted.insert(wanted.end(), from, from + static_cast<std::ptrdiff_t>(width));
            }
        }
        const engine::PromptPart& part = arranged->parts[1];
        const std::vector<float> got(part.additions.begin(), part.additions.end());
        EXPECT_LT(test::relative_error(got, wanted), 2e-3);
    };
    check(image.places);
    // As a method would leave it that keeps three tokens.
    const auto pick = [](const std::vector<float>& rows, std::size_t n) {
        std::vector<float> kept;
        for (const std::size_t token : {5U, 40U, 71U}) {
            const auto from = rows.begin() + static_cast<std::ptrdiff_t>(token * n);
            kept.insert(kept.end(), from, from + static_cast<std::ptrdiff_t>(n));
        }
        return kept;
    };
    image.places = {5, 40, 71};
    image.values = pick(image.values, width);
    image.additions = pick(image.additions, 2 * width);
    check(image.places);
}

// A text model and a vision file that disagree about such rows are no pair.
TEST_F(QwenVlTest, PairsAgreeAboutDeepstack) {
    const std::string path = prefix() + "-plain.gguf";
    test::RandomLlama plain = test::qwen_text(QwenKind::Qwen3);
    plain.n_deepstack = 0;
    ASSERT_TRUE(test::write_random_llama(path, plain));
    const auto engine = Engine::load({.model = path, .mmproj = vision_path(kThree), .n_threads = 1});
    std::filesystem::remove(path);
    ASSERT_FALSE(engine.ok());
    EXPECT_EQ(engine.status().code(), Code::InvalidArgument);
    EXPECT_THAT(engine.status().message(), HasSubstr("gives 2 further rows per token"));
}

// Tokens that are lost leave the others, and what follows, where they were.
TEST_F(QwenVlTest, PositionsOfWhatIsLeftStay) {
    auto compute = model::Compute::create({.n_threads = 1, .use_gpu = false});
    const auto vision = model::VisionModel::load(vision_path(kTwo), {}, *compute);
    const auto text = model::TextModel::load(text_path(kTwo), *compute);
    ASSERT_TRUE(vision.ok() && text.ok());
    const std::size_t width = (*vision)->info().output_width;
    engine::SeenImage image;
    image.plan = *(*vision)->plan({168, 140}, {});
    image.places = {3, 13, 29};
    image.values.assign(3 * width, 1.0F);
    std::int32_t next_line = 0;
    const auto some = engine::arrange_image(image, true, **vision, **text, next_line);
    ASSERT_TRUE(some.ok());
    ASSERT_EQ(some->parts.size(), 3U);
    EXPECT_EQ(some->parts[1].n_positions, 6);
    EXPECT_EQ(some->parts[1].offsets[1], (model::Position{{0, 2, 1, 0}}));
    EXPECT_EQ(some->parts[1].offsets[2], (model::Position{{0, 4, 5, 0}}));
    image.places.clear();
    image.values.clear();
    const auto none = engine::arrange_image(image, true, **vision, **text, next_line);
    ASSERT_TRUE(none.ok());
    ASSERT_EQ(none->parts.size(), 2U) << "the marks stay";
    EXPECT_EQ(none->parts[1].n_lost_before, 6) << "as many positions as the whole picture takes";
}

TEST_F(QwenVlTest, StagesKeepWhatTheySayAndAnswersDiffer) {
    AskRequest vanilla = request();
    vanilla.vanilla = true;
    for (std::size_t kind = 0; kind < kKinds.size(); ++kind) {
        for (const std::string method : {"clasp", "clasp+", "random", "fastv"}) {
            SCOPED_TRACE(method);
            AskRequest pruned = request();
            pruned.method = method;
            pruned.forced_stages = {{1, 12}, {3, 5}};
            const Answer answer = ask(pruned, kind);
            ASSERT_EQ(answer.stages.size(), 2U);
            EXPECT_EQ(answer.stages[0].kept.size(), 12U);
            EXPECT_EQ(answer.stages[1].kept.size(), 5U);
            EXPECT_LT(answer.stages[1].kept.back(), n_visual(kind));
            EXPECT_TRUE(std::includes(answer.stages[0].kept.begin(), answer.stages[0].kept.end(),
                                      answer.stages[1].kept.begin(), answer.stages[1].kept.end()));
            EXPECT_EQ(answer.tokens.final, 5U);
            EXPECT_NE(answer.logits, ask(vanilla, kind).logits);
        }
    }
    // Masses count: the same tokens, other numbers.
    AskRequest light = request();
    light.method = "clasp";
    light.forced_stages = {{1, 6}};
    AskRequest heavy = light;
    light.mass = MassRule::None;
    heavy.mass = MassRule::Nearest;
    EXPECT_EQ(ask(light).stages[0].kept, ask(heavy).stages[0].kept);
    EXPECT_NE(ask(light).logits, ask(heavy).logits);
}

TEST_F(QwenVlTest, MethodsAnswerOrSayWhatTheModelLacks) {
    std::set<std::string> refused;
    for (const methods::Method& method : methods::all_methods()) {
        SCOPED_TRACE(method.name);
        AskRequest pruned = request();
        pruned.method = std::string(method.name);
        pruned.budget = {BudgetSpec::Kind::Tokens, 10};
        pruned.generation.max_tokens = 1;
        const auto answer = engines()[kTwoAndAHalf]->ask(pruned);
        if (answer.ok()) {
            EXPECT_LT(answer->stages.back().kept.size(), kQwenVisual);
            continue;
        }
        EXPECT_EQ(answer.status().code(), Code::Unsupported) << answer.status().message();
        EXPECT_THAT(answer.status().message(),
                    testing::AnyOf(HasSubstr("class token"), HasSubstr("one token from 4")));
        refused.insert(std::string(method.name));
    }
    EXPECT_FALSE(refused.contains("clasp"));
    EXPECT_FALSE(refused.contains("fastv"));
    EXPECT_TRUE(refused.contains("visionzip"));
}

TEST_F(QwenVlTest, PicturesOfDifferentShapesShareARequest) {
    AskRequest both = request();
    both.images = {{{}, picture_}, {{}, line_}};
    both.method = "clasp";
    both.forced_stages = {{2, 14}};
    const Answer answer = ask(both);
    ASSERT_EQ(answer.layouts.size(), 2U);
    EXPECT_EQ(answer.tokens.entering, kQwenVisual + 8);
    EXPECT_EQ(answer.stages[0].kept.size(), 14U);
    both.vanilla = true;
    both.method.clear();
    both.forced_stages.clear();
    const Answer one_way = ask(both);
    std::swap(both.images[0], both.images[1]);
    EXPECT_NE(ask(both).logits, one_way.logits);
}

TEST_F(QwenVlTest, ConversationsRememberPictures) {
    const auto load = [&] {
        return Engine::load({.model = text_path(kTwoAndAHalf),
                             .mmproj = vision_path(kTwoAndAHalf),
                             .n_threads = 1,
                             .cached_images = 2})
            .value();
    };
    const auto engine = load();
    Conversation conversation(*engine, "be brief");
    const auto first = conversation.ask(request());
    ASSERT_TRUE(first.ok()) << first.status().message();
    AskRequest next = request();
    next.images.clear();
    next.question = "and what colour are they";
    const auto second = conversation.ask(next);
    ASSERT_TRUE(second.ok()) << second.status().message();
    EXPECT_EQ(second->tokens.visual, kQwenVisual);
    EXPECT_EQ(second->cache_hit, true);
    EXPECT_GT(second->tokens.text, first->tokens.text);
    AskRequest whole = next;
    whole.history = {{Message::Role::System, {{.text = "be brief"}}},
                     {Message::Role::User,
                      {{.text = {}, .image = ImageSource{{}, picture_}}, {.text = request().question}}},
                     {Message::Role::Assistant, {{.text = first->text}}}};
    const auto again = load()->ask(whole);
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(again->logits, second->logits);
}

TEST_F(QwenVlTest, ThreadsAreRefused) {
    AskRequest asked = request();
    const std::string thread = picture(1, 4, 900);
    asked.images = {{{}, thread}};
    const auto answer = engines()[kTwoAndAHalf]->ask(asked);
    ASSERT_FALSE(answer.ok());
    EXPECT_THAT(answer.status().message(), HasSubstr("4 x 900 pixels exceeds the aspect ratio limit"));
}

}  // namespace
}  // namespace clasp
