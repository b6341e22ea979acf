// Every family of models through the commands and the C API, as users of its files would run them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/npy.h"
#include "clasp/clasp_engine.h"
#include "clasp/engine.h"
#include "clasp/image.h"
#include "model/mtmd_library.h"
#include "model/quant_matrix.h"
#include "run_program.h"
#include "support/family_files.h"
#include "support/json.h"
#include "support/paths.h"
#include "support/random_llama.h"

namespace clasp::cli {
namespace {

namespace fs = std::filesystem;
using base::Json;
using testing::HasSubstr;

const std::string kQuestion = "how many cups are on the table";
const std::string kBudget = "50%";

double number(const Json& value) {
    return value.get<double>().value_or(-1.0);
}

const Json& last_stage(const Json& answer) {
    return answer["stages"][answer["stages"].size() - 1];
}

// The files of a family, and a picture of a usual shape, in a folder that is deleted with them.
class FamilyCommands : public testing::TestWithParam<std::string> {
   protected:
    void SetUp() override {
        if (model_.needs_libmtmd && !model::mtmd_library().ok()) {
            GTEST_SKIP() << model::mtmd_library().status().message();
        }
        fs::create_directories(folder_);
        std::ofstream(picture(), std::ios::binary) << test::picture(1, model_.picture);
    }
    void TearDown() override { fs::remove_all(folder_); }

    [[nodiscard]] std::string picture() const { return folder_ + "/picture.bmp"; }
    [[nodiscard]] std::string in_folder(const std::string& name) const { return folder_ + "/" + name; }
    [[nodiscard]] std::vector<std::string> words(std::vector<std::string> command,
                                                 std::vector<std::string> more = {}) const {
        command.insert(command.end(),
                       {"--model", files_.text(), "--mmproj", files_.vision(), "--threads", "1"});
        command.insert(command.end(), more.begin(), more.end());
        return command;
    }
    // What a command says as JSON, when it succeeds.
    [[nodiscard]] static Json said(std::vector<std::string> command) {
        command.emplace_back("--json");
        const Outcome outcome = run(command);
        EXPECT_EQ(outcome.code, 0) << command.front() << ": " << outcome.err;
        return outcome.code == 0 ? test::parsed(outcome.out) : Json();
    }
    [[nodiscard]] Json asked(std::vector<std::string> more = {}) const {
        more.insert(more.end(), {"--max-tokens", "2", "--budget", kBudget});
        return said(words({"ask", picture(), kQuestion}, more));
    }
    [[nodiscard]] std::size_t n_planned() const { return model_.n_tokens + model_.n_fixed; }

