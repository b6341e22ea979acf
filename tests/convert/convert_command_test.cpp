// The command: options, exit codes, the lines and the JSON that it prints, and that every field is on the
// page.
#include <algorithm>

#include "cli/run_program.h"
#include "convert_case.h"
#include "docs/json_page.h"
#include "support/json.h"

namespace clasp {
namespace {

using namespace test;
using cli::Outcome;
using testing::HasSubstr;

class ConvertCommand : public ConvertCase {
   protected:
    void SetUp() override {
        ConvertCase::SetUp();
        RandomLlama text = llava_family_text();
        text.n_layers = 2;
        MmprojSpec vision = clip_family_vision();
        vision.n_blocks = 3;
        pair_ = {made_text(text), made_vision(vision)};
        write_llava_port(pair_, {.n_files = 2}, false, false);
    }
    [[nodiscard]] Outcome run(std::vector<std::string> more, const cli::Surroundings& around = {}) const {
        std::vector<std::string> words = {"convert", folder().string(), "--out", prefix(), "--threads", "1"};
        words.insert(words.end(), more.begin(), more.end());
        return cli::run(words, around);
    }

    Pair pair_;
};

TEST_F(ConvertCommand, WritesThePairAndSaysSo) {
    const Outcome result = run({});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("LLaVA (Hugging Face), 2 files of weights"));
    EXPECT_THAT(result.out, HasSubstr("wrote " + text_path() + ": llama, f16"));
    EXPECT_THAT(result.out, HasSubstr("wrote " + vision_path() + ": clip, f16"));
    const Outcome inspected = cli::run({"inspect", text_path(), "--mmproj", vision_path(), "--json"});
    EXPECT_EQ(inspected.code, 0) << inspected.err;
    EXPECT_THAT(inspected.out, HasSubstr("\"supported\":true"));
}

TEST_F(ConvertCommand, TheTypeOfTheVisionFileFollowsOrIsGiven) {
    const auto types = [&](std::vector<std::string> words) {
        words.insert(words.end(), {"--force", "--json"});
        const base::Json json = parsed(run(words).out);
        return json["text"]["type"].get<std::string>().value_or("") + " " +
               json["vision"]["type"].get<std::string>().value_or("");
    };
    EXPECT_EQ(types({}), "f16 f16");
    EXPECT_EQ(types({"--type", "BF16"}), "bf16 bf16");
    EXPECT_EQ(types({"--type", "q8_0"}), "q8_0 f16");
    EXPECT_EQ(types({"--type", "q4_0", "--mmproj-type", "q8_0"}), "q4_0 q8_0");
}

TEST_F(ConvertCommand, JsonHasEveryFieldAndNothingElse) {
    const Outcome result = run({"--json"});
    ASSERT_EQ(result.code, 0) << result.err;
    const base::Json json = parsed(result.out);
    EXPECT_EQ(json["inputs"].size(), 2U);
    EXPECT_TRUE(json["inputs"][std::size_t{0}]["sha256"].is_null());
    EXPECT_EQ(json["text"]["file"].get<std::string>(), text_path());
    EXPECT_EQ(json["text"]["sha256"].get<std::string>().value_or("").size(), 64U);
    EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 1);
    EXPECT_THAT(JsonPage::read().undocumented("convert", json), testing::IsEmpty());
}

TEST_F(ConvertCommand, WrongUsageIsTold) {
    EXPECT_EQ(run({"--type", "q3_k"}).code, 2);
    EXPECT_EQ(cli::run({"convert", folder().string()}).code, 2);
    EXPECT_EQ(cli::run({"convert", "--out", prefix()}).code, 2);
    EXPECT_EQ(cli::run({"convert", folder().string(), "--out", "/nowhere/at/all"}).code, 2);
    EXPECT_EQ(cli::run({"convert", folder().string(), "--out", folder().string() + "/"}).code, 2);
    EXPECT_EQ(cli::run({"convert", folder().string(), "--out", ""}).code, 2);
}

TEST_F(ConvertCommand, FailuresAreOneLine) {
    const Outcome missing = cli::run({"convert", "/nowhere", "--out", prefix()});
    EXPECT_EQ(missing.code, 1);
    EXPECT_EQ(std::count(missing.err.begin(), missing.err.end(), '\n'), 1) << missing.err;
    ASSERT_EQ(run({}).code, 0);
    const Outcome again = run({});
    EXPECT_EQ(again.code, 1);
    EXPECT_THAT(again.err, HasSubstr("--force"));
    EXPECT_EQ(run({"--force"}).code, 0);
    const Outcome json = run({"--json"});
    EXPECT_EQ(parsed(json.out)["error"]["code"].get<std::string>(), "invalid_argument");
}

TEST_F(ConvertCommand, NotesGoToStandardError) {
    const Outcome result = run({"--type", "q4_k", "--json"});
    EXPECT_EQ(result.code, 0);
    EXPECT_THAT(result.err, HasSubstr("note: "));
    EXPECT_THAT(result.err, HasSubstr("q8_0, because their rows"));
    EXPECT_GT(parsed(result.out)["notes"].size(), 0U);
}

TEST_F(ConvertCommand, ProgressIsShownOnATerminal) {
    const Outcome result = run({}, {.on_terminal = true});
    EXPECT_EQ(result.code, 0);
    EXPECT_THAT(result.err, HasSubstr("writing"));
    EXPECT_THAT(result.err, HasSubstr("####"));
}

}  // namespace
}  // namespace clasp
