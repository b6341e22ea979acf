// The small data sets in tests/data/eval: made for these tests, in the official formats.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "eval/benchmark.h"
#include "support/paths.h"

namespace clasp::eval {

inline std::string fixture(const std::string& name) {
    return std::string(test::source_dir()) + "/tests/data/eval/" + name;
}

inline const Benchmark& benchmark(const std::string& name) {
    return *find_benchmark(name).value();
}

inline Dataset load_fixture(const std::string& name, const std::string& folder) {
    auto dataset = benchmark(name).load(fixture(folder), {});
    EXPECT_TRUE(dataset.ok()) << dataset.status().message();
    return dataset.ok() ? std::move(dataset).value() : Dataset{};
}

inline Answers match_fixture(const Benchmark& set, const Dataset& dataset, const std::string& file) {
    const auto predictions = read_predictions(fixture(file));
    EXPECT_TRUE(predictions.ok()) << predictions.status().message();
    if (!predictions.ok()) return in_item_order(dataset, {});
    auto answers = set.match(dataset, *predictions);
    EXPECT_TRUE(answers.ok()) << answers.status().message();
    return answers.ok() ? std::move(answers).value() : in_item_order(dataset, {});
}

// The scores of an answer file; judgements are taken from `judged` when that is given.
inline Scores score_fixture(const std::string& name, const std::string& folder, const std::string& file,
                            const std::string& judged = {}) {
    const Benchmark& set = benchmark(name);
    const Dataset dataset = load_fixture(name, folder);
    const Answers answers = match_fixture(set, dataset, file);
    Judgements judgements;
    if (!judged.empty()) {
        const auto read = read_judgements(*set.judge, fixture(judged));
        EXPECT_TRUE(read.ok()) << read.status().message();
        if (read.ok()) judgements = *read;
    }
    auto scores = set.score(dataset, answers, judged.empty() ? nullptr : &judgements);
    EXPECT_TRUE(scores.ok()) << scores.status().message();
    return scores.ok() ? std::move(scores).value() : Scores{};
}

// NaN when there is no such metric, so that no comparison holds.
inline double metric(const Scores& scores, const std::string& name) {
    for (const Metric& metric : scores.metrics) {
        if (metric.name == name) return metric.value;
    }
    ADD_FAILURE() << "no metric " << name;
    return std::numeric_limits<double>::quiet_NaN();
}

// A folder of the running test's own, empty at first.
inline std::string scratch_folder() {
    const auto* const info = ::testing::UnitTest::GetInstance()->current_test_info();
    const std::filesystem::path folder =
        std::filesystem::path(test::scratch_dir()) / "eval" / info->test_suite_name() / info->name();
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    return folder.string();
}

inline void write_text(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << text;
}

}  // namespace clasp::eval
