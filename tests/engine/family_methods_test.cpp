// Every method on every family does what the table of docs/methods.md says: it runs, or it refuses with the
// reason that stands there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "family_fixture.h"
#include "methods/method.h"
#include "support/page_table.h"

namespace clasp {
namespace {

using testing::HasSubstr;

constexpr const char* kPage = "docs/methods.md";
const std::string kRuns = "runs";

test::PageTable matrix() {
    return test::page_table(kPage, "| method | LLaVA-1.5 |");
}

// What each word of the matrix stands for.
std::map<std::string, std::string> reasons() {
    std::map<std::string, std::string> found;
    for (const std::vector<std::string>& row : test::page_table(kPage, "| word | what the program says |")) {
        if (row.size() == 2) found[row[0]] = row[1];
    }
    found.erase("word");
    return found;
}

TEST(FamilyMethodsTable, NamesEveryMethodAndEveryFamilyOnce) {
    const test::PageTable table = matrix();
    ASSERT_FALSE(table.empty());
    std::vector<std::string> titles = {"method"};
    for (const std::string& name : test::family_names()) titles.push_back(test::family_model(name).title);
    EXPECT_EQ(table.front(), titles);
    std::vector<std::string> methods;
    for (std::size_t row = 1; row < table.size(); ++row) {
        EXPECT_EQ(table[row].size(), titles.size()) << table[row].front();
        methods.push_back(table[row].front());
    }
    std::vector<std::string> known;
    for (const methods::Method& method : methods::all_methods()) known.emplace_back(method.name);
    EXPECT_EQ(methods, known);
    // No word without a meaning, and none that nothing needs.
    std::vector<std::string> used;
    for (std::size_t row = 1; row < table.size(); ++row) {
        used.insert(used.end(), table[row].begin() + 1, table[row].end());
    }
    std::sort(used.begin(), used.end());
    used.erase(std::unique(used.begin(), used.end()), used.end());
    std::erase(used, kRuns);
    std::vector<std::string> explained;
    for (const auto& [word, sentence] : reasons()) explained.push_back(word);
    EXPECT_EQ(used, explained);
}

class FamilyMethods : public FamilyTest {
   protected:
    // The family's column, by method.
    static std::map<std::string, std::string> column() {
        const test::PageTable table = matrix();
        const auto& header = table.front();
        const auto at = static_cast<std::size_t>(std::find(header.begin(), header.end(), family().title) -
                                                 header.begin());
        std::map<std::string, std::string> cells;
        for (std::size_t row = 1; row < table.size(); ++row) cells[table[row].front()] = table[row].at(at);
        return cells;
    }
};

TEST_P(FamilyMethods, DoWhatTheTableSays) {
    const auto cells = column();
    const auto sentences = reasons();
    for (const methods::Method& method : methods::all_methods()) {
        SCOPED_TRACE(method.name);
        const std::string word = cells.at(std::string(method.name));
        AskRequest pruned = question();
        pruned.method = std::string(method.name);
        pruned.budget = {BudgetSpec::Kind::Percent, 60};  // within what every method can reach
        pruned.generation.max_tokens = 1;
        const auto answer = engine().ask(pruned);
        if (!answer.ok()) {
            EXPECT_EQ(answer.status().code(), Code::Unsupported) << answer.status().message();
            ASSERT_TRUE(sentences.contains(word)) << answer.status().message();
            EXPECT_THAT(answer.status().message(), HasSubstr(sentences.at(word)));
            EXPECT_THAT(answer.status().message(), HasSubstr(pruned.method));
            continue;
        }
        EXPECT_EQ(word, kRuns);
        EXPECT_EQ(answer->method, pruned.method);
        ASSERT_FALSE(answer->stages.empty());
        EXPECT_LT(answer->stages.back().kept.size(), family().n_tokens) << "something left";
    }
}

INSTANTIATE_TEST_SUITE_P(Families, FamilyMethods, testing::ValuesIn(test::family_names()), family_case_name);

}  // namespace
}  // namespace clasp
