// Pictures of different sizes in one request, through a tower that gives each its own grids, fixed rows and
// text; and where the tokens of pictures lie.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "clasp/engine.h"
#include "engine/arranged_image.h"
#include "engine/live_rows.h"
#include "engine_fixture.h"
#include "image/test_images.h"
#include "support/grid_tower.h"

namespace clasp {
namespace {

using engine::LiveRow;
using engine::LiveRows;
using testing::HasSubstr;

// ---- Rows that are carried ----

std::vector<LiveRow> two_lines() {
    // text, a a |, b b |, text: lines 0 and 1, each with a carried row behind two tokens.
    std::vector<LiveRow> rows(8);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        rows[i].sequence_index = static_cast<std::int32_t>(i);
        rows[i].position = model::text_position(rows[i].sequence_index);
    }
    std::int32_t visual = 0;
    for (const std::size_t i : {1U, 2U, 4U, 5U}) {
        rows[i].visual_index = visual++;
        rows[i].line = i < 3 ? 0 : 1;
    }
    for (const std::size_t i : {3U, 6U}) {
        rows[i].is_carried = true;
        rows[i].line = i == 3 ? 0 : 1;
    }
    return rows;
}

TEST(LiveRows, ACarriedRowLivesWhileATokenOfItsLineDoes) {
    LiveRows live(two_lines());
    EXPECT_EQ(live.n_fixed(), 2U);
    auto stay = live.apply({.kept = {1, 2}, .masses = {}});
    ASSERT_TRUE(stay.ok());
    EXPECT_EQ(*stay, (std::vector<std::int32_t>{0, 2, 3, 4, 6, 7}));
    stay = live.apply({.kept = {2}, .masses = {}});
    ASSERT_TRUE(stay.ok());
    EXPECT_EQ(*stay, (std::vector<std::int32_t>{0, 3, 4, 5}));
    EXPECT_EQ(live.n_fixed(), 1U);
    EXPECT_EQ(live.rows()[2].position, model::text_position(6)) << "positions stay";
}

TEST(LiveRows, ACarriedRowWithoutALineAlwaysStays) {
    std::vector<LiveRow> rows = two_lines();
    rows[3].line = engine::kNoLine;
    LiveRows live(rows);
    ASSERT_TRUE(live.apply({.kept = {}, .masses = {}}).ok());
    ASSERT_EQ(live.size(), 3U);
    EXPECT_EQ(live.rows()[1].sequence_index, 3);
}

// ---- Whole requests ----

class GeometryTest : public testing::Test {
   protected:
    static void SetUpTestSuite() {
        test::register_grid_tower();
        prefix() = std::string(test::scratch_dir()) + "/geometry-" + std::to_string(getpid());
        test::RandomLlama text;
        text.n_layers = 8;
        text.width = 96;
        text.n_heads = 3;
        text.n_kv_heads = 3;
        text.vocabulary_file = std::string(test::llama_source_dir()) + "/models/ggml-vocab-llama-spm.gguf";
        ASSERT_TRUE(test::write_random_llama(prefix() + "-text.gguf", text));
        for (const bool has_text : {false, true}) {
            const std::string path = prefix() + (has_text ? "-marked.gguf" : "-plain.gguf");
            std::ofstream(path, std::ios::binary) << test::grid_mmproj({.has_text = has_text});
            engines()[has_text ? 1 : 0] = load(path, 2);
        }
    }
    static void TearDownTestSuite() {
        for (auto& engine : engines()) engine.reset();
        for (const char* end : {"-text.gguf", "-marked.gguf", "-plain.gguf"}) {
            std::filesystem::remove(prefix() + end);
        }
    }
    static std::unique_ptr<Engine> load(const std::string& vision, std::size_t cached) {
        auto engine = Engine::load(
            {.model = prefix() + "-text.gguf", .mmproj = vision, .n_threads = 1, .cached_images = cached});
        EXPECT_TRUE(engine.ok()) << engine.status().message();
        return engine.ok() ? std::move(engine).value() : nullptr;
    }
    static std::string& prefix() {
        static std::string path;
        return path;
    }
    static std::array<std::unique_ptr<Engine>, 2>& engines() {
        static std::array<std::unique_ptr<Engine>, 2> all;
        return all;
    }

