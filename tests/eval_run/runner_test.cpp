// Runs over a model that answers by rule: nothing is asked twice, nothing is lost, and what could not be
// asked is told.
#include "eval/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "eval_run/fake_model.h"

namespace clasp::eval {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class RunnerTest : public ::testing::Test {
   protected:
    void SetUp() override {
        folder_ = clasp::test::scratch_dir() + std::string("/runner-") +
                  ::testing::UnitTest::GetInstance()->current_test_info()->name();
        fs::remove_all(folder_);
        dataset_ = test::make_dataset(folder_ + "/images", 12, 3);
        request_.benchmark = &test::yes_benchmark();
        request_.dataset = &dataset_;
        request_.items = test::all_places(dataset_);
        Variant base;
        base.policy = std::make_shared<Policy>(find_profile("llava").value());
        request_.variants = cross({"clasp", "random"}, {"none", "192", "64"}, base);
    }
    [[nodiscard]] std::string results() const { return folder_ + "/results.jsonl"; }

    RunReport run_with(test::FakeModel& model, RecordTable known = {}) const {
        auto report = run(request_, model.asker(), std::move(known));
        EXPECT_TRUE(report.ok()) << report.status().message();
        return report.ok() ? std::move(report).value() : RunReport();
    }

    std::string folder_;
    Dataset dataset_;
    RunRequest request_;
};

TEST(Cross, BothMassesGiveEveryDroppingMethodTwoRowsAndNoRowTwice) {
    const auto labels = [](const std::vector<std::string>& methods) {
        std::vector<std::string> result;
        for (const Variant& variant : cross(methods, {"64"}, {}, true)) result.push_back(variant.label);
        return result;
    };
    EXPECT_THAT(labels({"clasp", "fastv", "tome"}),
                ::testing::ElementsAre("clasp", "clasp+", "fastv", "fastv + masses", "tome"));
    EXPECT_THAT(labels({"clasp", "clasp+", "sparsevlm", "sparsevlm+"}),
                ::testing::ElementsAre("clasp", "clasp+", "sparsevlm", "sparsevlm + masses", "sparsevlm+",
                                       "sparsevlm+ + masses"));
    EXPECT_EQ(cross({"clasp", "clasp+"}, {"64"}, {}, true).front().mass, MassRule::None);
}

TEST(Cross, MethodsMayBringOptionsWhichAreAskedForAndTellAnswersApart) {
    const std::vector<Variant> variants = cross({"fastv", "fastv:faithful=paper:layer=3"}, {"64"}, {});
    ASSERT_EQ(variants.size(), 2U);
    EXPECT_EQ(variants[1].label, "fastv:faithful=paper:layer=3");
    EXPECT_EQ(variants[1].method, "fastv");
    EXPECT_NE(variant_key(variants[0], 16), variant_key(variants[1], 16));
    const auto request = variant_request(variants[1], 16);
    ASSERT_TRUE(request.ok());
    EXPECT_THAT(request->method_options, ::testing::ElementsAre("faithful=paper", "layer=3"));
    for (const auto& [text, reason] :
         {std::pair("fastv:faithful=both", "faithful"), std::pair("fastv:faithful", "name=value"),
          std::pair("fats", "fats")}) {
        const Status status = check_variant(cross({text}, {"64"}, {}).front());
        EXPECT_THAT(status.message(), HasSubstr(reason));
    }
    Variant other = variants[0];
    other.position_mode = "keep";
    EXPECT_NE(variant_key(other, 16), variant_key(variants[0], 16));
    EXPECT_EQ(variant_request(other, 16)->position_mode, "keep");
    other.budget_kind = "final";
    EXPECT_EQ(variant_request(other, 16)->budget_kind, "final");
}

TEST_F(RunnerTest, AsksEveryVariantOnceAndSeesEachPictureOnce) {
    test::FakeModel model;
    std::size_t last_done = 0;
    request_.on_progress = [&](const Progress& progress) {
        EXPECT_EQ(progress.total, 60U);
        EXPECT_GT(progress.done, last_done);
        last_done = progress.done;
    };
    const RunReport report = run_with(model);
    EXPECT_EQ(request_.variants.size(), 5U);  // unpruned once, two methods at two budgets
    EXPECT_EQ(model.asked, 60U);
    EXPECT_EQ(report.asked, 60U);
    EXPECT_EQ(last_done, 60U);
    EXPECT_EQ(model.pictures.size(), 4U);
    EXPECT_EQ(report.records.size(), 5U);
}

TEST_F(RunnerTest, QuestionsOfOnePictureComeTogetherHoweverTheFileOrdersThem) {
    std::swap(dataset_.items[1], dataset_.items[10]);
    std::swap(dataset_.items[2], dataset_.items[7]);
    test::FakeModel model;
    run_with(model);
    EXPECT_EQ(model.pictures.size(), 4U);
}

TEST_F(RunnerTest, GoesOnAfterAKillAndRepeatsNothing) {
    std::size_t killed_at = 0;
    for (const std::size_t life : {7U, 1U, 20U, 0U}) {
        auto known = read_records(results());
        ASSERT_TRUE(known.ok()) << known.status().message();
        auto writer = ResultsWriter::open(results());
        ASSERT_TRUE(writer.ok()) << writer.status().message();
        request_.writer = &*writer;
        test::FakeModel model;
        model.stop_after = life;
        const auto report = run(request_, model.asker(), *known);
        EXPECT_EQ(report.ok(), life == 0);
        EXPECT_EQ(model.asked, life == 0 ? 60 - killed_at : life);
        killed_at += model.asked;
        if (life > 0) std::ofstream(results(), std::ios::app) << "{\"question_id\":\"5\",\"meth";  // torn
    }
    const auto records = read_records(results());
    ASSERT_TRUE(records.ok()) << records.status().message();
    std::size_t n = 0;
    for (const auto& [key, entries] : *records) n += entries.size();
    EXPECT_EQ(n, 60U);
    std::ifstream file(results());
    std::string line;
    std::size_t lines = 0;
    while (std::getline(file, line)) ++lines;
    EXPECT_EQ(lines, 60U);

    test::FakeModel whole;
    request_.writer = nullptr;
    const RunReport uninterrupted = run_with(whole);
    for (const auto& [key, entries] : uninterrupted.records) {
        for (const auto& [item, record] : entries) {
            EXPECT_EQ(records->find(key)->second.find(item)->second.text, record.text);
        }
    }
}

TEST_F(RunnerTest, MissingAndBrokenPicturesAreReportedAndTheRunGoesOn) {
    fs::remove(dataset_.items[3].image);
    std::ofstream(dataset_.items[6].image) << "broken";
    test::FakeModel model;
    Progress last;
    request_.on_progress = [&](const Progress& progress) { last = progress; };
    const RunReport report = run_with(model);
    ASSERT_EQ(report.missing_images.size(), 6U);  // three questions each
    EXPECT_EQ(report.missing_images.front().item, "3");
    EXPECT_THAT(report.missing_images.back().reason, HasSubstr("not a picture"));
    EXPECT_EQ(report.asked, 30U);
    EXPECT_EQ(last.unreadable, 6U);
    EXPECT_EQ(last.done, last.total);
}

TEST_F(RunnerTest, QuestionsWithoutAPictureAreToldApart) {
    dataset_.items[0].image.clear();
    test::FakeModel model;
    const RunReport report = run_with(model);
    ASSERT_EQ(report.without_picture.size(), 1U);
    EXPECT_EQ(report.without_picture.front().item, "0");
    EXPECT_TRUE(report.missing_images.empty());
}

TEST_F(RunnerTest, AnErrorThatIsNotAPicturesEndsTheRun) {
    test::FakeModel model;
    model.stop_after = 3;
    const auto report = run(request_, model.asker());
    ASSERT_FALSE(report.ok());
    EXPECT_THAT(report.status().message(), HasSubstr("killed"));
}

TEST_F(RunnerTest, StopsWhenAskedTo) {
    std::atomic<bool> cancel = false;
    request_.cancel = &cancel;
    request_.on_progress = [&](const Progress& progress) { cancel = progress.done >= 9; };
    test::FakeModel model;
    const RunReport report = run_with(model);
    EXPECT_TRUE(report.was_cancelled);
    EXPECT_EQ(report.asked, 9U);
}

TEST_F(RunnerTest, AWrongVariantFailsBeforeTheFirstQuestion) {
    request_.variants.back().method = "nonsense";
    test::FakeModel model;
    EXPECT_FALSE(run(request_, model.asker()).ok());
    EXPECT_EQ(model.asked, 0U);
}

TEST(Shards, PartitionTheQuestionsByPicture) {
    const Dataset dataset = test::make_dataset(clasp::test::scratch_dir() + std::string("/shards"), 20, 3);
    std::set<std::size_t> seen;
    for (std::size_t index = 0; index < 3; ++index) {
        std::set<std::string> groups;
        for (const std::size_t place : shard_items(dataset, {index, 3})) {
            EXPECT_TRUE(seen.insert(place).second);
            groups.insert(dataset.items[place].group);
        }
        for (const std::size_t place : shard_items(dataset, {(index + 1) % 3, 3})) {
            EXPECT_FALSE(groups.contains(dataset.items[place].group));
        }
    }
    EXPECT_EQ(seen.size(), 20U);
    EXPECT_EQ(parse_shard("2/8")->index, 1U);
    EXPECT_EQ(parse_shard("2/8")->count, 8U);
    for (const char* text : {"0/8", "9/8", "2", "a/b", "1/2/3", ""}) EXPECT_FALSE(parse_shard(text).ok());
}

TEST(CutDataset, KeepsExactlyTheFirstOrWholeGroups) {
    const std::string folder = clasp::test::scratch_dir() + std::string("/cut");
    Dataset exact = test::make_dataset(folder, 20, 3);
    cut_dataset(exact, 7, false);
    EXPECT_EQ(exact.items.size(), 7U);
    Dataset whole = test::make_dataset(folder, 20, 3);
    cut_dataset(whole, 7, true);
    EXPECT_EQ(whole.items.size(), 9U);
    Dataset all = test::make_dataset(folder, 20, 3);
    cut_dataset(all, 0, true);
    EXPECT_EQ(all.items.size(), 20U);
}

TEST(Stress, ReroutesTheShareAskedFor) {
    const Dataset dataset = test::make_dataset(clasp::test::scratch_dir() + std::string("/stress"), 30, 1);
    const auto classes = route_items(dataset, ClassSource::Truth);
    ASSERT_TRUE(classes.ok());
    Variant variant;
    variant.stress.default_ratio = 0.5;
    const auto to_default = stress_classes(*classes, variant);
    ASSERT_TRUE(to_default.ok());
    EXPECT_EQ(std::count(to_default->begin(), to_default->end(), std::size_t{8}), 15);
    variant.stress = {.error_ratio = 1.0};
    const auto misrouted = stress_classes(*classes, variant);
    ASSERT_TRUE(misrouted.ok());
    for (std::size_t i = 0; i < classes->size(); ++i) EXPECT_NE((*misrouted)[i], (*classes)[i]);
}

TEST(VariantKey, DependsOnWhatChangesAnAnswerAndOnNothingElse) {
    Variant a;
    a.method = "clasp";
    a.budget = "64";
    a.policy = std::make_shared<Policy>(find_profile("llava").value());
    Variant b = a;
    b.label = "another name";
    EXPECT_EQ(variant_key(a, 16), variant_key(b, 16));
    EXPECT_NE(variant_key(a, 16), variant_key(a, 32));
    b.select_seed = 42;
    EXPECT_NE(variant_key(a, 16), variant_key(b, 16));
    b = a;
    b.mass = MassRule::Nearest;
    EXPECT_NE(variant_key(a, 16), variant_key(b, 16));
    Policy other = *a.policy;
    other.classes[2].split = 0.35;
    b = a;
    b.policy = std::make_shared<Policy>(other);
    EXPECT_NE(variant_key(a, 16), variant_key(b, 16));
    Variant vanilla = vanilla_variant();
    Variant with_policy = vanilla;
    with_policy.policy = b.policy;
    EXPECT_EQ(variant_key(vanilla, 16), variant_key(with_policy, 16));
}

}  // namespace
}  // namespace clasp::eval
