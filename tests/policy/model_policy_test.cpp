// The policy that a model brings beside its file.
#include "policy/model_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/paths.h"

namespace clasp::policy {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// A model with a policy of its own, and a folder elsewhere for links to it.
class ModelPolicy : public testing::Test {
   protected:
    void SetUp() override {
        fs::remove_all(folder_);
        fs::create_directories(folder_ / "elsewhere");
        std::ofstream(folder_ / "m.gguf") << "x";
        write(folder_ / "m-policy.json", "own");
        fs::create_symlink(folder_ / "m.gguf", link_);
    }
    void TearDown() override { fs::remove_all(folder_); }

    static void write(const fs::path& path, const char* name) {
        Policy policy = find_profile("penultimate").value();
        policy.name = name;
        ASSERT_TRUE(write_policy(policy, path.string()).ok());
    }
    static std::string name_of(const fs::path& model) {
        const auto policy = model_policy(model.string(), find_profile("llava").value());
        return policy.ok() ? policy->name : policy.status().message();
    }

    // One for each test: they may run at the same time.
    fs::path folder_ =
        fs::path(test::scratch_dir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::path link_ = folder_ / "elsewhere" / "link.gguf";
};

TEST_F(ModelPolicy, IsBesideTheFileOrThePublishedOne) {
    EXPECT_EQ(name_of(folder_ / "m.gguf"), "own");
    EXPECT_EQ(name_of(folder_ / "elsewhere" / ".." / "m.gguf"), "own");
    EXPECT_EQ(name_of(folder_ / "other.gguf"), "llava");
}

TEST_F(ModelPolicy, ALinkHasItsOwnOrThatOfTheFileItLeadsTo) {
    EXPECT_EQ(name_of(link_), "own");
    write(folder_ / "elsewhere" / "link-policy.json", "linked");
    EXPECT_EQ(name_of(link_), "linked");
}

TEST_F(ModelPolicy, OneThatLeadsNowhereIsNotPassedOver) {
    fs::remove(folder_ / "m-policy.json");
    EXPECT_EQ(name_of(folder_ / "m.gguf"), "llava");
    fs::create_symlink(folder_ / "gone.json", folder_ / "m-policy.json");
    EXPECT_THAT(name_of(folder_ / "m.gguf"), HasSubstr("the model's own policy"));
}

}  // namespace
}  // namespace clasp::policy
