#include "train/evaluate.h"

#include "train/batch.h"

namespace clasp::training {
namespace {

constexpr int kLongestAnswer = 24;

// The greedy continuation. Runs the whole prompt for every token, which is slow but needs no cache;
// only wrong answers come here.
std::string greedy_answer(Model& model, const Vocabulary& vocabulary, const BatchPlan& plan, int question,
                          std::vector<int> start) {
    Batch batch;
    while (start.empty() || (start.back() != Vocabulary::kEnd && std::ssize(start) < kLongestAnswer)) {
        make_batch(plan, vocabulary, batch, {question, start});
        AuxScores aux;
        AnswerScores scores;
        model.run(batch.pictures, batch.targets, batch.text, {0.0F, 1.0F, false}, aux, scores);
        int next = Vocabulary::kEnd;
        for (std::size_t i = 0; i < batch.text.targets.size(); ++i)
            if (batch.text.targets[i].question == question) next = scores.predicted[i];
        start.push_back(next);
    }
    return vocabulary.decode(start);
}

}  // namespace

Accuracy evaluate(Model& model, const Vocabulary& vocabulary, const EvaluationPlan& plan,
                  const std::function<void(const Prediction&)>& each) {
    Accuracy accuracy;
    Batch batch;
    int id = plan.first * plan.questions_per_scene;
    for (int i = 0; i < plan.scenes; ++i) {
        BatchPlan one;
        one.split = plan.split;
        one.seed = plan.seed;
        one.first_index = static_cast<std::uint64_t>(plan.first + i);
        one.pictures = 1;
        one.side = plan.side;
        one.frames = plan.frames;
        one.only_frame = plan.only_frame;
        one.questions = plan.questions_per_scene;
        make_batch(one, vocabulary, batch);
        AuxScores aux;
        AnswerScores scores;
        model.run(batch.pictures, batch.targets, batch.text, {0.0F, 1.0F, false}, aux, scores);
        // Copies, because a greedy answer makes batches of its own.
        const std::vector<world::Question> questions = batch.questions;
        const std::vector<bool> exact = scores.is_exact;
        const std::vector<int> groups = batch.text.question_class;
        std::vector<int> first(questions.size(), -1);
        for (std::size_t t = 0; t < batch.text.targets.size(); ++t) {
            int& slot = first[static_cast<std::size_t>(batch.text.targets[t].question)];
            if (slot < 0) slot = scores.predicted[t];
        }
        for (std::size_t q = 0; q < questions.size(); ++q) {
            Prediction prediction;
            prediction.question_id = id++;
            prediction.question = &questions[q];
            prediction.correct = exact[q];
            prediction.text = questions[q].answer;
            if (!exact[q]) prediction.text.clear();
            if (!exact[q] && plan.wants_text) {
                const std::string text =
                    greedy_answer(model, vocabulary, one, static_cast<int>(q), {first[q]});
                prediction.text = text.starts_with(' ') ? text.substr(1) : text;
            }
            prediction.group = groups[q];
            const auto group = static_cast<std::size_t>(groups[q]);
            ++accuracy.trials[group];
            accuracy.hits[group] += exact[q] ? 1 : 0;
            each(prediction);
        }
    }
    return accuracy;
}

}  // namespace clasp::training
