// Every relative link in the documentation leads to a file that is there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "support/paths.h"

namespace clasp {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> pages(const fs::path& root) {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(root)) {
        if (entry.path().extension() == ".md") found.push_back(entry.path());
    }
    for (const auto& entry : fs::recursive_directory_iterator(root / "docs")) {
        if (entry.path().extension() == ".md") found.push_back(entry.path());
    }
    return found;
}

// The targets of a page's links that do not exist.
std::vector<std::string> broken_links(const fs::path& page) {
    std::ifstream file(page);
    std::ostringstream buffer;
    buffer << file.rdbuf();
    const std::string text = buffer.str();
    static const std::regex kLink(R"(\]\(([^)#\s]+)[^)]*\))");
    std::vector<std::string> broken;
    for (auto it = std::sregex_iterator(text.begin(), text.end(), kLink); it != std::sregex_iterator();
         ++it) {
        const std::string target = (*it)[1];
        if (target.find("://") != std::string::npos || target.starts_with("mailto:")) continue;
        if (!fs::exists(page.parent_path() / target))
            broken.push_back(page.filename().string() + " -> " + target);
    }
    return broken;
}

TEST(Docs, LinksLeadSomewhere) {
    const std::vector<fs::path> all = pages(test::source_dir());
    ASSERT_GT(all.size(), 5U);
    for (const fs::path& page : all) EXPECT_THAT(broken_links(page), testing::IsEmpty());
}

TEST(Docs, ABrokenLinkIsFound) {
    const fs::path page = fs::path(test::scratch_dir()) / "page.md";
    std::ofstream(page)
        << "[good](page.md) [web](https://example.org/x) [part](page.md#x) [bad](nowhere.md)\n";
    EXPECT_THAT(broken_links(page), testing::ElementsAre("page.md -> nowhere.md"));
}

}  // namespace
}  // namespace clasp
