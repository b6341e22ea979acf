// Properties that every method has to have, over all registered ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "method_harness.h"
#include "methods/method.h"

namespace clasp::methods {

// How a failed test names its method.
static void PrintTo(const Method& method, std::ostream* out) {
    *out << method.name;
}

namespace {

using test::Content;
using test::drive;
using test::FakeModel;
using test::make_setup;
using test::Outcome;

class EveryMethod : public ::testing::TestWithParam<Method> {};

// What a run decided, as numbers that can be compared.
std::vector<TokenIndex> decisions(const Outcome& outcome) {
    std::vector<TokenIndex> all;
    const auto add = [&all](const Plan& plan) {
        all.insert(all.end(), plan.kept.begin(), plan.kept.end());
        for (std::size_t i = 0; i < plan.size(); ++i) {
            for (const MergeSource& source : plan.sources(i)) all.push_back(source.row);
        }
    };
    for (const auto& members : outcome.members) all.insert(all.end(), members.begin(), members.end());
    for (const Plan& plan : outcome.before_decoder) add(plan);
    for (const auto& stage : outcome.stages) add(stage.plan);
    return all;
}

TEST_P(EveryMethod, KeepsWhatItsProgramSaysInOrderAndOnce) {
    std::size_t n_reached = 0;
    for (const double tokens : {48.0, 32.0, 16.0, 1.0, 130.0}) {
        const FakeModel model;
        const auto outcome = drive(GetParam(), make_setup(GetParam(), model, tokens), model);
        if (!outcome.ok()) {
            // A budget that cannot be reached is refused with what can be.
            EXPECT_NE(outcome.status().code(), Code::Internal) << outcome.status().message();
            continue;
        }
        ++n_reached;
        if (!outcome->program.is_adaptive) {
            EXPECT_EQ(outcome->entering, outcome->program.entering) << tokens;
        }
        EXPECT_LE(outcome->program.entering, model.grid.size());
        std::size_t previous = outcome->program.entering;
        for (const DecoderStage& stage : outcome->program.stages) {
            EXPECT_LE(stage.keep, previous);
            EXPECT_LT(stage.layer, model.n_layers);
            previous = stage.keep;
        }
    }
    EXPECT_GE(n_reached, 4U);
}

TEST_P(EveryMethod, IsTheSameForAnyNumberOfThreadsAndFromRunToRun) {
    const FakeModel model;
    const auto setup = make_setup(GetParam(), model, 48.0);
    const auto alone = drive(GetParam(), setup, model);
    ASSERT_TRUE(alone.ok()) << alone.status().message();
    for (const std::size_t n_threads : {1U, 2U, 3U}) {
        ThreadPool pool(n_threads);
        const auto again = drive(GetParam(), setup, model, &pool);
        ASSERT_TRUE(again.ok());
        EXPECT_EQ(decisions(*again), decisions(*alone));
    }
}

TEST_P(EveryMethod, TakesDegenerateInputs) {
    for (const Content content : {Content::Equal, Content::Zero}) {
        FakeModel model;
        model.content = content;
        const auto outcome = drive(GetParam(), make_setup(GetParam(), model, 48.0), model);
        EXPECT_TRUE(outcome.ok()) << outcome.status().message();
    }
    FakeModel few_words;
    few_words.n_text = 1;
    const auto outcome = drive(GetParam(), make_setup(GetParam(), few_words, 48.0), few_words);
    EXPECT_TRUE(outcome.ok()) << outcome.status().message();
}

TEST_P(EveryMethod, TreatsEachImageOfARequestAlike) {
    FakeModel model;
    model.n_images = 2;
    const auto setup = make_setup(GetParam(), model, 96.0);
    const auto first = drive(GetParam(), setup, model, nullptr, 0);
    ASSERT_TRUE(first.ok()) << first.status().message();
    const auto second = drive(GetParam(), setup, model, nullptr, 1);
    ASSERT_TRUE(second.ok()) << second.status().message();
    // Both images hold the same, so whatever was decided of one was decided of the other; unless the number
    // of the image is meant to matter.
    EXPECT_EQ(decisions(*first), decisions(*second));
    EXPECT_FALSE(decisions(*first).empty());
}

INSTANTIATE_TEST_SUITE_P(All, EveryMethod, ::testing::ValuesIn(all_methods().begin(), all_methods().end()),
                         [](const auto& param_info) {
                             std::string name(param_info.param.name);
                             std::replace(name.begin(), name.end(), '+', 'P');
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

const Method& method_of(std::string_view name) {
    return **find_method(name);
}

TEST(Methods, AreFoundByNameOrTheErrorListsThem) {
    ASSERT_TRUE(find_method("clasp+").ok());
    EXPECT_TRUE((*find_method("clasp+"))->uses_masses);
    EXPECT_EQ(find_method("fastest").status().message().substr(0, 61),
              "there is no method 'fastest'; there are clasp, clasp+, attent");
    EXPECT_EQ((*find_method("FastV"))->name, "fastv");
    EXPECT_NE(find_method("sparsvlm").status().message().find("did you mean 'sparsevlm'?"),
              std::string::npos);
    const Status option = check_method_choice({"fastv", {"faithfull=code"}});
    EXPECT_NE(option.message().find("did you mean 'faithful'?"), std::string::npos) << option.message();
    EXPECT_TRUE(check_method_choice({"FASTV", {"Faithful=PAPER"}}).ok());
}

// One stage of 144 tokens of which 60 stay.
test::StageOutcome one_stage(std::string_view name, const FakeModel& model) {
    auto setup = make_setup(method_of(name), model, 60.0);
    setup.stages = {{2, 60}};
    auto outcome = drive(method_of(name), setup, model);
    EXPECT_TRUE(outcome.ok());
    return outcome->stages.at(0);
}

TEST(Methods, AttentionKeepsPivotsOnly) {
    const auto stage = one_stage("attention", {});
    for (const Reason reason : stage.plan.reasons) EXPECT_EQ(reason, Reason::Pivot);
}

TEST(Methods, ClaspSplitsPivotsAndCoverage) {
    const auto stage = one_stage("clasp", {});
    EXPECT_EQ(std::count(stage.plan.reasons.begin(), stage.plan.reasons.end(), Reason::Pivot), 36);
}

TEST(Methods, RandomIsNested) {
    const FakeModel model;
    const auto outcome = drive(method_of("random"), make_setup(method_of("random"), model, 40.0), model);
    ASSERT_TRUE(outcome.ok());
    ASSERT_EQ(outcome->stages.size(), 3U);
    for (std::size_t i = 1; i < 3; ++i) {
        const auto& wide = outcome->stages[i - 1].plan.kept;
        const auto& narrow = outcome->stages[i].plan.kept;
        EXPECT_TRUE(std::includes(wide.begin(), wide.end(), narrow.begin(), narrow.end()));
    }
}

// Over many pictures every place stays about as often as any other, and so does every pair of neighbours:
// the expected share is k / n and k (k - 1) / (n (n - 1)).
TEST(Methods, RandomDrawsEveryPlaceAlikeAndAnewForEachPicture) {
    constexpr std::size_t kTokens = 40;
    constexpr std::size_t kKeep = 10;
    constexpr std::size_t kPictures = 4000;
    const Method& random = method_of("random");
    const auto run = random.start(make_setup(random, FakeModel{}, 40.0)).value();
    std::vector<TokenIndex> live(kTokens);
    std::iota(live.begin(), live.end(), 0U);
    std::vector<int> stays(kTokens), stays_with_next(kTokens);
    for (std::size_t picture = 0; picture < kPictures; ++picture) {
        StageInput input;
        input.picture = picture;
        input.live = live;
        input.keep = kKeep;
        Plan plan;
        ASSERT_TRUE(run->at_stage(input, plan).ok());
        std::vector<bool> is_kept(kTokens);
        for (const TokenIndex token : plan.kept) is_kept[token] = true;
        for (std::size_t t = 0; t < kTokens; ++t) {
            stays[t] += is_kept[t];
            stays_with_next[t] += is_kept[t] && is_kept[(t + 1) % kTokens];
        }
    }
    // Five standard deviations of a binomial.
    const auto expect_near = [&](const std::vector<int>& counts, double share) {
        const double mean = share * kPictures;
        const double bound = 5 * std::sqrt(mean * (1 - share));
        for (const int count : counts) EXPECT_NEAR(count, mean, bound);
    };
    expect_near(stays, 10.0 / 40);
    expect_near(stays_with_next, 10.0 * 9 / (40 * 39));
}

TEST(Methods, UniformSpreadsOverTheLiveTokens) {
    const auto run = method_of("uniform").start({}).value();
    const std::vector<TokenIndex> live = {0, 1, 3, 4, 6, 7};
    StageInput input;
    input.live = live;
    input.keep = 3;
    Plan plan;
    ASSERT_TRUE(run->at_stage(input, plan).ok());
    EXPECT_EQ(plan.kept, (std::vector<TokenIndex>{1, 4, 7}));
}

TEST(Methods, OptionsAreCheckedAgainstTheirDescription) {
    const std::vector<OptionSpec> specs = {faithful_option(),
                                           {.name = "layer",
                                            .help = "",
                                            .fallback = "2",
                                            .type = OptionSpec::Type::Integer,
                                            .min = 1,
                                            .max = 9}};
    const auto read = [&](const std::vector<std::string>& given) {
        return Settings::read("m", specs, given);
    };
    ASSERT_TRUE(read({}).ok());
    EXPECT_TRUE(read({})->is("faithful", "code"));
    EXPECT_EQ(read({"layer=5"})->integer("layer"), 5U);
    EXPECT_EQ(read({"layer=5", "layer=6"}).status().message(), "option 'layer' is given twice");
    EXPECT_EQ(read({"depth=5"}).status().message(),
              "method 'm' has no option 'depth'; it has faithful, layer");
    EXPECT_EQ(read({"layer=10"}).status().message(), "m's option layer is 10, outside 1 to 9");
    EXPECT_EQ(read({"layer=2.5"}).status().message(), "m's option layer is a whole number, not '2.5'");
    EXPECT_EQ(read({"faithful=me"}).status().message(),
              "m's option faithful is one of paper, code, not 'me'");
    EXPECT_EQ(read({"faithful"}).status().message(),
              "a method's option is written name=value, not 'faithful'");
}

TEST(MethodLabel, IsTheNameOfWhatRuns) {
    const auto label = [](const char* name, bool has_masses) {
        return method_label(**find_method(name), {}, has_masses);
    };
    EXPECT_EQ(label("clasp", false), "clasp");
    EXPECT_EQ(label("clasp", true), "clasp+");
    EXPECT_EQ(label("clasp+", true), "clasp+");
    EXPECT_EQ(label("clasp+", false), "clasp");
    EXPECT_EQ(label("sparsevlm", true), "sparsevlm + masses");  // sparsevlm+ is another method
    EXPECT_EQ(method_label(**find_method("dart"), {"count=code"}, true), "dart:count=code + masses");
    for (const Method& method : all_methods()) {
        EXPECT_EQ(method.without_masses.empty(), !method.uses_masses) << method.name;
        EXPECT_EQ(find_method(method.without_masses).ok(), method.uses_masses) << method.name;
    }
}

}  // namespace
}  // namespace clasp::methods
