// Every relative link in the documentation leads to a file that is there, and to a heading of it where it
// names one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
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

// The lines of a page that are text: not those between fences, where brackets are code.
std::vector<std::string> text_lines(const fs::path& page) {
    std::ifstream file(page);
    std::vector<std::string> lines;
    bool is_code = false;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("```")) {
            is_code = !is_code;
        } else if (!is_code) {
            lines.push_back(line);
        }
    }
    return lines;
}

// What the page's headings are called in links: lower case, hyphens for blanks, without other marks.
std::set<std::string> anchors(const fs::path& page) {
    std::set<std::string> names;
    for (const std::string& line : text_lines(page)) {
        const std::size_t begin = line.find_first_not_of('#');
        if (begin == 0 || begin == std::string::npos || line[begin] != ' ') continue;
        std::string name;
        for (const char c : line.substr(begin + 1)) {
            const auto byte = static_cast<unsigned char>(c);
            if (c == ' ') name += '-';
            if (std::isalnum(byte) != 0 || c == '-' || c == '_')
                name += static_cast<char>(std::tolower(byte));
        }
        names.insert(name);
    }
    return names;
}

// The targets of a page's links that do not exist.
std::vector<std::string> broken_links(const fs::path& page) {
    static const std::regex kLink(R"(\]\(([^)#\s]*)(#[^)\s]+)?[^)]*\))");
    std::vector<std::string> broken;
    for (const std::string& line : text_lines(page)) {
        for (auto it = std::sregex_iterator(line.begin(), line.end(), kLink); it != std::sregex_iterator();
             ++it) {
            const std::string target = (*it)[1];
            const std::string anchor = (*it)[2];
            if (target.find("://") != std::string::npos || target.starts_with("mailto:")) continue;
            const fs::path path = target.empty() ? page : page.parent_path() / target;
            const bool is_there = fs::exists(path) && (anchor.empty() || path.extension() != ".md" ||
                                                       anchors(path).contains(anchor.substr(1)));
            if (!is_there) broken.push_back(page.filename().string() + " -> " + target + anchor);
        }
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
    std::ofstream(page) << "# Two `Words`, and more\n"
                        << "[good](page.md) [web](https://example.org/x) [part](page.md#two-words-and-more)\n"
                        << "[here](#two-words-and-more) [bad](nowhere.md) [bad part](page.md#three) [x](#y)\n"
                        << "```\n[&](const Item& item)\n```\n";
    EXPECT_THAT(broken_links(page),
                testing::ElementsAre("page.md -> nowhere.md", "page.md -> page.md#three", "page.md -> #y"));
}

}  // namespace
}  // namespace clasp
