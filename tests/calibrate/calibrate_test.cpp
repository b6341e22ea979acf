// Whole calibrations over a model that answers by rule.
#include "calibrate/calibrate.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "draw/calibration_report.h"
#include "eval_run/fake_model.h"
#include "support/json.h"

namespace clasp::calibrate {
namespace {

// Class 1 is right with splits from 0.5 on only, class 2 with the feature layer alone only, class 0 always.
struct PickyModel {
    std::size_t asked = 0;
    std::size_t stop_after = 0;

    eval::Asker asker() {
        return [this](const AskRequest& request) -> Result<Answer> {
            if (stop_after > 0 && asked == stop_after) return Status(Code::Internal, "killed");
            ++asked;
            const auto id = static_cast<std::size_t>(std::stoul(request.class_choice));
            const auto mix = mix_for(request.policy, id);
            bool is_right = true;
            if (id == 1) is_right = request.policy.classes[id].split >= 0.5;
            if (id == 2) is_right = mix->size() == 1;
            Answer answer;
            answer.text = is_right ? "yes" : "no";
            return answer;
        };
    }
};

class CalibrateTest : public ::testing::Test {
   protected:
    void SetUp() override {
        dataset_ = eval::test::make_dataset(clasp::test::scratch_dir() + std::string("/calibrate"), 120, 1);
        request_.benchmark = &eval::test::yes_benchmark();
        request_.dataset = &dataset_;
        request_.start = find_profile("llava").value();  // class 1 splits at 0.4, class 2 mixes two layers
        request_.method = "clasp";
        request_.budget = "64";
        request_.space = default_space(24, 22);
        request_.classes = eval::ClassSource::Truth;
        request_.sampling.per_class = 40;
        request_.race.first_block = 8;
    }

