// The page about JSON output lists every field that the commands with a model write. The embedded model
// answers; what it says does not matter here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/file.h"
#include "cli/run_program.h"
#include "json_page.h"
#include "support/gguf_edit.h"
#include "support/json.h"
#include "support/paths.h"

namespace clasp {
namespace {

namespace fs = std::filesystem;
using base::Json;
using testing::IsEmpty;

const std::string kQuestion = "How many yellow crosses are in the picture?";

std::string picture() {
    return std::string(test::source_dir()) + "/examples/pictures/crosses.png";
}

std::string model(const std::string& file) {
    return std::string(test::source_dir()) + "/models/" + file;
}

class JsonOfModels : public testing::Test {
   protected:
    void SetUp() override {
        folder_ =
            fs::path(test::scratch_dir()) /
            (std::string("json-models-") + testing::UnitTest::GetInstance()->current_test_info()->name() +
             "-" + std::to_string(getpid()));
        fs::create_directories(folder_);
    }
    void TearDown() override { fs::remove_all(folder_); }

    [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }

    [[nodiscard]] std::string scenes(const std::string& split, int count) const {
        const std::string folder = path("scenes-" + split);
        EXPECT_EQ(
            cli::run({"scenes", "--split", split, "--count", std::to_string(count), "--out", folder}).code,
            0);
        return folder;
    }

    // Runs a command with --json on one thread and gives what it prints.
    [[nodiscard]] static Json run(std::vector<std::string> words, int code = 0) {
        if (words.front() != "inspect" && words.front() != "cache" && words[1] != "report") {
            words.insert(words.end(), {"--threads", "1"});
        }
        words.emplace_back("--json");
        const cli::Outcome result = cli::run(words);
        EXPECT_EQ(result.code, code) << words.front() << ": " << result.err;
        return test::parsed(result.out);
    }

    void expect_listed(const std::string& section, const Json& output) const {
        ASSERT_TRUE(output.is_object());
        EXPECT_THAT(page_.undocumented(section, output), IsEmpty());
    }

    void expect_file_listed(const std::string& section, const std::string& file, bool is_lines) const {
        std::ifstream stream(file);
        std::ostringstream text;
        text << stream.rdbuf();
        std::istringstream lines(text.str());
        std::string line = text.str();
        std::size_t n_objects = 0;
        while (is_lines ? static_cast<bool>(std::getline(lines, line)) : n_objects == 0) {
            expect_listed(section, test::parsed(line));
            ++n_objects;
        }
        EXPECT_GT(n_objects, 0U) << file;
    }

