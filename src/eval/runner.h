// Asks every question of a data set of every variant. All questions on one picture come together and all
// variants of a question come together, so that the engine's cache encodes each picture once.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "clasp/engine.h"
#include "clasp/status.h"
#include "eval/benchmark.h"
#include "eval/results_file.h"
#include "eval/variant.h"

namespace clasp::eval {

// Engine::ask, or a double in tests.
using Asker = std::function<Result<Answer>(const AskRequest& request)>;

// ---- Which questions ----

struct Shard {
    std::size_t index = 0;  // from 0
    std::size_t count = 1;
};
// "2/8" is the second of eight parts. InvalidArgument names the text.
Result<Shard> parse_shard(std::string_view text);

// Keeps the first `limit` questions (0: all). Where the headline is not a mean over questions, groups stay
// whole: the last one is completed.
void cut_dataset(Dataset& dataset, std::size_t limit, bool whole_groups);

// Places of the shard's questions. Questions on one picture are in one shard, and all shards together are
// the data set.
std::vector<std::size_t> shard_items(const Dataset& dataset, const Shard& shard);

// What questions of one picture share: the group if the files name one, else the picture.
std::string cluster_name(const Item& item);

// ---- Running ----

struct Progress {
    std::size_t done = 0;  // answers, those found in the results among them
    std::size_t total = 0;
    std::size_t reused = 0;
    std::size_t unreadable = 0;  // pictures
    double seconds = 0.0;

    // Answers per second of this run; 0 before the first.
    [[nodiscard]] double rate() const;
    // Seconds left at that rate; negative when unknown.
    [[nodiscard]] double seconds_left() const;
};

struct RunRequest {
    const Benchmark* benchmark = nullptr;
    const Dataset* dataset = nullptr;  // after cut_dataset()
    std::vector<std::size_t> items;    // places in it: the shard
    std::vector<Variant> variants;
    std::size_t max_tokens = 0;       // 0: the benchmark's
    ResultsWriter* writer = nullptr;  // may be null: answers stay in memory
    std::function<void(const Progress&)> on_progress;
    const std::atomic<bool>* cancel = nullptr;
};

// A question that could not be asked.
struct Unasked {
    std::string item;
    std::string reason;
};

struct RunReport {
    RecordTable records;                   // those given and those made
    std::vector<Unasked> missing_images;   // not there, or not to be decoded
    std::vector<Unasked> without_picture;  // the engine takes questions with pictures only
    std::size_t asked = 0;
    std::size_t reused = 0;
    double seconds = 0.0;
    bool was_cancelled = false;
};

// The class of every item of the data set, shard or not.
Result<std::vector<std::size_t>> route_items(const Dataset& dataset, ClassSource source);
// What the variant's stress makes of them.
Result<std::vector<std::size_t>> stress_classes(std::vector<std::size_t> classes, const Variant& variant);

// Questions whose answer is in `known` are not asked again. Trouble with a picture is reported and the run
// goes on; any other error ends it, with every answer so far on disk.
Result<RunReport> run(const RunRequest& request, const Asker& asker, RecordTable known = {});

}  // namespace clasp::eval
