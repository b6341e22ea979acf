// The benchmark of docs/how-to/add-a-benchmark.md with its data and its test, which are cut out of the page.
// Beside the project's own sets it would be found by its name; here the functions that its test calls know it
// alone.
#include <gmock/gmock.h>

#include "eval/fixture.h"

namespace clasp::eval {

Benchmark claims_benchmark();

namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;

constexpr double kTolerance = 5e-3;

Dataset load_fixture(const std::string& /*name*/, const std::string& folder) {
    auto dataset = claims_benchmark().load(std::string(CLASP_EXAMPLES_DIR) + "/" + folder, {});
    EXPECT_TRUE(dataset.ok()) << dataset.status().message();
    return dataset.ok() ? std::move(dataset).value() : Dataset{};
}

Scores score_fixture(const std::string& name, const std::string& folder, const std::string& file) {
    const Dataset dataset = load_fixture(name, folder);
    const auto predictions = read_predictions(std::string(CLASP_EXAMPLES_DIR) + "/" + file);
    EXPECT_TRUE(predictions.ok()) << predictions.status().message();
    if (!predictions.ok()) return {};
    const auto answers = claims_benchmark().match(dataset, *predictions);
    EXPECT_TRUE(answers.ok()) << answers.status().message();
    auto scores = claims_benchmark().score(dataset, *answers, nullptr);
    EXPECT_TRUE(scores.ok()) << scores.status().message();
    return scores.ok() ? std::move(scores).value() : Scores{};
}

#include "claims_test.inc"

}  // namespace
}  // namespace clasp::eval
