// Whole requests through a small Qwen2-VL and a small Qwen2.5-VL: pictures of any shape, four patches per
// token, positions in planes, marks around pictures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "clasp/engine.h"
#include "engine/arranged_image.h"
#include "support/family_files.h"
#include "support/qwen_pair.h"
#include "support/reference_qwen.h"
#include "support/vision_fixture.h"

namespace clasp {
namespace {

using test::picture;
using test::QwenKind;
using testing::HasSubstr;

constexpr std::size_t kQwenRows = 5;  // 168 x 140 pixels
constexpr std::size_t kQwenColumns = 6;
constexpr std::size_t kQwenVisual = kQwenRows * kQwenColumns;

class QwenVlTest : public testing::Test {
   protected:
    static constexpr std::array kKinds = {QwenKind::Qwen2, QwenKind::Qwen25, QwenKind::Qwen3};
    static constexpr std::array kFamilies = {"Qwen2Vl", "Qwen25Vl", "Qwen3Vl"};
    static constexpr std::size_t kTwo = 0;
    static constexpr std::size_t kTwoAndAHalf = 1;
    static constexpr std::size_t kThree = 2;

    static void SetUpTestSuite() {
        for (std::size_t i = 0; i < kKinds.size(); ++i) {
            files()[i] = std::make_unique<test::FamilyFiles>(test::family_model(kFamilies[i]));
            engines()[i] = files()[i]->load();
        }
    }
    static void TearDownTestSuite() {
        for (auto& engine : engines()) engine.reset();
        for (auto& both : files()) both.reset();
    }
    static std::string text_path(std::size_t kind) { return files()[kind]->text(); }
    static std::string vision_path(std::size_t kind) { return files()[kind]->vision(); }
    static std::array<std::unique_ptr<test::FamilyFiles>, kKinds.size()>& files() {
        static std::array<std::unique_ptr<test::FamilyFiles>, kKinds.size()> all;
        return all;
    }
    static std::array<std::unique_ptr<Engine>, kKinds.size()>& engines() {
        static std::array<std::unique_ptr<Engine>, kKinds.size()> all;
        return all;
    }

    static std::size_t n_visual(std::size_t kind) { return kind == kThree ? 72 : kQwenVisual; }
    [[nodiscard]] AskRequest request() const { return test::question_about(picture_); }
    static Answer ask(const AskRequest& request, std::size_t kind = kTwoAndAHalf) {
        return test::answer_of(*engines()[kind], request);
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
    const std::string path =
        std::string(test::scratch_dir()) + "/qwen-plain-" + std::to_string(getpid()) + ".gguf";
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

// The same tokens, other numbers.
TEST_F(QwenVlTest, MassesCount) {
    AskRequest light = request();
    light.method = "clasp";
    light.forced_stages = {{1, 6}};
    AskRequest heavy = light;
    light.mass = MassRule::None;
    heavy.mass = MassRule::Nearest;
    EXPECT_EQ(ask(light).stages[0].kept, ask(heavy).stages[0].kept);
    EXPECT_NE(ask(light).logits, ask(heavy).logits);
}

// A picture with transparency is seen as if somebody had laid it on white before.
TEST_F(QwenVlTest, TransparencyLiesOnWhite) {
    std::ifstream file(std::string(test::source_dir()) + "/tests/data/images/logo_rgba.png",
                       std::ios::binary);
    const std::string png((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    ASSERT_FALSE(png.empty());
    const auto as_bmp = [&](Alpha alpha) {
        const auto image =
            decode_image({reinterpret_cast<const std::uint8_t*>(png.data()), png.size()}, {.alpha = alpha});
        EXPECT_TRUE(image.ok()) << image.status().message();
        const auto width = static_cast<std::uint32_t>(image->width);
        const auto height = static_cast<std::uint32_t>(image->height);
        EXPECT_EQ(width % 4, 0U);
        // From the bottom up, blue first.
        return test::make_bmp(width, height, [&](std::uint32_t i) -> std::uint32_t {
            const std::uint32_t row = height - 1 - i / (3 * width);
            const std::uint32_t pixel = row * width + i / 3 % width;
            return image->rgb[pixel * 3 + 2 - i % 3];
        });
    };
    const std::string on_white = as_bmp(Alpha::OnWhite);
    const std::string dropped = as_bmp(Alpha::Drop);
    ASSERT_NE(on_white, dropped);
    for (std::size_t kind = 0; kind < kKinds.size(); ++kind) {
        for (const Compat compat : {Compat::Original, Compat::LlamaCpp}) {
            AskRequest transparent = test::question_about(png);
            transparent.vanilla = true;
            transparent.compat = compat;
            AskRequest laid = transparent;
            laid.images = {{{}, compat == Compat::Original ? on_white : dropped}};
            EXPECT_EQ(ask(transparent, kind).logits, ask(laid, kind).logits) << kind;
        }
    }
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