    const test::FamilyModel model_ = test::family_model(GetParam());
    const test::FamilyFiles files_{model_};
    const std::string folder_ =
        std::string(test::scratch_dir()) + "/commands-" + GetParam() + "-" + std::to_string(getpid());
};

TEST_P(FamilyCommands, AskAnswersFewerTokensAndDrawsThem) {
    const std::string map = in_folder("map.png");
    const Json answer = asked({"--map", map});
    EXPECT_EQ(answer["tokens"]["visual"], model_.n_tokens);  // line breaks are carried, not counted
    EXPECT_LT(number(answer["tokens"]["average"]), 0.6 * static_cast<double>(n_planned()));
    EXPECT_EQ(answer["method"], "clasp");
    ASSERT_FALSE(answer["stages"].empty());
    EXPECT_EQ(last_stage(answer)["kept"], last_stage(answer)["tokens"].size());
    EXPECT_GT(number(last_stage(answer)["kept"]), 0.0);
    EXPECT_GT(number(answer["kv_bytes"]), 0.0);
    const auto drawn = load_image(map);
    ASSERT_TRUE(drawn.ok()) << drawn.status().message();
    // The picture, and a panel for each stage.
    EXPECT_GT(drawn->width, (answer["stages"].size() + 1) * 100);
}

TEST_P(FamilyCommands, InspectCountsWhatAskSees) {
    const std::string size =
        std::to_string(model_.picture.width) + "x" + std::to_string(model_.picture.height);
    std::vector<std::string> command = {"inspect", files_.text(), "--mmproj", files_.vision()};
    if (!model_.needs_libmtmd) command.insert(command.end(), {"--image", size});
    const Json facts = said(command);
    EXPECT_EQ(facts["supported"], true);
    // What is exact, and what a user of llama.cpp finds otherwise.
    const Json& vision = facts["vision"];
    const bool is_in_llama_cpp = !vision["llama_cpp_feature_layer"].is_null();
    EXPECT_EQ(vision.contains("exactness"), is_in_llama_cpp);
    EXPECT_EQ(vision["differences"].empty(), model_.needs_libmtmd || !is_in_llama_cpp);
    if (!vision["differences"].empty()) {
        const auto first = vision["differences"][0].get<std::string>().value();
        EXPECT_THAT(run(command).out, HasSubstr("differs        " + first));
    }
    if (!model_.needs_libmtmd) {
        EXPECT_EQ(facts["image"]["tokens"], n_planned());
    }
}

TEST_P(FamilyCommands, CompareBenchAndChatRun) {
    const Json compared = said(
        words({"compare", picture(), kQuestion}, {"--methods", "clasp,fastv,random", "--budget", kBudget,
                                                  "--max-tokens", "2", "--map", in_folder("compared.png")}));
    EXPECT_EQ(compared["rows"].size(), 3U);
    EXPECT_EQ(compared["vanilla"]["tokens"]["visual"], model_.n_tokens);
    for (const Json& row : compared["rows"]) EXPECT_TRUE(row["error"].is_null());
    EXPECT_TRUE(fs::exists(in_folder("compared.png")));

    const Json bench = said(words({"bench", "--image", picture()},
                                  {"--budgets", "none," + kBudget, "--repeats", "1", "--generate", "1"}));
    ASSERT_EQ(bench["rows"].size(), 2U);
    EXPECT_GT(number(bench["rows"][1]["timings_ms"]["first_token"]), 0.0);

    const Outcome chat = run(words({"chat", picture()}, {"--max-tokens", "2", "--json"}),
                             {.input = kQuestion + "\nand how many plates\n"});
    EXPECT_EQ(chat.code, 0) << chat.err;
    EXPECT_EQ(std::count(chat.out.begin(), chat.out.end(), '\n'), 2) << chat.out;
}

TEST_P(FamilyCommands, EvalAndCalibrateRun) {
    const std::string scenes = in_folder("scenes");
    ASSERT_EQ(run({"scenes", "--split", "calibrate", "--count", "18", "--out", scenes}).code, 0);
    const Json summary = said(words(
        {"eval", "scenes", "--data", scenes},
        {"--methods", "clasp", "--budgets", "none," + kBudget, "--limit", "2", "--out", in_folder("run")}));
    ASSERT_EQ(summary["rows"].size(), 2U);
    const std::string policy = in_folder("policy.json");
    const Outcome calibrated =
        run(words({"calibrate", "--data", scenes},
                  {"--budget", kBudget, "--samples-per-class", "2", "--max-tokens", "2", "--out", policy}));
    EXPECT_EQ(calibrated.code, 0) << calibrated.err;
    EXPECT_EQ(asked({"--policy", policy})["tokens"]["visual"], model_.n_tokens);
}

TEST_P(FamilyCommands, TheCInterfaceGivesTheSameAnswer) {
    const Json answer = asked();
    clasp_error error;
    clasp_setup* setup = nullptr;
    ASSERT_EQ(clasp_setup_create(&setup, &error), CLASP_OK);
    const std::vector<std::pair<const char*, std::string>> setting = {
        {"model", files_.text()}, {"mmproj", files_.vision()}, {"threads", "1"}};
    for (const auto& [name, value] : setting) {
        ASSERT_EQ(clasp_setup_set(setup, name, value.c_str(), &error), CLASP_OK) << error.message;
    }
    clasp_engine* engine = nullptr;
    ASSERT_EQ(clasp_engine_load(setup, &engine, &error), CLASP_OK) << error.message;
    clasp_setup_destroy(setup);
    clasp_request* request = nullptr;
    ASSERT_EQ(clasp_request_create(kQuestion.c_str(), &request, &error), CLASP_OK);
    ASSERT_EQ(clasp_request_add_file(request, picture().c_str(), &error), CLASP_OK) << error.message;
    ASSERT_EQ(clasp_request_set(request, "budget", kBudget.c_str(), &error), CLASP_OK) << error.message;
    ASSERT_EQ(clasp_request_set(request, "max_tokens", "2", &error), CLASP_OK) << error.message;
    clasp_answer* given = nullptr;
    ASSERT_EQ(clasp_engine_ask(engine, request, &given, &error), CLASP_OK) << error.message;
    EXPECT_EQ(answer["answer"], clasp_answer_text(given));
    const std::size_t n_stages = clasp_answer_stage_count(given);
    ASSERT_EQ(n_stages, answer["stages"].size());
    std::size_t n_kept = 0;
    const std::uint32_t* kept = clasp_answer_stage_kept(given, n_stages - 1, &n_kept);
    EXPECT_EQ(std::vector<std::uint32_t>(kept, kept + n_kept),
              last_stage(answer)["tokens"].get<std::vector<std::uint32_t>>());
    clasp_answer_destroy(given);
    clasp_request_destroy(request);
    clasp_engine_destroy(engine);
}

// Every row sees pictures as finely as was asked, the unpruned one too.
class QwenCommands : public FamilyCommands {};
TEST_P(QwenCommands, ACalibrationsRowsSeeTheSamePictures) {
    const std::string scenes = in_folder("scenes");
    ASSERT_EQ(run({"scenes", "--split", "calibrate", "--count", "4", "--out", scenes}).code, 0);
    const Json summary =
        said(words({"eval", "ablation", "calibration", "--data", scenes},
                   {"--calibration-data", scenes, "--calibration-sizes", "2", "--budgets", kBudget, "--limit",
                    "1", "--max-tokens", "1", "--image-min-tokens", "8", "--image-max-tokens", "12"}));
    ASSERT_EQ(summary["rows"].size(), 4U);
    EXPECT_LE(number(summary["rows"][0]["average_tokens"]), 12.0);
    EXPECT_LT(number(summary["rows"][1]["average_tokens"]), 8.0);
}
INSTANTIATE_TEST_SUITE_P(Qwen, QwenCommands, testing::Values("Qwen25Vl"),
                         [](const auto& family) { return family.param; });

// Sums of Q6_K have another order in ggml's products than in ours, so the logits tell which ran.
TEST(KernelsOption, NamesWhoseProductsRun) {
    if (!model::QuantMatrix::is_fast()) GTEST_SKIP() << "this processor has no kernels of ours";
    const std::string base = std::string(test::scratch_dir()) + "/whose-" + std::to_string(::getpid());
    const std::string text = base + ".gguf";
    ASSERT_TRUE(test::write_random_llama(text, {.width = 256, .ffn_width = 512, .type = GGML_TYPE_Q6_K}));
    const auto asked_with = [&](const std::vector<std::string>& more) {
        const std::string dump = base + ".npy";
        std::vector<std::string> words = {"ask", "abc",           "-m", text, "-t", "1", "--max-tokens",
                                          "1",   "--dump-logits", dump};
        words.insert(words.end(), more.begin(), more.end());
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        const auto logits = base::read_npy(dump);
        EXPECT_TRUE(logits.ok());
        fs::remove(dump);
        return logits.ok() ? logits->to_float32() : std::vector<float>();
    };
    const auto logits_of = [&](const std::string& kernels) {
        const auto engine = Engine::load({.model = text, .kernels = kernels, .n_threads = 1});
        EXPECT_TRUE(engine.ok()) << engine.status().message();
        AskRequest request;
        request.question = "abc";
        request.generation.max_tokens = 1;
        request.want_logits = true;
        const auto answer = (*engine)->ask(request);
        EXPECT_TRUE(answer.ok()) << answer.status().message();
        return answer.ok() ? answer->logits : std::vector<float>();
    };
    EXPECT_EQ(asked_with({"--kernels", "ggml"}), logits_of("ggml"));
    EXPECT_EQ(asked_with({"--kernels", "ours"}), logits_of("ours"));
    EXPECT_EQ(asked_with({}), logits_of("ours"));
    EXPECT_NE(logits_of("ggml"), logits_of("ours"));
    const Outcome refused = run({"ask", "abc", "-m", text, "--kernels", "theirs"});
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr("--kernels"));
    fs::remove(text);
}

INSTANTIATE_TEST_SUITE_P(All, FamilyCommands, testing::ValuesIn(test::family_names()),
                         [](const auto& family) { return family.param; });

}  // namespace
}  // namespace clasp::cli
