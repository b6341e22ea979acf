// Paths that cannot be written to are refused before any work.
#include "cli/output_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "run_program.h"
#include "support/child.h"
#include "support/paths.h"

namespace clasp::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class OutputPath : public testing::Test {
   protected:
    void SetUp() override {
        folder_ =
            fs::path(test::scratch_dir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
        fs::remove_all(folder_);
        fs::create_directories(folder_ / "sub");
        std::ofstream(folder_ / "file") << "x";
    }
    void TearDown() override {
        fs::permissions(folder_ / "sub", fs::perms::owner_all);
        fs::remove_all(folder_);
    }
    std::string path(const std::string& name) const { return (folder_ / name).string(); }
    std::string file_error(const std::string& name) const {
        return check_output_file(kPicture, path(name)).message();
    }
    std::string folder_error(const std::string& name) const {
        return check_output_folder(kFolder, path(name)).message();
    }

    const Option kPicture = {
        .name = "map", .type = OptionType::File, .writes = Writes::File, .extensions = {".png", ".jpg"}};
    const Option kFolder = {.name = "out", .type = OptionType::File, .writes = Writes::Folder};
    fs::path folder_;
};

TEST_F(OutputPath, FilesThatCanBeWrittenAreTaken) {
    EXPECT_EQ(file_error("new.png"), "");
    EXPECT_EQ(file_error("sub/NEW.JPG"), "");
    EXPECT_TRUE(check_output_file(kPicture, "beside.png").ok());
    EXPECT_FALSE(fs::exists(path("new.png")));
}

TEST_F(OutputPath, FilesThatCannotBeWrittenSayWhy) {
    EXPECT_THAT(file_error("no/such/new.png"), HasSubstr("there is no folder"));
    EXPECT_THAT(file_error("file/new.png"), HasSubstr("is no folder"));
    EXPECT_THAT(file_error("new.gif"), HasSubstr("must end with .png, .jpg"));
    EXPECT_THAT(file_error("new"), HasSubstr("must end with .png, .jpg"));
    fs::create_symlink(path("no/such/new.png"), path("link.png"));
    EXPECT_THAT(file_error("link.png"), HasSubstr("there is no folder"));
    fs::create_directories(path("dir.png"));
    EXPECT_THAT(file_error("dir.png"), HasSubstr("a folder is in its place"));
    EXPECT_THAT(check_output_file({.name = "out"}, "/dev/null").message(), HasSubstr("not a regular file"));
    EXPECT_THAT(check_output_file({.name = "out"}, path("sub/")).message(), HasSubstr("folder"));
}

TEST_F(OutputPath, FoldersMayBeMade) {
    EXPECT_EQ(folder_error("sub"), "");
    EXPECT_EQ(folder_error("a/b/c"), "");
    EXPECT_TRUE(check_output_folder(kFolder, "fresh").ok());
    EXPECT_THAT(folder_error("file"), HasSubstr("is no folder"));
    EXPECT_THAT(folder_error("file/a"), HasSubstr("is no folder"));
    EXPECT_FALSE(fs::exists(path("a")));
}

// Root may write everywhere, so it asks as somebody else, whose id has no name as a rule.
std::string as_a_user(const std::function<std::string()>& question) {
    if (geteuid() != 0) return question();
    constexpr unsigned kSomebody = 54321;
    return test::run_in_child([&]() -> std::string {
               if (setgid(kSomebody) != 0 || setuid(kSomebody) != 0) return "no other user";
               return question();
           })
        .text;
}

TEST_F(OutputPath, FoldersWithoutPermissionAreRefused) {
    fs::permissions(folder_ / "sub", fs::perms::owner_read | fs::perms::owner_exec);
    EXPECT_THAT(as_a_user([&] { return file_error("sub/new.png"); }), HasSubstr("cannot be written to"));
    EXPECT_THAT(as_a_user([&] { return folder_error("sub/new"); }), HasSubstr("cannot be written to"));
}

// A folder that anybody may write to can hold a file that they may not.
TEST_F(OutputPath, FilesWithoutPermissionAreRefused) {
    fs::permissions(folder_, fs::perms::all);
    const fs::path map = folder_ / "map.png";
    std::ofstream(map) << "x";
    EXPECT_EQ(file_error("map.png"), "");
    fs::permissions(map, fs::perms::owner_read);
    EXPECT_THAT(as_a_user([&] { return file_error("map.png"); }),
                HasSubstr("the file there cannot be written to"));
    EXPECT_EQ(as_a_user([&] { return file_error("beside.png"); }), "");
}

// Through the program: exit code 2, and nothing was read before.
TEST_F(OutputPath, EveryCommandThatWritesChecksFirst) {
    const std::string nowhere = path("no/such/place.npy");
    std::vector<std::vector<std::string>> cases = {
        {"fuse", "--layer", "1=absent.npy", "--weights", "1:1", "--out", nowhere},
        {"route", "train", "--data", "absent.jsonl", "--out", nowhere},
        {"route", "train", "--data", "absent.jsonl", "--report", "all", "--confusion", nowhere},
        {"scenes", "--split", "test", "--count", "1", "--out", path("file")},
    };
#ifdef CLASP_HAS_ENGINE
    const std::string map = path("no/such/place.png");
    cases.push_back({"ask", "absent.png", "What?", "--map", map});
    cases.push_back({"ask", "absent.png", "What?", "--map", path("new.gif")});
    cases.push_back({"ask", "absent.png", "What?", "--dump-logits", nowhere});
    cases.push_back({"ask", "absent.png", "What?", "--cache", path("file")});
    cases.push_back({"compare", "absent.png", "What?", "--map", map});
    cases.push_back({"eval", "scenes", "--data", "absent", "--out", path("file")});
    cases.push_back({"calibrate", "--data", "absent", "--budget", "64", "--out", nowhere});
#endif
    for (const auto& words : cases) {
        const Outcome result = run(words);
        EXPECT_EQ(result.code, 2) << words[0] << ": " << result.err;
        EXPECT_THAT(result.err, testing::AnyOf(HasSubstr("there is no folder"), HasSubstr("is no folder"),
                                               HasSubstr("must end with")));
    }
}

}  // namespace
}  // namespace clasp::cli
