// clasp-train-eval: exact-match accuracy per class, and the answers as JSON Lines.
#include <cblas.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "clasp/classes.h"
#include "export/export_model.h"
#include "train/checkpoint.h"
#include "train/evaluate.h"
#include "world/write_scenes.h"

namespace clasp::training {
namespace {

int fail(const Status& status) {
    std::fprintf(stderr, "clasp-train-eval: %s\n", status.message().c_str());
    return 1;
}

int usage() {
    std::fprintf(stderr,
                 "usage: clasp-train-eval CHECKPOINT [--split test] [--count 900] [--seed 1] "
                 "[--questions 1] [--side 24] [--threads 1] [--out FILE.jsonl]\n");
    return 2;
}

void print(const Accuracy& accuracy) {
    int hits = 0;
    int trials = 0;
    for (std::size_t c = 0; c < accuracy.hits.size(); ++c) {
        hits += accuracy.hits[c];
        trials += accuracy.trials[c];
        std::printf("%-34s %5d of %5d  %6.2f %%\n", std::string(kClassNames[c]).c_str(), accuracy.hits[c],
                    accuracy.trials[c], 100.0 * accuracy.hits[c] / std::max(1, accuracy.trials[c]));
    }
    std::printf("%-34s %5d of %5d  %6.2f %%\n", "all", hits, trials, 100.0 * hits / std::max(1, trials));
}

int run(int argc, char** argv) {
    if (argc < 2 || argc % 2 != 0) return usage();
    EvaluationPlan plan;
    plan.scenes = 900;
    int threads = 1;
    std::string out;
    for (int i = 2; i < argc; i += 2) {
        const std::string key = argv[i];
        const char* value = argv[i + 1];
        if (key == "--split") {
            const auto split = world::parse_split(value);
            if (!split) return fail(split.status());
            plan.split = *split;
        } else if (key == "--count")
            plan.scenes = std::atoi(value);
        else if (key == "--seed")
            plan.seed = std::strtoull(value, nullptr, 10);
        else if (key == "--questions")
            plan.questions_per_scene = std::atoi(value);
        else if (key == "--side")
            plan.side = std::atoi(value);
        else if (key == "--threads")
            threads = std::atoi(value);
        else if (key == "--out")
            out = value;
        else
            return usage();
    }
    if (plan.scenes < 1 || plan.questions_per_scene < 1 || threads < 1 || plan.side < 8 ||
        plan.side > world::kFullSide)
        return usage();
    openblas_set_num_threads(threads);
    const auto checkpoint = load_checkpoint(argv[1]);
    if (!checkpoint) return fail(checkpoint.status());
    round_to_exported(*checkpoint->model);
    std::ofstream file;
    if (!out.empty()) file.open(out);
    const Accuracy accuracy =
        evaluate(*checkpoint->model, checkpoint->vocabulary, plan, [&](const Prediction& p) {
            if (!file.is_open()) return;
            nlohmann::ordered_json line;
            line["question_id"] = p.question_id;
            line["text"] = p.text;
            line["answer"] = p.question->answer;
            line["class_id"] = p.question->class_id;
            line["form"] = world::name(p.question->form);
            line["question"] = p.question->text;
            line["correct"] = p.correct;
            file << line.dump() << '\n';
        });
    if (!out.empty() && !file) return fail({Code::Unavailable, "cannot write " + out});
    print(accuracy);
    return 0;
}

}  // namespace
}  // namespace clasp::training

int main(int argc, char** argv) {
    return clasp::training::run(argc, argv);
}
