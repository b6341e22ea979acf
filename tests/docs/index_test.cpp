// The index of the documentation lists every page once per reader at most, and none is forgotten.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "support/paths.h"

namespace clasp {
namespace {

namespace fs = std::filesystem;

// Pages below a folder that its README.md does not link to, relative to the folder.
std::vector<std::string> unlisted_pages(const fs::path& folder) {
    std::ifstream file(folder / "README.md");
    std::ostringstream buffer;
    buffer << file.rdbuf();
    const std::string text = buffer.str();
    static const std::regex kLink(R"(\]\(([^)#\s]+)[^)]*\))");
    std::set<fs::path> listed = {folder / "README.md"};
    for (auto it = std::sregex_iterator(text.begin(), text.end(), kLink); it != std::sregex_iterator();
         ++it) {
        listed.insert((folder / (*it)[1].str()).lexically_normal());
    }
    std::vector<std::string> unlisted;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        const fs::path page = entry.path().lexically_normal();
        if (page.extension() == ".md" && !listed.contains(page)) {
            unlisted.push_back(page.lexically_relative(folder).string());
        }
    }
    return unlisted;
}

TEST(Docs, TheIndexListsEveryPage) {
    EXPECT_THAT(unlisted_pages(fs::path(test::source_dir()) / "docs"), testing::IsEmpty());
}

TEST(Docs, APageThatTheIndexForgotIsFound) {
    const fs::path folder = fs::path(test::scratch_dir()) / "index";
    fs::create_directories(folder / "how-to");
    std::ofstream(folder / "README.md") << "[one](one.md), [two](how-to/two.md#part)\n";
    for (const char* page : {"one.md", "how-to/two.md", "how-to/three.md"})
        std::ofstream(folder / page) << "\n";
    EXPECT_THAT(unlisted_pages(folder), testing::ElementsAre("how-to/three.md"));
    fs::remove_all(folder);
}

}  // namespace
}  // namespace clasp
