// The page about dependencies and the list that the scripts read name the same packages.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "support/paths.h"

namespace clasp {
namespace {

std::string read(const std::string& name) {
    std::ifstream file(std::string(test::source_dir()) + "/" + name);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

TEST(Docs, EveryPackageIsOnThePageAboutDependencies) {
    const std::string page = read("docs/dependencies.md");
    std::istringstream lines(read("scripts/packages.txt"));
    std::size_t n_packages = 0;
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string groups;
        std::string package;
        if (!(words >> groups >> package) || groups.starts_with('#')) continue;
        ++n_packages;
        EXPECT_NE(page.find("`" + package + "`"), std::string::npos) << package;
    }
    EXPECT_GT(n_packages, 10U);
}

}  // namespace
}  // namespace clasp
