// select and fuse as a user runs them, on files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "base/npy.h"
#include "run_program.h"
#include "support/json.h"
#include "support/paths.h"

namespace clasp::cli {
namespace {

using testing::HasSubstr;

class NpyCommands : public testing::Test {
   protected:
    void SetUp() override {
        folder_ = std::filesystem::path(test::scratch_dir()) /
                  testing::UnitTest::GetInstance()->current_test_info()->name();
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::string path(const std::string& name) const { return (folder_ / name).string(); }

    std::string write(const std::string& name, const std::vector<std::size_t>& shape,
                      const std::vector<float>& values) {
        EXPECT_TRUE(base::write_npy(path(name), shape, values).ok());
        return path(name);
    }

    std::string write_random(const std::string& name, const std::vector<std::size_t>& shape, unsigned seed) {
        std::mt19937 engine(seed);
        std::uniform_real_distribution<float> uniform(0.1F, 1.0F);
        std::size_t count = 1;
        for (const std::size_t extent : shape) count *= extent;
        std::vector<float> values(count);
        for (float& value : values) value = uniform(engine);
        return write(name, shape, values);
    }

    std::filesystem::path folder_;
};

TEST_F(NpyCommands, SelectAnswersAsTheContractSays) {
    const std::string features = write_random("u.npy", {40, 12}, 1);
    const std::string scores = write_random("s.npy", {40}, 2);
    const Outcome result = run(
        {"select", "--features", features, "--scores", scores, "--budget", "10", "--split", "0.7", "--json"});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    const auto json = test::parsed(result.out);
    EXPECT_EQ(json["kept"].size(), 10U);
    EXPECT_EQ(json["pivots"].size(), 7U);
    EXPECT_EQ(json["coverage"].size(), 3U);
    EXPECT_EQ(json["objective"].size(), json["iterations"].get<std::size_t>().value());
    EXPECT_TRUE(json["timings_ms"].contains("total"));
}

TEST_F(NpyCommands, SelectSaysWhatIsWrongWithItsFiles) {
    const std::string features = write_random("u.npy", {40, 12}, 1);
    const std::string scores = write_random("s.npy", {39}, 2);
    const auto message = [&](const std::string& u, const std::string& s) {
        const Outcome result =
            run({"select", "--features", u, "--scores", s, "--budget", "10", "--split", "0.7"});
        EXPECT_EQ(result.code, 1);
        EXPECT_EQ(result.out, "");
        return result.err;
    };
    EXPECT_THAT(message(features, scores), HasSubstr("39 scores for 40 tokens"));
    EXPECT_THAT(message(scores, scores), HasSubstr("features must be tokens x width, not 39"));
    EXPECT_THAT(message(path("none.npy"), scores), HasSubstr("none.npy"));
    std::ofstream(path("cut.npy"), std::ios::binary) << "\x93NUMPY\x01";
    EXPECT_THAT(message(path("cut.npy"), scores), HasSubstr("cut.npy"));
}

TEST_F(NpyCommands, FuseMixesByWeightsAndByClass) {
    const std::string a = write("a.npy", {2, 2}, {1, 2, 3, 4});
    const std::string b = write("b.npy", {2, 2}, {10, 20, 30, 40});
    const std::string out = path("f.npy");
    ASSERT_EQ(
        run({"fuse", "--layer", "5=" + a, "--layer", "22=" + b, "--weights", "5:0.5,22:0.5", "--out", out})
            .code,
        0);
    EXPECT_EQ(base::read_npy(out)->to_float32(), (std::vector<float>{5.5F, 11.0F, 16.5F, 22.0F}));
    // Class 1 of the published profile is 0.2 of layer 5 and 0.8 of layer 22.
    const Outcome by_class = run({"fuse", "--layer", "5=" + a, "--layer", "22=" + b, "--class", "1",
                                  "--policy", "llava", "--out", out, "--json"});
    ASSERT_EQ(by_class.code, 0) << by_class.err;
    EXPECT_EQ(base::dump_json(test::parsed(by_class.out)["mix"]), R"({"22":0.8,"5":0.2})");
    const auto fused = base::read_npy(out)->to_float32();
    EXPECT_FLOAT_EQ(fused[0], 8.2F);
    EXPECT_FLOAT_EQ(fused[3], 32.8F);
}

TEST_F(NpyCommands, FuseAlignsUnequalGrids) {
    const std::string fine = write("fine.npy", {4, 1}, {1, 3, 5, 7});  // 2 x 2
    const std::string coarse = write("coarse.npy", {1, 1}, {8});
    const std::string out = path("f.npy");
    const Outcome result = run({"fuse", "--layer", "1=" + fine, "--layer", "2=" + coarse, "--grid", "1=2x2",
                                "--grid", "2=1x1", "--weights", "1:0.5,2:0.5", "--out", out});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(base::read_npy(out)->to_float32(), (std::vector<float>{6.0F}));
}

TEST_F(NpyCommands, FuseRefusesWhatItWouldHaveToGuess) {
    const std::string a = write("a.npy", {2, 2}, {1, 2, 3, 4});
    const std::string out = path("f.npy");
    EXPECT_EQ(run({"fuse", "--layer", "5=" + a, "--out", out}).code, 2);
    const auto message = [&](std::vector<std::string> more) {
        std::vector<std::string> words = {"fuse", "--layer", "5=" + a, "--out", out};
        words.insert(words.end(), more.begin(), more.end());
        const Outcome result = run(words);
        EXPECT_NE(result.code, 0);
        EXPECT_FALSE(std::filesystem::exists(out));
        return result.err;
    };
    EXPECT_THAT(message({"--weights", "5:0.5,6:0.5"}), HasSubstr("needs layer 6"));
    EXPECT_THAT(message({"--weights", "6:1"}), HasSubstr("does not use layer 5"));
    EXPECT_THAT(message({"--weights", "5:1", "--grid", "5=2by2"}), HasSubstr("2by2"));
    EXPECT_THAT(message({"--weights", "5:1", "--grid", "5=3x3"}), HasSubstr("3"));
    EXPECT_THAT(message({"--class", "99"}), HasSubstr("99"));
    EXPECT_THAT(message({"--weights", "5:1", "--layer", "5=" + a}), HasSubstr("twice"));
}

}  // namespace
}  // namespace clasp::cli