    eval::Dataset dataset_;
    CalibrateRequest request_;
};

TEST_F(CalibrateTest, FindsWhatHelpsAndLeavesTheRestAlone) {
    for (const SearchOrder order : {SearchOrder::TwoPhase, SearchOrder::Joint}) {
        request_.order = order;
        PickyModel model;
        const auto report = calibrate(request_, model.asker());
        ASSERT_TRUE(report.ok()) << report.status().message();
        ASSERT_EQ(report->classes.size(), 9U);
        EXPECT_FALSE(report->classes[0].is_changed);
        EXPECT_TRUE(report->classes[1].is_changed);
        EXPECT_GE(report->policy.classes[1].split, 0.5);
        EXPECT_TRUE(report->classes[2].is_changed);
        EXPECT_EQ(report->policy.classes[2].weights.size(), 1U);
        EXPECT_EQ(report->classes[2].held_out_before, 0.0);
        EXPECT_EQ(report->classes[2].held_out_winner, 1.0);
        for (std::size_t id = 3; id < 9; ++id) {  // no questions of these
            EXPECT_FALSE(report->classes[id].is_changed);
            EXPECT_FALSE(report->classes[id].search_before.has_value());
            EXPECT_FALSE(report->classes[id].held_out_before.has_value());
            EXPECT_EQ(report->policy.classes[id].weights, request_.start.classes[id].weights);
        }
        EXPECT_TRUE(validate(report->policy).ok());
    }
}

TEST_F(CalibrateTest, TooFewQuestionsTakeNoWinnerAndAreSaid) {
    request_.sampling.per_class = 3;  // one of them held out
    PickyModel model;
    const auto report = calibrate(request_, model.asker());
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_EQ(report->classes[1].n_held_out, 1U);
    EXPECT_GE(report->classes[1].winner.split, 0.5);  // found, but not taken
    EXPECT_FALSE(report->classes[1].is_changed);
    EXPECT_EQ(report->policy.classes[1].split, request_.start.classes[1].split);
    ASSERT_EQ(report->warnings.size(), 9U);
    EXPECT_EQ(
        report->warnings[1],
        "class 'Attribute / breed identification' has one held-out question, fewer than 5, and keeps its "
        "setting");
    request_.sampling.per_class = 40;
    const auto more = calibrate(request_, model.asker());
    ASSERT_TRUE(more.ok());
    EXPECT_EQ(more->warnings[1],
              "class 'Attribute / breed identification' was decided by 12 held-out questions; fewer than 30 "
              "hardly tell settings apart");
}

TEST_F(CalibrateTest, ThePolicyHasTheMassesThatTheSearchRanWith) {
    request_.start.method = "clasp+";
    request_.start.mass = MassRule::Nearest;
    for (const auto& [method, mass] :
         {std::pair("clasp", MassRule::None), std::pair("attention", MassRule::None),
          std::pair("clasp+", MassRule::Nearest)}) {
        request_.method = method;
        PickyModel model;
        const auto report = calibrate(request_, model.asker());
        ASSERT_TRUE(report.ok()) << report.status().message();
        EXPECT_EQ(report->policy.mass, mass) << method;
    }
}

TEST_F(CalibrateTest, CandidatesRunWithWhatTheyHaveInCommon) {
    request_.common.select_seed = 7;
    request_.common.detail.max_tokens = 90;
    request_.common.method_options = {"seed=3"};
    request_.common.method = "clasp";  // the request's own counts
    request_.method = "random";
    std::size_t n_asked = 0;
    const auto report = calibrate(request_, [&](const AskRequest& request) -> Result<Answer> {
        ++n_asked;
        EXPECT_EQ(request.method, "random");
        EXPECT_EQ(request.select_seed, 7U);
        EXPECT_EQ(request.detail.max_tokens, 90U);
        EXPECT_EQ(request.method_options, (std::vector<std::string>{"seed=3"}));
        return Answer();
    });
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_GT(n_asked, 0U);
}

// A mix of three layers is best at the split that the policy has, the feature layer alone at a low one.
TEST_F(CalibrateTest, ASecondRoundFindsAMixThatNeedsTheNewSplit) {
    const eval::Asker model = [](const AskRequest& request) -> Result<Answer> {
        const auto id = static_cast<std::size_t>(std::stoul(request.class_choice));
        const std::size_t n_layers = mix_for(request.policy, id)->size();
        const bool is_low = request.policy.classes[id].split < 0.2;
        std::size_t right_of_four = n_layers == 3 ? 2 : 1;
        if (is_low) right_of_four = n_layers == 1 ? 4 : 3;
        const std::size_t number = std::stoul(request.question.substr(std::strlen("What is number ")));
        Answer answer;
        answer.text = number / 3 % 4 < right_of_four ? "yes" : "no";
        return answer;
    };
    request_.rounds = 1;
    const auto once = calibrate(request_, model);
    ASSERT_TRUE(once.ok()) << once.status().message();
    EXPECT_EQ(once->policy.classes[1].weights.size(), 3U);
    request_.rounds = 3;
    const auto often = calibrate(request_, model);
    ASSERT_TRUE(often.ok()) << often.status().message();
    EXPECT_EQ(often->policy.classes[1].weights.size(), 1U);
    EXPECT_LT(often->policy.classes[1].split, 0.2);
    EXPECT_EQ(often->classes[1].search_winner, 1.0);
}

TEST_F(CalibrateTest, FitsAClassToWhatTheRouterSendsToIt) {
    // All labels say class 2, but these words are routed to another class, and that one is searched.
    request_.classes = eval::ClassSource::Classifier;
    for (eval::Item& item : dataset_.items) {
        item.question = "How many cups are on the table?";
        item.class_id = 2;
    }
    const auto routed = eval::route_items(dataset_, eval::ClassSource::Classifier);
    ASSERT_TRUE(routed.ok());
    ASSERT_NE(routed->front(), 2U);
    PickyModel model;
    const auto report = calibrate(request_, model.asker());
    ASSERT_TRUE(report.ok());
    for (const ClassReport& entry : report->classes) {
        EXPECT_EQ(entry.n_search > 0, entry.id == routed->front()) << entry.name;
    }
}

TEST_F(CalibrateTest, GoesOnWhereItWasStoppedAndEndsAtTheSamePolicy) {
    PickyModel whole;
    const auto uninterrupted = calibrate(request_, whole.asker());
    ASSERT_TRUE(uninterrupted.ok());

    const std::string path = clasp::test::scratch_dir() + std::string("/calibrate-results.jsonl");
    std::filesystem::remove(path);
    std::size_t asked = 0;
    for (const std::size_t life : {90U, 50U, 0U}) {
        auto known = eval::read_records(path);
        ASSERT_TRUE(known.ok());
        request_.known = *known;
        auto writer = eval::ResultsWriter::open(path);
        ASSERT_TRUE(writer.ok());
        request_.writer = &*writer;
        PickyModel model;
        model.stop_after = life;
        const auto report = calibrate(request_, model.asker());
        asked += model.asked;
        EXPECT_EQ(report.ok(), life == 0);
        if (report.ok()) {
            EXPECT_EQ(policy_hash(report->policy), policy_hash(uninterrupted->policy));
        }
    }
    EXPECT_EQ(asked, whole.asked);
}

TEST_F(CalibrateTest, SaysWhereItsNumbersComeFromAndDrawsTheSearch) {
    request_.refine = 4;
    PickyModel model;
    const auto report = calibrate(request_, model.asker());
    ASSERT_TRUE(report.ok());
    const auto json = test::parsed(provenance_json(request_, *report, {"tiny", "m", "data", "d"}));
    EXPECT_EQ(json["budget"], "64");
    EXPECT_EQ(json["model_hash"], "m");
    EXPECT_EQ(json["classes"].size(), 9U);
    Policy policy = report->policy;
    policy.provenance = base::dump_json(json);
    const auto back = parse_policy(to_json(policy));
    ASSERT_TRUE(back.ok()) << back.status().message();
    EXPECT_EQ(policy_hash(*back), policy_hash(report->policy));
    const std::string html = draw::calibration_html(*report, "a <title>");
    EXPECT_NE(html.find("refine"), std::string::npos);
    EXPECT_NE(html.find("a &lt;title&gt;"), std::string::npos);
}

TEST_F(CalibrateTest, RefusesMetricsThatAreNoMeans) {
    eval::Benchmark other = eval::test::yes_benchmark();
    other.is_mean = false;
    request_.benchmark = &other;
    PickyModel model;
    EXPECT_FALSE(calibrate(request_, model.asker()).ok());
}

}  // namespace
}  // namespace clasp::calibrate
