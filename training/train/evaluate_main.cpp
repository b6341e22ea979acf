// clasp-train-eval: exact-match accuracy per class by the trainer's own forward pass, the answers as JSON
// Lines, and how many of them the engine gives too.
#include <cblas.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/json.h"
#include "clasp/classes.h"
#include "gguf/export_model.h"
#include "gguf/import_model.h"
#include "train/checkpoint.h"
#include "train/compare_answers.h"
#include "train/evaluate.h"
#include "world/clip_questions.h"
#include "world/write_scenes.h"

namespace clasp::training {
namespace {

int fail(const Status& status) {
    std::fprintf(stderr, "clasp-train-eval: %s\n", status.message().c_str());
    return 1;
}

int usage() {
    std::fprintf(
        stderr,
        "usage: clasp-train-eval CHECKPOINT|FOLDER [--split test] [--count 900] [--first 0] [--seed 1] "
        "[--questions 1] [--side 24] [--threads 1] [--name clasp-tiny] [--frame -1] [--out FILE.jsonl] "
        "[--against RESULTS.jsonl]\n"
        "  FOLDER     holds an exported pair of GGUF files, as models does, named NAME.gguf and\n"
        "             NAME-mmproj.gguf; a model of clips is asked about clips\n"
        "  --frame    show a model of clips this one frame (0 to 7) in place of all eight\n"
        "  --against  unpruned answers to the same questions, such as results.jsonl of clasp-vlm eval\n");
    return 2;
}

// A checkpoint's weights are rounded as the export would; those of exported files are so already.
Result<ImportedModel> load(const std::string& path, const std::string& name) {
    if (std::filesystem::is_directory(path)) return import_model(path, name);
    auto checkpoint = load_checkpoint(path);
    if (!checkpoint) return checkpoint.status();
    round_to_exported(*checkpoint->model);
    return ImportedModel{std::move(checkpoint->vocabulary), std::move(checkpoint->model)};
}

// A line that is written over, on a terminal only.
void show_progress(int done, int total) {
    if (isatty(STDERR_FILENO) == 0) return;
    std::fprintf(stderr, "\r%d of %d questions%s", done, total, done == total ? "\n" : "");
}

std::string group_name(bool clips, std::size_t group) {
    return std::string(clips ? world::name(static_cast<world::ClipForm>(group)) : kClassNames[group]);
}

void print(const Accuracy& accuracy, bool clips) {
    int hits = 0;
    int trials = 0;
    for (std::size_t c = 0; c < accuracy.hits.size(); ++c) {
        hits += accuracy.hits[c];
        trials += accuracy.trials[c];
        if (accuracy.trials[c] == 0) continue;
        std::printf("%-34s %5d of %5d  %6.2f %%\n", group_name(clips, c).c_str(), accuracy.hits[c],
                    accuracy.trials[c], 100.0 * accuracy.hits[c] / std::max(1, accuracy.trials[c]));
    }
    std::printf("%-34s %5d of %5d  %6.2f %%\n", "all", hits, trials, 100.0 * hits / std::max(1, trials));
}

// Fails when a question has no answer on the other side: that is another run, not a difference.
int report(const AnswerComparison& comparison) {
    for (const AnswerDifference& d : comparison.different)
        std::printf("question %s: here \"%s\", there \"%s\"\n", d.question_id.c_str(), d.ours.c_str(),
                    d.theirs.c_str());
    const int compared = comparison.equal + static_cast<int>(comparison.different.size());
    std::printf("%d of %d answers are equal, %.2f %%\n", comparison.equal, compared,
                100.0 * comparison.equal / std::max(1, compared));
    if (comparison.missing == 0) return 0;
    return fail({Code::NotFound, std::to_string(comparison.missing) + " questions have no answer there"});
}

int run(int argc, char** argv) {
    if (argc < 2 || argc % 2 != 0) return usage();
    EvaluationPlan plan;
    plan.scenes = 900;
    int threads = 1;
    std::string out;
    std::string against;
    std::string name = kStillName;
    for (int i = 2; i < argc; i += 2) {
        const std::string key = argv[i];
        const char* value = argv[i + 1];
        if (key == "--split") {
            const auto split = world::parse_split(value);
            if (!split) return fail(split.status());
            plan.split = *split;
        } else if (key == "--count")
            plan.scenes = std::atoi(value);
        else if (key == "--first")
            plan.first = std::atoi(value);
        else if (key == "--seed")
            plan.seed = std::strtoull(value, nullptr, 10);
        else if (key == "--questions")
            plan.questions_per_scene = std::atoi(value);
        else if (key == "--side")
            plan.side = std::atoi(value);
        else if (key == "--frame")
            plan.only_frame = std::atoi(value);
        else if (key == "--name")
            name = value;
        else if (key == "--threads")
            threads = std::atoi(value);
        else if (key == "--out")
            out = value;
        else if (key == "--against")
            against = value;
        else
            return usage();
    }
    if (plan.first < 0 || plan.scenes < 1 || plan.questions_per_scene < 1 || threads < 1 || plan.side < 8 ||
        plan.side > world::kFullSide || plan.only_frame < -1 || plan.only_frame >= world::kClipFrames)
        return usage();
    openblas_set_num_threads(threads);
    const auto trained = load(argv[1], name);
    if (!trained) return fail(trained.status());
    plan.wants_text = !out.empty() || !against.empty();
    plan.frames = trained->model->shape().frames;
    const bool clips = plan.frames > 1;
    AnswersById theirs;
    if (!against.empty()) {
        auto read = read_answers(against);
        if (!read) return fail(read.status());
        theirs = std::move(read).value();
    }
    std::ofstream file;
    if (!out.empty()) file.open(out);
    AnswersById ours;
    int answered = 0;
    const Accuracy accuracy = evaluate(*trained->model, trained->vocabulary, plan, [&](const Prediction& p) {
        ours[std::to_string(p.question_id)] = p.text;
        show_progress(++answered, plan.scenes * plan.questions_per_scene);
        if (!file.is_open()) return;
        base::Json line;
        line["question_id"] = p.question_id;
        line["text"] = p.text;
        line["answer"] = p.question->answer;
        line["class_id"] = p.question->class_id;
        line["form"] =
            clips ? world::name(static_cast<world::ClipForm>(p.group)) : world::name(p.question->form);
        line["question"] = p.question->text;
        line["correct"] = p.correct;
        file << base::dump_json(line) << '\n';
    });
    if (!out.empty() && !file) return fail({Code::Unavailable, "cannot write " + out});
    print(accuracy, clips);
    if (!against.empty()) return report(compare_answers(ours, theirs));
    return 0;
}

}  // namespace
}  // namespace clasp::training

int main(int argc, char** argv) {
    return clasp::training::run(argc, argv);
}