    // wide_: 5 x 3 tokens and the overview's 4; tall_: 3 x 7 and 4.
    AskRequest request() const {
        AskRequest request;
        request.images = {{{}, wide_}, {{}, tall_}};
        request.question = "How many cups are on the table?";
        request.generation.max_tokens = 2;
        request.want_logits = true;
        request.use_fusion = false;
        return request;
    }
    static Answer ask(const AskRequest& request, bool has_text = false) {
        auto answer = engines()[has_text ? 1 : 0]->ask(request);
        EXPECT_TRUE(answer.ok()) << answer.status().message();
        return answer.ok() ? std::move(answer).value() : Answer();
    }

    // How many fixed rows go with these tokens.
    static std::size_t lines_of(const Answer& answer, const std::vector<TokenIndex>& kept) {
        std::set<std::size_t> lines;
        for (const TokenIndex token : kept) {
            std::size_t left = token;
            std::size_t line = 0;
            for (const ImageLayout& layout : answer.layouts) {
                if (left >= layout.n_tokens()) {
                    left -= layout.n_tokens();
                    line += layout.n_fixed;
                    continue;
                }
                const bool is_overview = left < test::kGridOverview;
                lines.insert(line + (is_overview ? 0 : 1 + (left - test::kGridOverview) / layout.grid.width));
                break;
            }
        }
        return lines.size();
    }

