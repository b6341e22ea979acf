// What the README says pruning costs is what the page about accuracy measured, under the settings that it
// names.
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "support/page_table.h"
#include "support/paths.h"

namespace clasp {
namespace {

// The kept share of a method under a policy at a budget; empty when the page has no such row.
std::string measured_share(const std::string& method, const std::string& policy, const std::string& budget) {
    constexpr std::size_t kColumns = 7;
    constexpr std::size_t kShare = 5;
    std::ifstream page(std::string(test::source_dir()) + "/docs/accuracy.md");
    for (std::string line; std::getline(page, line);) {
        const std::vector<std::string> cells = test::cells_of(line);
        if (cells.size() == kColumns && cells[0] == method && cells[1] == policy && cells[2] == budget)
            return cells[kShare];
    }
    return "";
}

TEST(Readme, SharesAreThoseOfTheMethodAndThePolicyThatItNames) {
    struct Settings {
        std::string_view words;  // of the README
        std::string method;
        std::string policy;
    };
    const std::array<Settings, 3> rows = {{{"`clasp` with the published profile `llava`", "clasp", "llava"},
                                           {"`clasp` with a policy calibrated", "clasp", "own"},
                                           {"`clasp+` with that policy", "clasp+", "own"}}};
    const test::PageTable table = test::page_table("README.md", "| | 192 tokens");
    ASSERT_EQ(table.size(), rows.size() + 1);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::vector<std::string>& cells = table[i + 1];
        ASSERT_EQ(cells.size(), table[0].size());
        EXPECT_TRUE(cells[0].starts_with(rows[i].words)) << cells[0];
        for (std::size_t column = 1; column < cells.size(); ++column) {
            const std::string budget = table[0][column].substr(0, table[0][column].find(' '));
            const std::string share = measured_share(rows[i].method, rows[i].policy, budget);
            EXPECT_EQ(cells[column], share + " %") << cells[0] << " at " << budget;
        }
    }
}

}  // namespace
}  // namespace clasp
