// Finds the policy for a model, data and a budget: per class the setting that scores best under pruning, if a
// held-out part of the data agrees that it is better than what was there (the paper's discrete subspace
// search, with early rejection).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/race.h"
#include "calibrate/sampling.h"
#include "calibrate/search_space.h"
#include "clasp/policy.h"
#include "clasp/status.h"
#include "eval/benchmark.h"
#include "eval/runner.h"
#include "eval/variant.h"

namespace clasp::calibrate {

enum class SearchOrder : std::uint8_t {
    Joint,     // every mix with every split
    TwoPhase,  // the mix first, then the split
};

struct CalibrateRequest {
    const eval::Benchmark* benchmark = nullptr;
    const eval::Dataset* dataset = nullptr;
    Policy start;  // what is calibrated, and what a class keeps if nothing is better
    std::string method;
    std::string budget;
    // What candidates have in common beside that: seeds, positions, how finely pictures are seen. Its label,
    // policy, method, budget and classes are not read.
    eval::Variant common = {};
    SearchSpace space;
    // Who tells a question's class, here as when the policy is used: a class is then fitted to what will be
    // sent to it, mistakes among it.
    eval::ClassSource classes = eval::ClassSource::Classifier;
    SearchOrder order = SearchOrder::TwoPhase;
    std::size_t rounds = 2;  // of both phases, each from the winner of the one before
    SamplingOptions sampling;
    RaceOptions race;
    std::size_t refine = 0;  // shaken copies of each winner to try as well
    std::size_t max_tokens = 0;
    eval::ResultsWriter* writer = nullptr;  // may be null
    eval::RecordTable known;                // answers of a run that was stopped
    // Class, questions answered for it so far. May be empty.
    std::function<void(std::size_t class_id, const eval::Progress& progress)> on_progress;
    const std::atomic<bool>* cancel = nullptr;
};

// One race: its candidates and how far they came.
struct SearchPhase {
    std::string name;  // "mix", "split", "joint", "refine"; later rounds "mix 2" ...
    std::vector<Candidate> candidates;
    RaceResult race;
};

struct ClassReport {
    std::size_t id = 0;
    std::string name;
    std::size_t n_search = 0;
    std::size_t n_held_out = 0;
    Candidate before;
    Candidate winner;
    Candidate chosen;  // the winner, or what was there
    // Mean scores, 0 to 1; absent without questions. The held-out part is asked only if there is something to
    // decide.
    std::optional<double> search_before;
    std::optional<double> search_winner;
    std::optional<double> held_out_before;
    std::optional<double> held_out_winner;
    bool is_changed = false;
    std::vector<SearchPhase> phases;
};

struct CalibrateReport {
    Policy policy;  // without name and provenance
    std::vector<ClassReport> classes;
    std::vector<std::string> warnings;  // classes that too few questions decided
    std::size_t asked = 0;              // of the model, this time
    double seconds = 0.0;
    eval::RecordTable records;
};

// Errors: cancelled (what was answered is on disk), InvalidArgument (a metric that is no mean over
// questions), and what the model says.
Result<CalibrateReport> calibrate(const CalibrateRequest& request, const eval::Asker& asker);

struct Provenance {
    std::string model;
    std::string model_hash;
    std::string data;
    std::string data_hash;
};
// A JSON object for Policy::provenance: where the numbers come from, what was tried, before and after.
std::string provenance_json(const CalibrateRequest& request, const CalibrateReport& report,
                            const Provenance& sources);

}  // namespace clasp::calibrate
