// Pipes, devices, folders and files of the kernel wherever a command reads a file: refused at once, with the
// name and what it is. A pipe that nobody writes to would hold the program for ever.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "run_program.h"
#include "support/paths.h"

namespace clasp::cli {
namespace {

class SpecialFiles : public testing::Test {
   protected:
    void SetUp() override {
        pipe_ = std::string(test::scratch_dir()) + "/pipe-" + std::to_string(::getpid());
        ASSERT_EQ(::mkfifo(pipe_.c_str(), 0600), 0);
        ::alarm(60);  // ends a hanging test
    }
    void TearDown() override {
        ::alarm(0);
        ::unlink(pipe_.c_str());
    }

    void expect_refused(const std::vector<std::string>& before, const std::vector<std::string>& after,
                        int code = 1) {
        for (const std::string& path : {pipe_, std::string("/dev/zero"), std::string(test::scratch_dir()),
                                        std::string("/proc/self/maps")}) {
            std::vector<std::string> words = before;
            words.push_back(path);
            words.insert(words.end(), after.begin(), after.end());
            std::string line;
            for (const std::string& word : words) line += word + " ";
            const Outcome result = run(words);
            EXPECT_EQ(result.code, code) << line << result.err;
            EXPECT_NE(result.err.find(path), std::string::npos) << line << result.err;
        }
    }

    std::string pipe_;
};

TEST_F(SpecialFiles, AreRefusedByCommandsWithoutAModel) {
    expect_refused({"route", "--file"}, {});
    expect_refused({"select", "--budget", "2", "--split", "0.5", "--scores", "s.npy", "--features"}, {});
    expect_refused({"route", "What is this?", "--taxonomy"}, {});
}

#ifdef CLASP_HAS_ENGINE
TEST_F(SpecialFiles, AreRefusedWhereModelsAndPicturesAreRead) {
    const std::string root = test::source_dir();
    const std::string picture = root + "/examples/pictures/crosses.png";
    const std::string text = root + "/models/clasp-tiny.gguf";
    const std::string vision = root + "/models/clasp-tiny-mmproj.gguf";
    expect_refused({"inspect"}, {});
    expect_refused({"inspect", text, "--mmproj"}, {});
    expect_refused({"ask"}, {"What is this?"});
    expect_refused({"ask", picture, "What is this?", "--policy"}, {},
                   2);  // a value that the option cannot take
    expect_refused({"ask", picture, "What is this?", "--mmproj", vision, "--model"}, {});
    expect_refused({"ask", picture, "What is this?", "--model", text, "--mmproj"}, {});
    expect_refused({"ask", picture, "What is this?", "--router", "llm", "--router-model"}, {});
}
#endif

}  // namespace
}  // namespace clasp::cli
