// What every benchmark offers: read its official files, and score answers by its official rules. A
// benchmark is data and four functions; adding one is adding a file and a line in registry.cpp. Nothing
// here needs a model, the engine or the pictures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/status.h"
#include "eval/judge.h"

namespace clasp::eval {

// A picture that lives inside a data file as base64 text (MMBench): where that text stands.
struct EmbeddedImage {
    std::string file;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;  // bytes of base64 text; 0 when the item has no embedded picture
};

struct Item {
    std::string id;     // unique in the data set; what the "question_id" of an answer names
    std::string image;  // path of the picture or clip; empty when the question has none or it is embedded
    EmbeddedImage embedded;
    std::string question;  // the bare question: what the router reads
    std::string prompt;    // the whole user text after the picture, as the official protocol words it
    std::vector<std::string> answers;  // reference answers, as the files have them
    std::vector<std::string> options;  // multiple choice: the texts of A, B, ...; empty otherwise
    std::string category;              // the benchmark's own category (MME subtask, POPE setting, ...)
    std::optional<int> class_id;       // the true class where the files name it (scenes)
    std::string group;                 // equal for questions on one picture: clusters of the statistics
    std::map<std::string, std::string> extra;  // anything else that the scorer or a report needs

    [[nodiscard]] bool has_image() const { return !image.empty() || embedded.length > 0; }
};

struct Dataset {
    std::string benchmark;  // registry name
    std::string split;      // what the files say or the loader found: "testdev_balanced", "val", ...
    std::vector<Item> items;
    std::vector<std::string> files;     // the files read, for provenance
    std::vector<std::string> warnings;  // what is odd about them, one sentence each
};

struct LoadOptions {
    std::string split;  // empty: the only one there, or the one that the paper used
};

// The encoded picture of an item (JPEG, PNG, ...), read from its file or decoded out of the data file.
// Errors: not_found, corrupt (not base64), invalid_argument (the item has no picture).
Result<std::string> read_image(const Item& item);

// One line of an answer file.
struct Prediction {
    std::string id;      // "question_id" as text, whole numbers without a point
    std::string text;    // the model's output
    std::string prompt;  // "prompt" if the line has one; joins TextVQA's answers to their questions
};

// Answers laid beside the items of a data set.
struct Answers {
    std::vector<std::optional<std::string>> texts;  // one per item, absent where none was given
    std::vector<std::string> missing;               // ids of items without an answer
    std::vector<std::string> unknown;               // ids of answers that no item has
    std::vector<std::string> repeated;              // ids answered more than once: the last answer counts
};

struct Metric {
    std::string name;    // "f1.random", "accuracy", "perception": dots separate levels
    double value = 0.0;  // on the benchmark's own scale
    int digits = 2;      // after the point, as the benchmark prints it
    std::size_t n = 0;   // questions behind it; 0 for figures that are made from other figures
};

struct Scores {
    Metric headline;              // the one number that papers print
    std::vector<Metric> metrics;  // all figures, the headline among them, in the order to print
    // One value in [0, 1] per item, for paired statistics. Their mean is the headline (divided by its
    // scale) where the benchmark is a mean over questions; Benchmark::is_mean says so.
    std::vector<double> item_scores;
};

struct Benchmark {
    std::string_view name;      // as the command line spells it: "mmbench-cn"
    std::string_view title;     // as tables print it: "MMBench-CN"
    std::string_view headline;  // what the score is, in words: "mean F1 of the three settings"
    double scale = 100.0;       // the best possible headline: 100, 1 (POPE), 2800 (MME)
    std::size_t max_new_tokens = 128;
    bool is_mean = true;       // the headline is scale x the mean of item_scores
    bool needs_judge = false;  // scores need judgements; without them only what is computable is given
    bool has_splits = false;   // LoadOptions::split means something; elsewhere it must be empty
    bool is_video = false;     // Item::image is a clip
    // What LLaVA's conversion script makes of a model's output before it is scored elsewhere (VQAv2's
    // answers pass through M4C). A runner applies it; answer files are taken as they are. Null: nothing.
    std::string (*convert)(std::string_view output) = nullptr;
    Result<Dataset> (*load)(const std::string& folder, const LoadOptions& options) = nullptr;
    // Lays answers beside items; match_by_id where ids are enough.
    Result<Answers> (*match)(const Dataset& dataset, std::span<const Prediction> predictions) = nullptr;
    // A missing answer counts as wrong. `judgements` is null for benchmarks that need none.
    Result<Scores> (*score)(const Dataset& dataset, const Answers& answers,
                            const Judgements* judgements) = nullptr;
    // Only for benchmarks that need a judge.
    const JudgeProtocol* judge = nullptr;
};

// All benchmarks, in the order help lists them.
std::span<const Benchmark> benchmarks();

// Not_found names the ones there are.
Result<const Benchmark*> find_benchmark(std::string_view name);

// Lays answers beside items whose id they name; order does not matter.
Result<Answers> match_by_id(const Dataset& dataset, std::span<const Prediction> predictions);

// The answers of a run that already has them in the order of the items (a runner's results).
Answers in_item_order(const Dataset& dataset, std::vector<std::optional<std::string>> texts);

// A JSON Lines file with "question_id" and "text" per line ("prompt" optional); also the forms that the
// official tools upload: a JSON list of {"question_id" | "questionId", "answer" | "prediction"} and an
// object id -> text. Corrupt names the line.
Result<std::vector<Prediction>> read_predictions(const std::string& path);
Result<std::vector<Prediction>> parse_predictions(std::string_view text);

}  // namespace clasp::eval
