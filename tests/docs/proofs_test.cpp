// The table of proofs in docs/models.md says of every family how each thing was proved, and names only tests
// that exist.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/page_table.h"
#include "support/paths.h"

namespace clasp {
namespace {

namespace files = std::filesystem;
using test::PageTable;

constexpr const char* kAllModels = "all";
constexpr const char* kNotProved = "none: ";

// "Suite.Name" of every test in the sources.
std::set<std::string> tests_of_tree(const files::path& root) {
    static const std::regex kTest(R"(\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\))");
    std::set<std::string> found;
    for (const auto& entry : files::recursive_directory_iterator(root / "tests")) {
        if (entry.path().extension() != ".cpp") continue;
        std::ifstream file(entry.path());
        std::ostringstream buffer;
        buffer << file.rdbuf();
        const std::string text = buffer.str();
        for (std::sregex_iterator it(text.begin(), text.end(), kTest), end; it != end; ++it) {
            found.insert((*it)[1].str() + "." + (*it)[2].str());
        }
    }
    return found;
}

std::vector<std::string> split_list(const std::string& text) {
    std::vector<std::string> parts;
    std::istringstream words(text);
    for (std::string part; std::getline(words, part, ',');) {
        parts.push_back(part.substr(part.find_first_not_of(' ')));
    }
    return parts;
}

std::vector<std::string> quoted(const std::string& text) {
    static const std::regex kName("`([^`]+)`");
    std::vector<std::string> names;
    for (std::sregex_iterator it(text.begin(), text.end(), kName), end; it != end; ++it) {
        names.push_back((*it)[1].str());
    }
    return names;
}

// What is wrong with a table of proofs: a model without an entry or with two, a test that is not there.
std::vector<std::string> faults_of(const PageTable& table, const std::vector<std::string>& models,
                                   const std::set<std::string>& tests) {
    std::vector<std::string> faults;
    std::map<std::string, std::map<std::string, int>> entries;  // per proof and model
    for (std::size_t i = 1; i < table.size(); ++i) {
        const std::vector<std::string>& row = table[i];
        if (row.size() != 3) {
            faults.push_back("a row of " + std::to_string(row.size()) + " cells");
            continue;
        }
        for (const std::string& model : row[1] == kAllModels ? models : split_list(row[1])) {
            ++entries[row[0]][model];
        }
        const std::vector<std::string> named = quoted(row[2]);
        if (named.empty() && !row[2].starts_with(kNotProved)) faults.push_back(row[0] + ": no test");
        for (const std::string& name : named) {
            if (!tests.contains(name)) faults.push_back("there is no test " + name);
        }
    }
    for (auto& [proof, of_model] : entries) {
        for (const std::string& model : models) {
            if (of_model[model] != 1) {
                faults.push_back(proof + ": " + std::to_string(of_model[model]) + " entries for " + model);
            }
        }
        if (of_model.size() != models.size()) faults.push_back(proof + ": a model that is not known");
    }
    return faults;
}

std::vector<std::string> model_titles() {
    const PageTable matrix = test::page_table("docs/methods.md", "| method | LLaVA-1.5 |");
    if (matrix.empty()) return {};
    return {matrix.front().begin() + 1, matrix.front().end()};
}

TEST(Proofs, OfEveryModelAreTestsThatExist) {
    const PageTable table = test::page_table("docs/models.md", "| Proof | Models | Tests |");
    const std::vector<std::string> models = model_titles();
    ASSERT_GE(models.size(), 9U);
    ASSERT_GE(table.size(), 12U);
    std::set<std::string> proofs;
    for (std::size_t i = 1; i < table.size(); ++i) proofs.insert(table[i].front());
    EXPECT_GE(proofs.size(), 10U);
    EXPECT_THAT(faults_of(table, models, tests_of_tree(test::source_dir())), testing::IsEmpty());
}

TEST(Proofs, GapsAndLostTestsAreFound) {
    const std::set<std::string> tests = {"A.One", "A.Two"};
    const std::vector<std::string> models = {"X", "Y"};
    EXPECT_THAT(faults_of({{"Proof", "Models", "Tests"}, {"p", "all", "`A.One`"}}, models, tests),
                testing::IsEmpty());
    EXPECT_THAT(faults_of({{"Proof", "Models", "Tests"}, {"p", "X", "`A.One`"}, {"p", "Y", "none: no way"}},
                          models, tests),
                testing::IsEmpty());
    EXPECT_THAT(faults_of({{}, {"p", "X", "`A.One`"}}, models, tests),
                testing::ElementsAre("p: 0 entries for Y"));
    EXPECT_THAT(faults_of({{}, {"p", "all", "`A.One`"}, {"p", "Y", "`A.Two`"}}, models, tests),
                testing::ElementsAre("p: 2 entries for Y"));
    EXPECT_THAT(faults_of({{}, {"p", "all", "`A.Three`"}}, models, tests),
                testing::ElementsAre("there is no test A.Three"));
    EXPECT_THAT(faults_of({{}, {"p", "all", "believe us"}}, models, tests),
                testing::ElementsAre("p: no test"));
    EXPECT_THAT(faults_of({{}, {"p", "X, Y, Z", "`A.One`"}}, models, tests),
                testing::ElementsAre("p: a model that is not known"));
}

}  // namespace
}  // namespace clasp
