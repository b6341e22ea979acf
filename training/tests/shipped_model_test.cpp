// The files in models/ through the trainer's own forward pass.
#include <cblas.h>
#include <gtest/gtest.h>

#include "gguf/import_model.h"
#include "train/compare_answers.h"
#include "train/evaluate.h"

namespace clasp::training {
namespace {

// The engine is held to these same answers on machines that have no trainer.
TEST(ShippedModel, gives_the_recorded_answers) {
    openblas_set_num_threads(1);
    const std::string root = CLASP_SOURCE_DIR;
    const auto shipped = import_model(root + "/models");
    ASSERT_TRUE(shipped.ok()) << shipped.status().message();
    const auto recorded = read_answers(root + "/tests/embedded/answers.jsonl");
    ASSERT_TRUE(recorded.ok()) << recorded.status().message();
    EvaluationPlan plan;
    plan.scenes = 27;  // three of each class
    AnswersById answers;
    evaluate(*shipped->model, shipped->vocabulary, plan,
             [&](const Prediction& p) { answers[std::to_string(p.question_id)] = p.text; });
    const AnswerComparison comparison = compare_answers(answers, *recorded);
    EXPECT_EQ(comparison.missing, 0);
    // Another processor may add in another order, so that one near tie may fall the other way.
    EXPECT_LE(comparison.different.size(), 1U);
}

}  // namespace
}  // namespace clasp::training
