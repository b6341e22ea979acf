// A data set on disk and a model that answers by rule, so that runs can be tested without weights.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "eval/benchmark.h"
#include "eval/runner.h"
#include "support/paths.h"

namespace clasp::eval::test {

// Right is the answer "yes"; the score is the mean.
inline Result<Scores> score_yes(const Dataset& dataset, const Answers& answers, const Judgements* /*none*/) {
    Scores scores;
    double sum = 0.0;
    for (std::size_t i = 0; i < dataset.items.size(); ++i) {
        const bool is_right = answers.texts[i] && *answers.texts[i] == dataset.items[i].answers.front();
        scores.item_scores.push_back(is_right ? 1.0 : 0.0);
        sum += scores.item_scores.back();
    }
    scores.headline = {"accuracy", 100.0 * sum / static_cast<double>(dataset.items.size()), 1};
    scores.metrics = {scores.headline};
    return scores;
}

inline const Benchmark& yes_benchmark() {
    static const Benchmark kBenchmark = [] {
        Benchmark benchmark;
        benchmark.name = "yes";
        benchmark.title = "Yes";
        benchmark.headline = "accuracy";
        benchmark.score = score_yes;
        return benchmark;
    }();
    return kBenchmark;
}

// Questions 0 ... n - 1, `per_picture` on each picture, classes 0, 1, 2 in turn. Pictures are files that hold
// their own name.
inline Dataset make_dataset(const std::string& folder, std::size_t n, std::size_t per_picture) {
    std::filesystem::create_directories(folder);
    Dataset dataset;
    dataset.benchmark = "yes";
    for (std::size_t i = 0; i < n; ++i) {
        Item item;
        item.id = std::to_string(i);
        item.image = folder + "/" + std::to_string(i / per_picture) + ".png";
        std::ofstream(item.image) << item.image;
        item.group = std::to_string(i / per_picture);
        item.question = "What is number " + item.id + "?";
        item.prompt = item.question;
        item.answers = {"yes"};
        item.class_id = static_cast<int>(i % 3);
        dataset.items.push_back(item);
    }
    return dataset;
}

inline std::vector<std::size_t> all_places(const Dataset& dataset) {
    return shard_items(dataset, {0, 1});
}

// Answers "yes" when unpruned, and under pruning unless the question's number is divisible by `wrong_every`.
struct FakeModel {
    std::size_t wrong_every = 4;
    std::size_t asked = 0;
    std::vector<std::string> pictures = {};  // in the order they were seen, repeats in a row once
    std::size_t stop_after = 0;              // then the process "dies": an internal error; 0 never

    Asker asker() {
        return [this](const AskRequest& request) -> Result<Answer> {
            if (stop_after > 0 && asked == stop_after) return Status(Code::Internal, "killed");
            ++asked;
            const std::string picture(request.images.front().bytes);
            if (picture == "broken") return Status(Code::Corrupt, "not a picture");
            const std::size_t at = request.question.find_first_of("0123456789");
            const std::size_t number = std::strtoul(request.question.c_str() + at, nullptr, 10);
            Answer answer;
            answer.text = request.vanilla || number % wrong_every != 0 ? "yes" : "no";
            answer.method = request.method;
            answer.tokens.average = request.vanilla ? 576.0 : request.budget.value;
            // The first question on a picture pays for the encoder, as in the engine.
            const bool is_new = pictures.empty() || pictures.back() != picture;
            if (is_new) pictures.push_back(picture);
            answer.timings.encode_ms = is_new ? 5.0 : 0.0;
            answer.timings.prefill_ms = 1.5;
            answer.timings.decode_ms = 0.5;
            answer.timings.total_ms = answer.timings.encode_ms + 2.0;
            answer.generated = 1;
            return answer;
        };
    }
};

}  // namespace clasp::eval::test
