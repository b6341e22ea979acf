// The files in models/ through the trainer's own forward pass.
#include <cblas.h>
#include <gtest/gtest.h>

#include "gguf/import_model.h"
#include "train/compare_answers.h"
#include "train/evaluate.h"

namespace clasp::training {
namespace {

// The engine is held to these same answers on machines that have no trainer.
void expect_recorded_answers(const char* name, const char* file, int count) {
    openblas_set_num_threads(1);
    const std::string root = CLASP_SOURCE_DIR;
    const auto shipped = import_model(root + "/models", name);
    ASSERT_TRUE(shipped.ok()) << shipped.status().message();
    const auto recorded = read_answers(root + "/tests/embedded/" + file);
    ASSERT_TRUE(recorded.ok()) << recorded.status().message();
    EvaluationPlan plan;
    plan.scenes = count;
    plan.frames = shipped->model->shape().frames;
    AnswersById answers;
    evaluate(*shipped->model, shipped->vocabulary, plan,
             [&](const Prediction& p) { answers[std::to_string(p.question_id)] = p.text; });
    const AnswerComparison comparison = compare_answers(answers, *recorded);
    EXPECT_EQ(comparison.missing, 0);
    // Another processor may add in another order, so that one near tie may fall the other way.
    EXPECT_LE(comparison.different.size(), 1U);
}

TEST(ShippedModel, gives_the_recorded_answers) {
    expect_recorded_answers(kStillName, "answers.jsonl", 27);  // three of each class
}

TEST(ShippedModel, of_clips_gives_the_recorded_answers) {
    expect_recorded_answers(kVideoName, "answers-video.jsonl", 24);  // three of each form
}

}  // namespace
}  // namespace clasp::training
