#include "route/train.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/file.h"
#include "route/labelled.h"
#include "support/paths.h"

namespace clasp::route {
namespace {

Example example(std::vector<std::uint32_t> ids, std::vector<bool> allowed) {
    Example out;
    for (const std::uint32_t id : ids) out.features.push_back({id, 1.0f, true});
    out.allowed = std::move(allowed);
    return out;
}

// Feature 1 speaks for the first intent, 2 for the second, 9 for nothing.
std::vector<Example> two_sides() {
    std::vector<Example> out;
    for (int i = 0; i < 20; ++i) {
        out.push_back(example({1, 9}, {true, false, false}));
        out.push_back(example({2, 9}, {false, true, false}));
    }
    return out;
}

const std::vector<std::string> kNames = {"one", "two", "three"};

TEST(Train, LearnsAndIsRepeatable) {
    const auto a = train(two_sides(), kNames, {});
    const auto b = train(two_sides(), kNames, {});
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_EQ(a->save(Lexicon::builtin()), b->save(Lexicon::builtin()));
    const std::vector<Feature> first = {{1, 1.0f, true}};
    const std::vector<Feature> second = {{2, 1.0f, true}};
    EXPECT_GT(a->probabilities(first)[0], 0.7f);
    EXPECT_GT(a->probabilities(second)[1], 0.7f);
}

TEST(Train, AnotherSeedGivesOtherBytes) {
    TrainOptions options;
    options.seed = 2;
    EXPECT_NE(train(two_sides(), kNames, options)->save(Lexicon::builtin()),
              train(two_sides(), kNames, {})->save(Lexicon::builtin()));
}

// A line that allows two intents pushes both together and leaves the choice to other lines.
TEST(Train, PartialLabelsTeachTheSum) {
    std::vector<Example> examples = two_sides();
    for (int i = 0; i < 40; ++i) examples.push_back(example({1, 5}, {true, true, false}));
    const auto model = train(examples, kNames, {});
    const std::vector<Feature> partial = {{1, 1.0f, true}, {5, 1.0f, true}};
    const std::vector<float> p = model->probabilities(partial);
    EXPECT_GT(p[0] + p[1], 0.9f);
    EXPECT_GT(p[0], p[1]);
}

TEST(Train, RareFeaturesAreDropped) {
    std::vector<Example> examples = two_sides();
    examples.push_back(example({77}, {false, false, true}));
    EXPECT_EQ(train(examples, kNames, {})->weight(77, 2), 0.0f);
    TrainOptions all;
    all.min_count = 1;
    EXPECT_GT(train(examples, kNames, all)->weight(77, 2), 0.0f);
}

TEST(Train, KeepsTheStrongestFeatures) {
    TrainOptions options;
    options.max_features = 2;
    const auto model = train(two_sides(), kNames, options);
    EXPECT_EQ(model->n_features(), 2u);
    EXPECT_EQ(model->weight(9, 0), 0.0f);
}

// The mean over rounds lies between them: each round has other random numbers, and none decides alone.
TEST(Train, RoundsAreAveraged) {
    const auto weight = [](int rounds, std::uint64_t seed) {
        TrainOptions options;
        options.rounds = rounds;
        options.seed = seed;
        return train(two_sides(), kNames, options)->weight(1, 0);
    };
    const float first = weight(1, 1);
    const float second = weight(1, 1001);
    ASSERT_NE(first, second);
    EXPECT_NEAR(weight(2, 1), 0.5f * (first + second), 0.02f * std::abs(first));
}

TEST(Train, NothingToLearnFromIsAnError) {
    EXPECT_EQ(train({}, kNames, {}).status().code(), Code::InvalidArgument);
    const std::vector<Example> none = {example({1}, {false, false, false})};
    EXPECT_EQ(train(none, kNames, {}).status().code(), Code::InvalidArgument);
    const std::vector<Example> wrong_width = {example({1}, {true})};
    EXPECT_EQ(train(wrong_width, kNames, {}).status().code(), Code::InvalidArgument);
}

TEST(MakeExamples, BenchmarksAreBalanced) {
    std::vector<Question> questions(9, Question{"how many cats", "large", 5, ""});
    questions.push_back({"what color is it", "small", 1, ""});
    questions.push_back({"no label", "small", std::nullopt, ""});
    const auto even = make_examples(questions, Taxonomy::builtin(), Lexicon::builtin(), 1.0f);
    ASSERT_TRUE(even.ok());
    ASSERT_EQ(even->size(), 10u);
    EXPECT_NEAR(even->back().weight, 9.0f * even->front().weight, 1e-4f);
    const auto plain = make_examples(questions, Taxonomy::builtin(), Lexicon::builtin(), 0.0f);
    EXPECT_FLOAT_EQ(plain->back().weight, 1.0f);
}

TEST(MakeExamples, UnknownLabelsAreErrors) {
    const std::vector<Question> no_class = {{"x", "b", 42, ""}};
    const std::vector<Question> no_intent = {{"x", "b", 5, "cooking"}};
    EXPECT_FALSE(make_examples(no_class, Taxonomy::builtin(), Lexicon::builtin(), 0.0f).ok());
    EXPECT_FALSE(make_examples(no_intent, Taxonomy::builtin(), Lexicon::builtin(), 0.0f).ok());
}

std::vector<Question> some_real_questions() {
    const auto text =
        base::read_file(std::string(test::source_dir()) + "/src/route/data/own.jsonl", std::size_t{1} << 26u);
    std::vector<Question> questions = parse_questions(*text).value();
    questions.resize(300);
    // Sets of different sizes, so that weights and folds depend on the counts.
    for (std::size_t i = 0; i < questions.size(); ++i) {
        questions[i].benchmark = std::string(1, static_cast<char>('a' + (i * i) % 11));
    }
    // The same text twice, with different labels.
    questions.push_back({"what is it", "a", 0, ""});
    questions.push_back({"what is it", "a", 1, ""});
    questions.push_back({"what is it", "b", 1, "attribute"});
    return questions;
}

TEST(FitRouter, DoesNotDependOnTheOrderOfTheLines) {
    std::vector<Question> questions = some_real_questions();
    TrainOptions options;
    options.epochs = 3;
    const auto bytes = [&] {
        const auto model = fit_router(questions, Taxonomy::builtin(), Lexicon::builtin(), options);
        return model.value().save(Lexicon::builtin());
    };
    const std::string first = bytes();
    std::mt19937 random(7);
    for (int i = 0; i < 3; ++i) {
        std::shuffle(questions.begin(), questions.end(), random);
        EXPECT_EQ(bytes(), first);
    }
    questions.pop_back();
    EXPECT_NE(bytes(), first) << "the bytes would not show a difference";
}

TEST(PartOf, DependsOnTheWordsOnly) {
    EXPECT_EQ(part_of({"What is THIS?", "a", 0, ""}, 1000), part_of({"what is this", "b", 1, ""}, 1000));
    EXPECT_NE(part_of({"what is this", "", 0, ""}, 1000), part_of({"what is that", "", 0, ""}, 1000));
}

}  // namespace
}  // namespace clasp::route