    fs::path folder_;
    test::JsonPage page_ = test::JsonPage::read();
};

// One entry per way of asking that reports differently; add a line for a new field that only some requests
// have.
TEST_F(JsonOfModels, Ask) {
    fs::create_directories(folder_ / "cache");
    const std::vector<std::vector<std::string>> ways = {
        {},
        {"--budget", "64"},
        {"--budget", "auto"},
        {"--vanilla"},
        {"--method", "fastv", "--budget", "128"},
        {"--method", "visionzip", "--budget", "64", "--position-mode", "compact"},
        {"--method", "tome", "--budget", "64"},
        {"--class", "Counting", "--mass", "nearest"},
        {"--schedule", "1:200,3:64"},
        {"--cache", (folder_ / "cache").string()},
        {"--cache", (folder_ / "cache").string()},
    };
    for (const auto& options : ways) {
        std::vector<std::string> words = {"ask", picture(), kQuestion};
        words.insert(words.end(), options.begin(), options.end());
        expect_listed("ask", run(words));
    }
    const std::string clip = std::string(test::source_dir()) + "/tests/data/images/anim_tiny.gif";
    expect_listed("ask", run({"ask", clip, kQuestion, "-m", "tiny", "--frames", "1"}));
    expect_listed("ask", run({"ask", clip, clip, kQuestion, "-m", "tiny", "--frames", "1", "--vanilla"}));
}

TEST_F(JsonOfModels, Cache) {
    const std::string cache = (folder_ / "cache").string();
    fs::create_directories(cache);
    EXPECT_EQ(run({"ask", picture(), kQuestion, "--max-tokens", "1", "--cache", cache})["cache"], "miss");
    for (const std::string action : {"list", "clear"}) {
        const Json output = run({"cache", action, "--cache", cache});
        EXPECT_EQ(output["count"], 2);
        expect_listed("cache", output);
    }
}

TEST_F(JsonOfModels, Compare) {
    // fastv cannot reach an average of 16 tokens: its row carries an error.
    expect_listed("compare",
                  run({"compare", picture(), kQuestion, "--methods", "clasp,fastv", "--budget", "16"}));
}

TEST_F(JsonOfModels, Bench) {
    expect_listed("bench", run({"bench", "--budgets", "none,64", "--repeats", "1", "--generate", "1"}));
    expect_listed("bench", run({"bench", "--budgets", "64", "--repeats", "1", "--generate", "1"}));
}

TEST_F(JsonOfModels, Inspect) {
    const std::string text = model("clasp-tiny.gguf");
    const std::string vision = model("clasp-tiny-mmproj.gguf");
    expect_listed("inspect", run({"inspect", text}));
    expect_listed("inspect", run({"inspect", vision}));
    expect_listed("inspect", run({"inspect", vision, "--image", "640x480"}));
    expect_listed("inspect", run({"inspect", text, "--mmproj", vision}));
    // Its resolutions are one tile each.
    test::EditedGguf tiled = test::EditedGguf::parse(*base::read_file(vision, 1U << 28U));
    tiled.key("clip.vision.image_grid_pinpoints").set_numbers({336, 336});
    std::ofstream(path("tiled.gguf"), std::ios::binary) << tiled.bytes();
    expect_listed("inspect", run({"inspect", path("tiled.gguf"), "--image", "640x480"}));
    tiled.key("clip.vision.mm_patch_merge_type").set_text("spatial_unpad");
    std::ofstream(path("bare.gguf"), std::ios::binary) << tiled.bytes();
    expect_listed("inspect", run({"inspect", path("bare.gguf")}));
    const std::string internvl = std::string(test::source_dir()) + "/fuzz/seeds/mmproj/internvl-tiny.gguf";
    expect_listed("inspect", run({"inspect", internvl, "--image", "640x480", "--max-tiles", "3"}));
    const std::string video = std::string(test::source_dir()) + "/fuzz/seeds/mmproj/videollava-tiny.gguf";
    expect_listed("inspect", run({"inspect", video}));
    const std::string any_size = std::string(test::source_dir()) + "/fuzz/seeds/mmproj/qwen25-tiny.gguf";
    expect_listed("inspect", run({"inspect", any_size, "--image", "640x480"}));
    expect_listed("inspect", run({"inspect", text, "--mmproj", text}, 1));
}

TEST_F(JsonOfModels, Eval) {
    const std::string data = scenes("test", 2);
    const auto words = [&](const std::string& out) {
        return std::vector<std::string>{"eval",       "scenes",    "--data",  data,    "--methods",
                                        "clasp,tome", "--budgets", "none,64", "--out", path(out)};
    };
    expect_listed("eval", run(words("whole")));
    const Json both = run({"eval", "report", path("whole"), path("whole"), "--out", path("both")});
    ASSERT_EQ(both["benchmarks"].size(), 2U);
    for (const Json& benchmark : both["benchmarks"]) expect_listed("eval", benchmark);

    // One picture is missing, so that the list of those has an entry.
    fs::remove(data + "/images/000001.png");
    expect_listed("eval", run(words("part")));
    expect_file_listed("eval", path("part/summary.json"), false);
    expect_file_listed("results.jsonl", path("part/results.jsonl"), true);
    expect_file_listed("run.json", path("part/run.json"), false);
}

TEST_F(JsonOfModels, Calibrate) {
    const std::string space = path("space.json");
    std::ofstream(space) << R"({"mixes": [{"name": "feature", "weights": {"22": 1}}], "splits": [0.3]})";
    expect_listed("calibrate", run({"calibrate", "--data", scenes("calibrate", 18), "--budget", "64",
                                    "--samples-per-class", "2", "--held-out", "0.5", "--space", space,
                                    "--rounds", "1", "--out", path("p.json")}));
}

}  // namespace
}  // namespace clasp
