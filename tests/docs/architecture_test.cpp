// The map of the code names every room of src/, no room that is not there, and only files that exist.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "support/paths.h"

namespace clasp {
namespace {

namespace fs = std::filesystem;

std::string read_text(const fs::path& path) {
    std::ifstream file(path);
    std::ostringstream buffer;
    buffer << file.rdbuf();
    return buffer.str();
}

std::set<std::string> all_matches(const std::string& text, const std::regex& what) {
    std::set<std::string> found;
    for (auto it = std::sregex_iterator(text.begin(), text.end(), what); it != std::sregex_iterator(); ++it) {
        found.insert((*it)[1].str());
    }
    return found;
}

// Rows of the table of rooms.
std::set<std::string> rooms_of_page(const std::string& page) {
    static const std::regex kRow(R"(\n\| `src/([a-z]+)` \|)");
    return all_matches(page, kRow);
}

std::set<std::string> rooms_of_tree(const fs::path& root) {
    std::set<std::string> rooms;
    for (const auto& entry : fs::directory_iterator(root / "src")) {
        if (entry.is_directory()) rooms.insert(entry.path().filename().string());
    }
    return rooms;
}

// Paths on the page that lead nowhere. Of "src/x/<name>.cpp", a file yet to be written, the folder counts.
std::set<std::string> missing_paths(const std::string& page, const fs::path& root) {
    static const std::regex kPath(
        R"(\b((?:src|include|tests|docs|fuzz|bench)/[A-Za-z0-9_./<>+-]*[A-Za-z0-9/]))");
    std::set<std::string> missing;
    for (const std::string& path : all_matches(page, kPath)) {
        const std::size_t hole = path.find('<');
        const std::string known = hole == std::string::npos ? path : path.substr(0, path.rfind('/', hole));
        if (!fs::exists(root / known)) missing.insert(path);
    }
    return missing;
}

TEST(Architecture, ThePageNamesEveryRoomAndOnlyFilesThatExist) {
    const fs::path root = test::source_dir();
    const std::string page = read_text(root / "docs/design/architecture.md");
    EXPECT_EQ(rooms_of_page(page), rooms_of_tree(root));
    EXPECT_THAT(missing_paths(page, root), testing::IsEmpty());
}

TEST(Architecture, ThePageAnswersFourteenQuestions) {
    const std::string page = read_text(fs::path(test::source_dir()) / "docs/design/architecture.md");
    const std::size_t begin = page.find("| To add | touch |");
    ASSERT_NE(begin, std::string::npos);
    static const std::regex kRow(R"(\n\| (an? [^|]+) \|)");
    EXPECT_EQ(all_matches(page.substr(begin), kRow).size(), 14U);
}

TEST(Architecture, AForgottenRoomAndALostFileAreFound) {
    const fs::path root = fs::path(test::scratch_dir()) / "architecture";
    for (const char* room : {"src/base", "src/model"}) fs::create_directories(root / room);
    std::ofstream(root / "src/base/text.h") << "\n";
    const std::string page =
        "\n| `src/base` | words |\nSee `src/base/text.h`, `src/base/<name>.h`, `src/base/json.h`, "
        "[x](../../src/cli/help.h) and src/eval/<name>.cpp.\n";
    EXPECT_THAT(rooms_of_page(page), testing::ElementsAre("base"));
    EXPECT_THAT(rooms_of_tree(root), testing::ElementsAre("base", "model"));
    EXPECT_THAT(missing_paths(page, root),
                testing::ElementsAre("src/base/json.h", "src/cli/help.h", "src/eval/<name>.cpp"));
    fs::remove_all(root);
}

}  // namespace
}  // namespace clasp
