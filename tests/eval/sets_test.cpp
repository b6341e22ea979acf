// Every benchmark on a small set in its official format; the expected figures are worked out by hand.
#include <gmock/gmock.h>

#include <set>

#include "fixture.h"

namespace clasp::eval {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr double kTolerance = 5e-3;  // figures are given with the digits that benchmarks print
const std::string kShort = "\nAnswer the question using a single word or phrase.";

TEST(Registry, NamesAreForgivingAndUnique) {
    std::set<std::string_view> names;
    for (const Benchmark& set : benchmarks()) EXPECT_TRUE(names.insert(set.name).second) << set.name;
    EXPECT_EQ(names.size(), 18U);
    EXPECT_EQ(find_benchmark("MM-Vet").value()->name, "mm-vet");
    EXPECT_EQ(find_benchmark("mmbench_cn").value()->name, "mmbench-cn");
    EXPECT_EQ(find_benchmark("llava-bench-in-the-wild").value()->name, "llava-bench");
    EXPECT_THAT(find_benchmark("coco").status().message(), HasSubstr("there is no benchmark"));
}

// What holds for all: a score per item in [0, 1], whose mean is the headline where the benchmark says so, and
// no credit for answers that are not there.
TEST(EverySet, ItemScoresAndMissingAnswers) {
    for (const Benchmark& set : benchmarks()) {
        if (set.needs_judge) continue;
        SCOPED_TRACE(set.name);
        const std::string name(set.name);
        const Dataset dataset = load_fixture(name, name);
        const Scores scores = score_fixture(name, name, name + "/answers.jsonl");
        ASSERT_EQ(scores.item_scores.size(), dataset.items.size());
        double sum = 0.0;
        for (const double score : scores.item_scores) {
            EXPECT_GE(score, 0.0);
            EXPECT_LE(score, 1.0);
            sum += score;
        }
        const double mean = sum / static_cast<double>(scores.item_scores.size());
        if (set.is_mean) {
            EXPECT_NEAR(scores.headline.value, set.scale * mean, 1e-9);
        }
        EXPECT_GT(scores.headline.value, 0.0);
        EXPECT_NEAR(metric(scores, scores.headline.name), scores.headline.value, 0.0);
        const Answers none = in_item_order(dataset, {});
        EXPECT_THAT(none.missing, SizeIs(dataset.items.size()));
        EXPECT_EQ(set.score(dataset, none, nullptr).value().headline.value, 0.0);
        std::set<std::string> ids;
        for (const Item& item : dataset.items) {
            EXPECT_TRUE(ids.insert(item.id).second) << item.id;
            EXPECT_FALSE(item.prompt.empty() || item.question.empty() || item.group.empty()) << item.id;
        }
    }
}

TEST(Gqa, Figures) {
    const Dataset dataset = load_fixture("gqa", "gqa");
    ASSERT_THAT(dataset.items, SizeIs(4));
    EXPECT_THAT(dataset.warnings, ElementsAre(HasSubstr("1 questions outside the balanced set")));
    EXPECT_EQ(dataset.items[0].prompt, "Is it raining?" + kShort);
    EXPECT_THAT(dataset.items[0].image, EndsWith("images/n1.jpg"));
    const Scores scores = score_fixture("gqa", "gqa", "gqa/answers.jsonl");
    EXPECT_NEAR(scores.headline.value, 75.0, kTolerance);
    EXPECT_NEAR(metric(scores, "open"), 50.0, kTolerance);
    EXPECT_NEAR(metric(scores, "binary"), 100.0, kTolerance);
    EXPECT_NEAR(metric(scores, "semantic.rel"), 50.0, kTolerance);
    EXPECT_NEAR(metric(scores, "steps.2"), 200.0 / 3.0, kTolerance);  // 9001, 9002, 9003
    EXPECT_NEAR(metric(scores, "steps.1"), 100.0, kTolerance);        // 9004
    EXPECT_NEAR(metric(scores, "words.3"), 100.0, kTolerance);
    // dog twice instead of dog and cat: (1 + 1) x 2 / 2 / 100
    EXPECT_NEAR(metric(scores, "distribution"), 0.02, 1e-9);
}

TEST(Pope, FiveFiguresPerSetting) {
    const Scores scores = score_fixture("pope", "pope", "pope/answers.jsonl");
    EXPECT_NEAR(metric(scores, "random.accuracy"), 0.75, 1e-9);
    EXPECT_NEAR(metric(scores, "random.precision"), 1.0, 1e-9);
    EXPECT_NEAR(metric(scores, "random.recall"), 0.5, 1e-9);
    EXPECT_NEAR(metric(scores, "random.f1"), 2.0 / 3.0, 1e-9);
    EXPECT_NEAR(metric(scores, "random.yes_ratio"), 0.25, 1e-9);
    // "NO" and an empty answer are yes.
    EXPECT_NEAR(metric(scores, "popular.f1"), 0.8, 1e-9);
    EXPECT_NEAR(metric(scores, "popular.yes_ratio"), 0.75, 1e-9);
    EXPECT_EQ(metric(scores, "popular.fp"), 1.0);
    EXPECT_NEAR(metric(scores, "adversarial.f1"), 1.0, 1e-9);
    EXPECT_NEAR(scores.headline.value, (2.0 / 3.0 + 0.8 + 1.0) / 3.0, 1e-9);
}

TEST(Pope, QuestionFileOfAnotherReleaseIsRefused) {
    const std::string folder = scratch_folder();
    for (const char* setting : {"random", "popular", "adversarial"}) {
        const std::string name = std::string("coco_pope_") + setting + ".json";
        std::filesystem::copy(fixture("pope/" + name), folder + "/" + name);
    }
    write_text(folder + "/llava_pope_test.jsonl", "{\"question_id\": 5, \"category\": \"random\"}\n");
    EXPECT_THAT(benchmark("pope").load(folder, {}).status().message(), HasSubstr("different releases"));
}

TEST(TextVqa, JoinsByPictureAndQuestion) {
    const Dataset dataset = load_fixture("textvqa", "textvqa");
    EXPECT_EQ(dataset.items[1].prompt, "What time is it?\nReference OCR token: " + kShort);
    EXPECT_THAT(dataset.warnings, IsEmpty());
    const Answers answers = match_fixture(benchmark("textvqa"), dataset, "textvqa/answers.jsonl");
    EXPECT_THAT(answers.missing, ElementsAre("36"));
    EXPECT_THAT(answers.unknown, IsEmpty());
    const Scores scores = score_fixture("textvqa", "textvqa", "textvqa/answers.jsonl");
    EXPECT_NEAR(scores.headline.value, 160.0 / 3.0, kTolerance);  // 0.6 and 1 of three
}

TEST(TextVqa, OtherPromptsAndOwnIds) {
    const Dataset dataset = load_fixture("textvqa", "textvqa");
    const std::vector<Prediction> predictions = {
        {"00aa", "x", "OCR tokens: A, B. Question: WHAT time is it? Short answer:"},
        {"00aa", "y", "Reference OCR token: STOP\nWhat colour is the sign?\nAnswer."},
        {"36", "z", ""},
        {"00bb", "w", "one\ntwo\nthree\nfour"}};
    const Answers answers = benchmark("textvqa").match(dataset, predictions).value();
    EXPECT_EQ(answers.texts[1], "x");
    EXPECT_EQ(answers.texts[0], "y");
    EXPECT_EQ(answers.texts[2], "z");
    EXPECT_THAT(answers.unknown, ElementsAre("00bb"));
}

TEST(ScienceQa, ReadsLettersAsTheScriptDoes) {
    const Dataset dataset = load_fixture("scienceqa", "scienceqa");
    ASSERT_THAT(dataset.items, SizeIs(6));
    EXPECT_EQ(dataset.items[0].prompt,
              "Context: Look at it.\nWhich one?\nA. one\nB. two\nC. three\nAnswer with the option's letter "
              "from the "
              "given choices directly.");
    EXPECT_THAT(dataset.items[0].image, EndsWith("images/test/11/image.png"));
    EXPECT_FALSE(dataset.items[1].has_image());
    const Scores scores = score_fixture("scienceqa", "scienceqa", "scienceqa/answers.jsonl");
    EXPECT_THAT(scores.item_scores, ElementsAre(1, 1, 0, 1, 0, 0));
    EXPECT_NEAR(scores.headline.value, 50.0, kTolerance);
    EXPECT_NEAR(metric(scores, "accuracy.img"), 66.67, kTolerance);
    EXPECT_NEAR(metric(scores, "accuracy.no_img"), 33.33, kTolerance);
    EXPECT_EQ(metric(scores, "failed"), 2.0);
    EXPECT_NEAR(metric(scores, "grade.1-6"), 33.33, kTolerance);
}

TEST(Mme, AccuracyAndAccuracyPlus) {
    const Dataset dataset = load_fixture("mme", "mme");
    ASSERT_THAT(dataset.items, SizeIs(8));
    EXPECT_EQ(dataset.items[2].prompt, "Is there a bus in this image?" + kShort);
    EXPECT_EQ(dataset.items[4].group, "posters/images/tt1.jpg");
    EXPECT_THAT(match_fixture(benchmark("mme"), dataset, "mme/answers.jsonl").unknown, IsEmpty());
    const Scores scores = score_fixture("mme", "mme", "mme/answers.jsonl");
    EXPECT_NEAR(metric(scores, "existence.score"), 125.0, 1e-9);
    EXPECT_NEAR(metric(scores, "posters.score"), 50.0, 1e-9);
    EXPECT_NEAR(metric(scores, "code_reasoning.score"), 200.0, 1e-9);
    EXPECT_NEAR(metric(scores, "perception"), 175.0, 1e-9);
    EXPECT_NEAR(metric(scores, "cognition"), 200.0, 1e-9);
    EXPECT_NEAR(scores.headline.value, 375.0, 1e-9);
}

TEST(MmBench, EveryRotationMustBeRight) {
    const Dataset dataset = load_fixture("mmbench", "mmbench");
    ASSERT_THAT(dataset.items, SizeIs(9));
    EXPECT_EQ(dataset.items[4].prompt,
              "Look closely.\nIs the \"sign\"\nred?\nA. yes it is\nB. no\nAnswer with the option's letter "
              "from the given "
              "choices directly.");
    EXPECT_EQ(read_image(dataset.items[3]).value(),
              "not a real picture, but bytes");  // taken from its base row
    const Scores scores = score_fixture("mmbench", "mmbench", "mmbench/answers.jsonl");
    // "The answer is A." has a lone A among more than three words: taken for the article.
    EXPECT_THAT(scores.item_scores, ElementsAre(1, 1, 1, 0, 1, 0, 1, 1, 1));
    EXPECT_NEAR(scores.headline.value, 33.33, kTolerance);
    EXPECT_NEAR(metric(scores, "vanilla"), 100.0, kTolerance);
    EXPECT_NEAR(metric(scores, "rows"), 77.78, kTolerance);
    EXPECT_EQ(metric(scores, "unread"), 1.0);
    EXPECT_NEAR(metric(scores, "l2.finegrained_perception (cross-instance)"), 100.0, kTolerance);
    EXPECT_NEAR(metric(scores, "l3.ocr"), 0.0, kTolerance);
}

TEST(MmBench, Chinese) {
    const Dataset dataset = load_fixture("mmbench-cn", "mmbench-cn");
    EXPECT_THAT(dataset.items[0].prompt,
                EndsWith("\n\xE8\xAF\xB7\xE7\x9B\xB4\xE6\x8E\xA5\xE5\x9B\x9E\xE7\xAD\x94"
                         "\xE9\x80\x89\xE9\xA1\xB9\xE5\xAD\x97\xE6\xAF\x8D\xE3\x80\x82"));
    EXPECT_NEAR(score_fixture("mmbench-cn", "mmbench-cn", "mmbench-cn/answers.jsonl").headline.value, 100.0,
                kTolerance);
}

TEST(VqaV2, ToolkitAndConvertedAnswers) {
    const Dataset dataset = load_fixture("vqav2", "vqav2");
    EXPECT_EQ(dataset.split, "val2014");
    EXPECT_THAT(dataset.items[0].image, EndsWith("val2014/COCO_val2014_000000000042.jpg"));
    const Scores scores = score_fixture("vqav2", "vqav2", "vqav2/answers.jsonl");
    EXPECT_THAT(scores.item_scores, ElementsAre(0.0, 0.6, 0.9, 1.0));
    EXPECT_NEAR(scores.headline.value, 62.5, kTolerance);
    EXPECT_NEAR(metric(scores, "answer_type.number"), 60.0, kTolerance);
    EXPECT_NEAR(metric(scores, "question_type.what is"), 95.0, kTolerance);
    // Converted, "Yes" becomes "yes", and "Man's hat" becomes "man 's hat", which nobody said.
    EXPECT_NEAR(metric(scores, "accuracy_m4c"), 62.5, kTolerance);
    EXPECT_EQ(benchmark("vqav2").convert("Yes."), "yes");
}

TEST(VizWiz, UnanswerableIsAnAnswer) {
    const Dataset dataset = load_fixture("vizwiz", "vizwiz");
    EXPECT_EQ(
        dataset.items[1].prompt,
        "Which can is it?\nWhen the provided information is insufficient, respond with 'Unanswerable'." +
            kShort);
    const Scores scores = score_fixture("vizwiz", "vizwiz", "vizwiz/answers.jsonl");
    EXPECT_NEAR(scores.headline.value, 80.0, kTolerance);
    EXPECT_NEAR(metric(scores, "answer_type.other"), 60.0, kTolerance);
    EXPECT_NEAR(score_fixture("vizwiz", "vizwiz", "vizwiz/upload.json").headline.value, 50.0, kTolerance);
}

TEST(SeedBench, ExactLettersAndTheRepeatedId) {
    const Dataset dataset = load_fixture("seed-bench", "seed-bench");
    ASSERT_THAT(dataset.items, SizeIs(4));
    EXPECT_THAT(dataset.warnings, SizeIs(2));  // the repeated id, and the video left out
    const Scores scores = score_fixture("seed-bench", "seed-bench", "seed-bench/answers.jsonl");
    EXPECT_THAT(scores.item_scores, ElementsAre(1, 0, 1, 0));
    EXPECT_NEAR(metric(scores, "type.Instances Counting"), 33.33, kTolerance);
}

TEST(Scenes, ClassesAndForms) {
    const Dataset dataset = load_fixture("scenes", "scenes");
    EXPECT_EQ(dataset.items[1].class_id, 5);
    EXPECT_EQ(dataset.items[1].group, dataset.items[0].group);
    const Scores scores = score_fixture("scenes", "scenes", "scenes/answers.jsonl");
    EXPECT_NEAR(scores.headline.value, 66.67, kTolerance);
    EXPECT_NEAR(metric(scores, "class.Counting"), 50.0, kTolerance);
    EXPECT_NEAR(metric(scores, "template.tool"), 100.0, kTolerance);
}

TEST(ScenesVideo, ExactMatchByFormWithoutAJudge) {
    const Dataset dataset = load_fixture("scenes-video", "scenes-video");
    EXPECT_THAT(dataset.items[0].image, EndsWith("clips/000000.png"));
    EXPECT_EQ(dataset.items[2].class_id, 6);
    EXPECT_TRUE(benchmark("scenes-video").is_video);
    EXPECT_FALSE(benchmark("scenes-video").needs_judge);
    const Scores scores = score_fixture("scenes-video", "scenes-video", "scenes-video/answers.jsonl");
    EXPECT_THAT(scores.item_scores, ElementsAre(1, 0, 1));
    EXPECT_NEAR(metric(scores, "template.which-way"), 100.0, kTolerance);
    EXPECT_NEAR(metric(scores, "template.how-often"), 0.0, kTolerance);
}

TEST(UserJsonl, AnyOfTheAnswers) {
    const Scores scores = score_fixture("jsonl", "jsonl", "jsonl/answers.jsonl");
    EXPECT_NEAR(scores.headline.value, 66.67, kTolerance);
    EXPECT_NEAR(metric(scores, "exact"), 0.0, kTolerance);
    EXPECT_NEAR(metric(scores, "category.count"), 100.0, kTolerance);
    EXPECT_THAT(benchmark("jsonl").load(fixture("jsonl/questions.jsonl"), {}).value().items, SizeIs(3));
}

}  // namespace
}  // namespace clasp::eval