    std::string wide_ = picture(1, 40, 24);
    std::string tall_ = picture(2, 17, 50);
};

constexpr std::size_t kWide = 4 + 15;
constexpr std::size_t kTall = 4 + 21;

TEST_F(GeometryTest, EveryPictureHasItsOwnLayout) {
    AskRequest vanilla = request();
    vanilla.vanilla = true;
    const Answer answer = ask(vanilla);
    ASSERT_EQ(answer.layouts.size(), 2U);
    EXPECT_EQ(answer.layouts[0].n_tokens(), kWide);
    EXPECT_EQ(answer.layouts[1].n_tokens(), kTall);
    EXPECT_EQ(answer.layouts[0].grid, (Grid{3, 5}));
    EXPECT_EQ(answer.layouts[1].grid, (Grid{7, 3}));
    EXPECT_EQ(answer.layouts[1].resized, (PixelSize{24, 56}));
    const PixelRect cell = answer.layouts[1].cell(4 + 3 * 2 + 1);  // row 2, column 1 of the whole picture
    EXPECT_NEAR(cell.left, 17.0 / 3, 1e-9);
    EXPECT_NEAR(cell.top, 50.0 * 2 / 7, 1e-9);
    EXPECT_NEAR(cell.width, 17.0 / 3, 1e-9);
    EXPECT_EQ(answer.tokens.visual, kWide + kTall);
    EXPECT_EQ(answer.tokens.entering, kWide + kTall + 4 + 8) << "fixed rows are counted where tokens run";
    EXPECT_EQ(answer.tokens.average, static_cast<double>(answer.tokens.entering));
}

TEST_F(GeometryTest, ABudgetIsSharedByTokensAndFixedRowsGoWithTheirLines) {
    for (const bool has_text : {false, true}) {
        AskRequest pruned = request();
        pruned.method = "clasp";
        pruned.forced_stages = {{1, 22}, {3, 6}};
        const Answer answer = ask(pruned, has_text);
        ASSERT_EQ(answer.stages.size(), 2U);
        const auto of_first = [](const StageReport& stage) {
            return std::count_if(stage.kept.begin(), stage.kept.end(),
                                 [](TokenIndex token) { return token < kWide; });
        };
        // 22 * 19 / 44 = 9.5 and 12.5, ties to the first; 6 * 19 / 44 = 2.59 and 3.41.
        EXPECT_EQ(of_first(answer.stages[0]), 10);
        EXPECT_EQ(of_first(answer.stages[1]), 3);
        EXPECT_EQ(answer.stages[1].kept.size(), 6U);
        const std::size_t after_first = 22 + lines_of(answer, answer.stages[0].kept);
        const std::size_t after_second = 6 + lines_of(answer, answer.stages[1].kept);
        EXPECT_LT(after_second, 6U + 12U);
        EXPECT_EQ(answer.tokens.final, after_second);
        EXPECT_DOUBLE_EQ(answer.tokens.average,
                         static_cast<double>(56 + 2 * after_first + 5 * after_second) / 8.0);
    }
}

TEST_F(GeometryTest, TextOfAnImageIsTextAndChangesTheAnswer) {
    AskRequest vanilla = request();
    vanilla.vanilla = true;
    const Answer plain = ask(vanilla);
    const Answer marked = ask(vanilla, true);
    EXPECT_GT(marked.tokens.text, plain.tokens.text);
    EXPECT_EQ(marked.tokens.entering, plain.tokens.entering);
    EXPECT_NE(marked.logits, plain.logits);
}

TEST_F(GeometryTest, KeepingEverythingIsNoMethodBitForBit) {
    for (const bool has_text : {false, true}) {
        AskRequest none = request();
        none.budget = {BudgetSpec::Kind::None, 0};
        const Answer without = ask(none, has_text);
        for (const std::string method : {"clasp", "clasp+", "fastv"}) {
            AskRequest all = request();
            all.method = method;
            all.forced_stages = {{2, kWide + kTall}};
            EXPECT_EQ(ask(all, has_text).logits, without.logits) << method;
        }
    }
}

TEST_F(GeometryTest, MethodsAnswerOrSayWhatTheModelLacks) {
    std::set<std::string> answered;
    for (const methods::Method& method : methods::all_methods()) {
        SCOPED_TRACE(method.name);
        AskRequest pruned = request();
        pruned.method = std::string(method.name);
        pruned.budget = {BudgetSpec::Kind::Tokens, 28};
        pruned.generation.max_tokens = 1;
        for (const bool has_text : {false, true}) {
            const auto answer = engines()[has_text ? 1 : 0]->ask(pruned);
            if (!answer.ok()) {
                EXPECT_EQ(answer.status().code(), Code::Unsupported) << answer.status().message();
                continue;
            }
            answered.insert(std::string(method.name));
            EXPECT_EQ(answer->tokens.visual, kWide + kTall);
            EXPECT_LE(answer->stages.back().kept.size(), kWide + kTall);
            EXPECT_EQ(answer->tokens.final,
                      answer->stages.back().kept.size() + lines_of(*answer, answer->stages.back().kept));
            if (!has_text) {
                EXPECT_EQ(ask(pruned).logits, answer->logits);
            }
        }
    }
    for (const char* name : {"clasp", "clasp+", "random", "uniform", "fastv", "dart", "divprune", "pdrop"}) {
        EXPECT_TRUE(answered.contains(name)) << name;
    }
    const auto refusal = [&](const std::string& method) {
        AskRequest pruned = request();
        pruned.method = method;
        pruned.budget = {BudgetSpec::Kind::Tokens, 28};
        return engines()[0]->ask(pruned).status().message();
    };
    EXPECT_THAT(refusal("fastervlm"), HasSubstr("needs an encoder with a class token"));
    EXPECT_THAT(refusal("tome"), HasSubstr("makes one token from 4"));
    EXPECT_THAT(refusal("btp"), HasSubstr("as one grid"));
}

TEST_F(GeometryTest, LayersOfAllPiecesAreRemembered) {
    AskRequest asked = request();
    asked.vanilla = true;
    const auto engine = load(prefix() + "-plain.gguf", 2);
    const auto first = engine->ask(asked);
    const auto second = engine->ask(asked);
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_EQ(first->cache_hit, false);
    EXPECT_EQ(second->cache_hit, true);
    EXPECT_EQ(second->timings.encode_ms, 0.0);
    EXPECT_EQ(second->logits, first->logits);
    const auto fresh = load(prefix() + "-plain.gguf", 0)->ask(asked);
    ASSERT_TRUE(fresh.ok());
    EXPECT_EQ(fresh->logits, first->logits);
}

// ---- One image of several ----

TEST_F(GeometryTest, EqualPicturesAreTreatedAlike) {
    for (const std::string method : {"divprune", "random"}) {
        AskRequest twice = request();
        twice.images = {{{}, tall_}, {{}, tall_}};
        twice.method = method;
        twice.budget = {BudgetSpec::Kind::Tokens, 20};
        twice.budget_kind = method == "divprune" ? "entering" : "average";
        const Answer answer = ask(twice);
        std::vector<TokenIndex> first;
        std::vector<TokenIndex> second;
        for (const TokenIndex token : answer.stages.front().kept) {
            (token < kTall ? first : second).push_back(token % kTall);
        }
        EXPECT_EQ(first, second) << method;
        EXPECT_FALSE(first.empty());
    }
}

// What an image's tokens are does not depend on the images beside it.
TEST_F(GeometryTest, DifferentPicturesAreWhatEachIsAlone) {
    auto compute = model::Compute::create({.n_threads = 1, .use_gpu = false});
    const auto vision = model::VisionModel::load(prefix() + "-plain.gguf", {}, *compute);
    ASSERT_TRUE(vision.ok()) << vision.status().message();
    const auto session = model::VisionSession::create(*vision);
    const auto see = [&](const std::vector<ImageSource>& sources) {
        engine::VisualRequest seeing;
        seeing.mix = {{4, 0.25}, {22, 0.75}};
        const auto pictures = engine::plan_pictures(sources, **vision, {}, nullptr);
        EXPECT_TRUE(pictures.ok());
        auto seen = engine::prepare_images(*pictures, seeing, **session, nullptr);
        EXPECT_TRUE(seen.ok()) << seen.status().message();
        return std::move(seen).value();
    };
    const engine::VisualInput both = see({{{}, wide_}, {{}, tall_}, {{}, wide_}});
    const engine::VisualInput wide = see({{{}, wide_}});
    const engine::VisualInput tall = see({{{}, tall_}});
    EXPECT_EQ(both.images[0].values, wide.images[0].values);
    EXPECT_EQ(both.images[1].values, tall.images[0].values);
    EXPECT_EQ(both.images[2].values, wide.images[0].values);
    EXPECT_EQ(both.images[0].gram, wide.images[0].gram);
    EXPECT_EQ(both.images[0].picture, both.images[2].picture);
    EXPECT_NE(both.images[0].picture, both.images[1].picture);

    // The arrangement: the overview, its separator, then rows of five with a line break each.
    auto text = model::TextModel::load(prefix() + "-text.gguf", *compute);
    ASSERT_TRUE(text.ok());
    std::int32_t next_line = 3;
    const auto arranged = engine::arrange_image(both.images[0], false, **vision, **text, next_line);
    ASSERT_TRUE(arranged.ok()) << arranged.status().message();
    ASSERT_EQ(arranged->parts.size(), 1U);
    EXPECT_EQ(arranged->n_rows, kWide + 4);
    const engine::PromptPart& part = arranged->parts[0];
    std::size_t token = 0;
    const std::set<std::size_t> fixed = {4, 10, 16, 22};
    for (std::size_t row = 0; row < arranged->n_rows; ++row) {
        const bool is_fixed = fixed.contains(row);
        EXPECT_EQ(part.is_carried[row], is_fixed ? 1 : 0) << row;
        EXPECT_EQ(part.places[row], static_cast<std::int32_t>(row));
        EXPECT_EQ(part.lines[row], 3 + (row < 5 ? 0 : 1 + (static_cast<std::int32_t>(row) - 5) / 6));
        const std::vector<float> values(part.embeddings.begin() + static_cast<std::ptrdiff_t>(row * 96),
                                        part.embeddings.begin() + static_cast<std::ptrdiff_t>(row * 96 + 96));
        const auto from = both.images[0].values.begin() + static_cast<std::ptrdiff_t>(token * 96);
        EXPECT_EQ(values,
                  is_fixed ? *(*vision)->fixed_row(row == 4 ? 1 : 0) : std::vector<float>(from, from + 96));
        if (!is_fixed) ++token;
    }
    EXPECT_EQ(next_line, 7);
}

// Tokens that left before the decoder: positions stay, lines without a token do not enter.
TEST_F(GeometryTest, AnArrangementLeavesOutWhatIsLost) {
    auto compute = model::Compute::create({.n_threads = 1, .use_gpu = false});
    const auto vision = model::VisionModel::load(prefix() + "-marked.gguf", {}, *compute);
    const auto text = model::TextModel::load(prefix() + "-text.gguf", *compute);
    ASSERT_TRUE(vision.ok() && text.ok());
    engine::SeenImage image;
    image.plan = *(*vision)->plan({40, 24}, {});
    image.places = {16, 9, 5};  // rows 2, 1 and 0 of the whole picture, in some order
    for (const float value : {16.0F, 9.0F, 5.0F}) image.values.insert(image.values.end(), 96, value);
    std::int32_t next_line = 0;
    const auto arranged = engine::arrange_image(image, true, **vision, **text, next_line);
    ASSERT_TRUE(arranged.ok()) << arranged.status().message();
    ASSERT_EQ(arranged->parts.size(), 2U) << "nothing is left of the overview";
    EXPECT_TRUE(arranged->parts[0].is_text_of_image);
    EXPECT_EQ(arranged->parts[0].n_lost_before, 5) << "the overview and its separator";
    const engine::PromptPart& rows = arranged->parts[1];
    EXPECT_EQ(std::vector<std::int32_t>(rows.places.begin(), rows.places.end()),
              (std::vector<std::int32_t>{1, 5, 6, 11, 14, 17}));
    EXPECT_EQ(std::vector<std::uint8_t>(rows.is_carried.begin(), rows.is_carried.end()),
              (std::vector<std::uint8_t>{0, 1, 0, 1, 0, 1}));
    EXPECT_EQ(rows.embeddings[0], 5.0F);
    EXPECT_EQ(rows.embeddings[2 * 96], 9.0F);
    EXPECT_EQ(rows.n_unpruned, 18);
}

// ---- Pictures as the model saw them ----

TEST_F(EngineTest, PicturesAreGivenBackAsTheModelSawThem) {
    AskRequest asked = request();
    const std::string path = image::testing::picture_path("exif_flower_bigendian_8.jpg");
    asked.images = {{path, {}}};
    asked.vanilla = true;
    EXPECT_TRUE(ask(asked).pictures.empty());
    asked.want_pictures = true;
    const Answer upright = ask(asked);
    ASSERT_EQ(upright.pictures.size(), 1U);
    EXPECT_EQ(upright.pictures[0]->width, 360);
    EXPECT_EQ(upright.layouts[0].picture, (PixelSize{360, 480}));
    EXPECT_NEAR(upright.layouts[0].cell(0).left, -60.0, 1e-9);
    asked.compat = Compat::LlamaCpp;
    const Answer stored = ask(asked);
    EXPECT_EQ(stored.pictures[0]->width, 480);
    EXPECT_EQ(stored.layouts[0].picture, (PixelSize{480, 360}));
    EXPECT_NEAR(stored.layouts[0].cell(0).left, 0.0, 1e-9);
}

TEST_F(EngineTest, EqualPicturesOfARequestKeepTheSame) {
    AskRequest twice = request();
    twice.images = {{{}, picture_}, {{}, picture_}};
    twice.method = "divprune";
    twice.budget = {BudgetSpec::Kind::Tokens, 40};
    const Answer both = ask(twice);
    AskRequest once = request();
    once.method = "divprune";
    once.budget = {BudgetSpec::Kind::Tokens, 20};
    const Answer alone = ask(once);
    std::vector<TokenIndex> first;
    std::vector<TokenIndex> second;
    for (const TokenIndex token : both.stages.front().kept) {
        (token < kTokens ? first : second).push_back(static_cast<TokenIndex>(token % kTokens));
    }
    EXPECT_EQ(first, second);
    EXPECT_EQ(first, alone.stages.front().kept);
}

}  // namespace
}  // namespace clasp
