// Summaries of runs whose right answers are known in advance.
#include "eval/summary.h"

#include <gtest/gtest.h>

#include "eval_run/fake_model.h"

namespace clasp::eval {
namespace {

class SummaryTest : public ::testing::Test {
   protected:
    void SetUp() override {
        dataset_ = test::make_dataset(clasp::test::scratch_dir() + std::string("/summary"), 24, 2);
        Variant base;
        base.policy = std::make_shared<Policy>(find_profile("llava").value());
        variants_ = cross({"clasp", "random"}, {"none", "64"}, base);
        RunRequest request;
        request.benchmark = &test::yes_benchmark();
        request.dataset = &dataset_;
        request.items = test::all_places(dataset_);
        request.variants = variants_;
        test::FakeModel model;
        records_ = run(request, model.asker())->records;
        asked_.benchmark = request.benchmark;
        asked_.dataset = &dataset_;
        asked_.records = &records_;
        for (const Variant& variant : variants_) asked_.rows.push_back(row_spec(variant, 128));
    }

    Dataset dataset_;
    std::vector<Variant> variants_;
    RecordTable records_;
    SummaryRequest asked_;
};

TEST_F(SummaryTest, CountsWhatTheModelDid) {
    const auto summary = summarise(asked_);
    ASSERT_TRUE(summary.ok()) << summary.status().message();
    ASSERT_EQ(summary->rows.size(), 3U);
    EXPECT_EQ(summary->n_pictures, 12U);
    const Row& unpruned = summary->rows[0];
    EXPECT_DOUBLE_EQ(unpruned.score, 100.0);
    EXPECT_DOUBLE_EQ(*unpruned.relative, 1.0);
    EXPECT_DOUBLE_EQ(*unpruned.loyalty, 1.0);
    const Row& pruned = summary->rows[1];  // every fourth question is wrong
    EXPECT_DOUBLE_EQ(pruned.score, 75.0);
    EXPECT_DOUBLE_EQ(*pruned.relative, 0.75);
    EXPECT_DOUBLE_EQ(*pruned.loyalty, 0.75);
    EXPECT_LT(pruned.ci95.low, 75.0);
    EXPECT_GT(pruned.ci95.high, 75.0);
    EXPECT_DOUBLE_EQ(pruned.average_tokens, 64.0);
    EXPECT_NEAR(pruned.prefill_seconds, 24 * 0.0015, 1e-9);
    EXPECT_NEAR(pruned.decode_seconds, 24 * 0.0005, 1e-9);
    // Numbers 0, 4, ..., 20 are wrong: of each class, which is the number modulo 3, two of eight.
    ASSERT_EQ(pruned.per_class.size(), 3U);
    for (const ClassScore& entry : pruned.per_class) {
        EXPECT_EQ(entry.n, 8U);
        EXPECT_DOUBLE_EQ(entry.score, 75.0);
    }
}

// The unpruned row comes first at every picture; what the encoder takes is not its own.
TEST_F(SummaryTest, TimesOfRowsCompareLikeWithLike) {
    const auto summary = summarise(asked_);
    ASSERT_TRUE(summary.ok()) << summary.status().message();
    EXPECT_NEAR(summary->encode_seconds, 12 * 0.005, 1e-9);
    for (const Row& row : summary->rows) {
        EXPECT_NEAR(row.prefill_seconds, summary->rows[0].prefill_seconds, 1e-9) << row.label;
        EXPECT_FALSE(row.encode_seconds.has_value());
    }
    // A method that merges inside the encoder runs it for itself, and that is its own.
    for (auto& [item, record] : records_[asked_.rows[2].variant]) {
        record.has_own_encoder = true;
        record.encode_ms = 4.0;
    }
    const auto own = summarise(asked_);
    ASSERT_TRUE(own.ok());
    EXPECT_NEAR(own->encode_seconds, 12 * 0.005, 1e-9);
    EXPECT_NEAR(own->rows[2].encode_seconds.value_or(0.0), 24 * 0.004, 1e-9);
    const base::Json json = summary_json(*own);
    EXPECT_TRUE(json["rows"][0]["encode_seconds"].is_null());
    EXPECT_NEAR(json["rows"][2]["encode_seconds"].get<double>().value(), 0.096, 1e-9);
}

TEST_F(SummaryTest, ARowThatMissedItsBudgetIsNamed) {
    ASSERT_TRUE(summarise(asked_)->notes.empty());
    for (auto& [item, record] : records_[asked_.rows[1].variant]) record.average_tokens = 54.0;
    const auto summary = summarise(asked_);
    ASSERT_EQ(summary->notes.size(), 1U);
    EXPECT_EQ(summary->notes[0], "clasp at budget 64 had 54 visual tokens per layer on average");
    asked_.rows[1].budget_kind = "final";  // then 64 is what is left in the end
    EXPECT_TRUE(summarise(asked_)->notes.empty());
}

TEST_F(SummaryTest, ComparesWithTheUnprunedAndTheBest) {
    const auto summary = summarise(asked_);
    ASSERT_TRUE(summary.ok());
    ASSERT_EQ(summary->comparisons.size(), 3U);  // each with the unpruned, random with clasp
    EXPECT_NEAR(summary->comparisons[0].result.difference, -0.25, 1e-12);
    EXPECT_TRUE(summary->comparisons[0].result.is_separable);
    EXPECT_EQ(summary->comparisons[0].result.test.only_b, 6U);
    EXPECT_FALSE(summary->comparisons[2].result.is_separable);
}

TEST_F(SummaryTest, ComparesWithNamedRowsToo) {
    asked_.against = {"random"};
    const auto summary = summarise(asked_);
    ASSERT_TRUE(summary.ok());
    ASSERT_EQ(summary->comparisons.size(), 4U);  // clasp with random beside the three
    const Comparison& extra = summary->comparisons[1];
    const Comparison& mirrored = summary->comparisons[3];
    EXPECT_EQ(extra.a, "clasp");
    EXPECT_EQ(extra.b, "random");
    EXPECT_EQ(extra.result.test.only_a, mirrored.result.test.only_b);
    EXPECT_DOUBLE_EQ(extra.result.difference, -mirrored.result.difference);
    asked_.against = {"rondom"};
    EXPECT_EQ(summarise(asked_).status().message(),
              "no row is called 'rondom' to compare with; there are clasp, none, random");
}

TEST_F(SummaryTest, ShowsRegressionsWithBothAnswers) {
    const auto summary = summarise(asked_);
    ASSERT_TRUE(summary.ok());
    ASSERT_FALSE(summary->regressions.empty());
    for (const Regression& entry : summary->regressions) {
        EXPECT_EQ(entry.item % 4, 0U);
        EXPECT_EQ(entry.unpruned_text, "yes");
        EXPECT_EQ(entry.text, "no");
    }
}

TEST_F(SummaryTest, AnUnansweredQuestionIsWrong) {
    records_[asked_.rows[0].variant].erase("1");
    const auto summary = summarise(asked_);
    ASSERT_TRUE(summary.ok());
    EXPECT_EQ(summary->rows[0].n_answered, 23U);
    EXPECT_NEAR(summary->rows[0].score, 100.0 * 23 / 24, 1e-9);
}

TEST_F(SummaryTest, WithoutTheUnprunedModelThereIsNoShare) {
    asked_.rows.erase(asked_.rows.begin());
    const auto summary = summarise(asked_);
    ASSERT_TRUE(summary.ok());
    EXPECT_FALSE(summary->rows[0].relative);
    EXPECT_FALSE(summary->rows[0].loyalty);
    EXPECT_EQ(summary->notes.size(), 1U);
    EXPECT_TRUE(summary_json(*summary)["rows"][0]["relative"].is_null());
}

TEST_F(SummaryTest, MetricsThatAreNoMeansAreResampledWhole) {
    Benchmark squared = test::yes_benchmark();
    squared.is_mean = false;
    asked_.benchmark = &squared;
    const auto summary = summarise(asked_);
    ASSERT_TRUE(summary.ok());
    EXPECT_DOUBLE_EQ(summary->rows[1].score, 75.0);
    EXPECT_LT(summary->rows[1].ci95.low, 75.0);
    EXPECT_GT(summary->rows[1].ci95.high, 75.0);
    EXPECT_FALSE(summary->rows[1].relative_ci95);
}

TEST_F(SummaryTest, JsonHasARowPerMethodAndBudget) {
    const auto summary = summarise(asked_);
    ASSERT_TRUE(summary.ok());
    const base::Json json = summary_json(*summary, {"clasp", "random"});
    ASSERT_EQ(json["rows"].size(), 4U);
    EXPECT_EQ(json["rows"][0]["method"], "clasp");
    EXPECT_EQ(json["rows"][0]["budget"], "none");
    EXPECT_EQ(json["rows"][1]["method"], "random");
    for (const auto& row : json["rows"]) {
        for (const char* field :
             {"method", "budget", "score", "relative", "loyalty", "ci95", "per_class", "seconds"}) {
            EXPECT_TRUE(row.contains(field)) << field;
        }
        EXPECT_EQ(row["ci95"].size(), 2U);
    }
}

}  // namespace
}  // namespace clasp::eval
