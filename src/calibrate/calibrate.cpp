#include "calibrate/calibrate.h"

#include <algorithm>
#include <map>

#include "base/json.h"
#include "base/sha256.h"
#include "base/stopwatch.h"
#include "eval/statistics.h"

namespace clasp::calibrate {

namespace {

// With fewer held-out questions than the first a class keeps its setting; below the second a warning is due.
constexpr std::size_t kLeastHeldOut = 5;
constexpr std::size_t kThinHeldOut = 30;

// One sentence for a class that too few questions decided.
std::string thin_evidence(const ClassReport& entry) {
    if (entry.n_held_out >= kThinHeldOut) return {};
    const std::string count = entry.n_held_out == 0 ? "no held-out question"
                              : entry.n_held_out == 1
                                  ? "one held-out question"
                                  : std::to_string(entry.n_held_out) + " held-out questions";
    if (entry.n_held_out < kLeastHeldOut) {
        return "class '" + entry.name + "' has " + count + ", fewer than " + std::to_string(kLeastHeldOut) +
               ", and keeps its setting";
    }
    return "class '" + entry.name + "' was decided by " + count + "; fewer than " +
           std::to_string(kThinHeldOut) + " hardly tell settings apart";
}

class Search {
   public:
    Search(const CalibrateRequest& request, const eval::Asker& asker) : request_(request), asker_(asker) {
        report_.records = request.known;
        report_.policy = request.start;
        report_.policy.method = request.method;
        eval::Variant named;
        named.method = request.method;
        report_.policy.mass = eval::mass_of(named);
    }

    Result<CalibrateReport> go() {
        if (!request_.benchmark->is_mean) {
            return Status(Code::InvalidArgument, "calibration needs a score per question, and that of " +
                                                     std::string(request_.benchmark->name) +
                                                     " is no mean of such");
        }
        CLASP_ASSIGN_OR_RETURN(const auto classes, eval::route_items(*request_.dataset, request_.classes));
        std::vector<std::string> names;
        for (const eval::Item& item : request_.dataset->items) names.push_back(eval::cluster_name(item));
        CLASP_ASSIGN_OR_RETURN(const auto samples,
                               draw_samples(classes, eval::clusters_by_name(names).of_item,
                                            request_.start.classes.size(), request_.sampling));
        for (std::size_t id = 0; id < samples.size(); ++id) {
            CLASP_ASSIGN_OR_RETURN(ClassReport entry, search_class(id, samples[id]));
            if (entry.is_changed) report_.policy = with_candidate(report_.policy, id, entry.chosen);
            if (std::string warning = thin_evidence(entry); !warning.empty())
                report_.warnings.push_back(std::move(warning));
            report_.classes.push_back(std::move(entry));
        }
        report_.seconds = watch_.elapsed_ms() / 1000.0;
        return std::move(report_);
    }

   private:
    Result<ClassReport> search_class(std::size_t id, const ClassSample& sample) {
        ClassReport entry;
        entry.id = id;
        entry.name = request_.start.classes[id].name;
        entry.n_search = sample.search.size();
        entry.n_held_out = sample.held_out.size();
        CLASP_ASSIGN_OR_RETURN(entry.before, candidate_of(request_.start, id));
        entry.winner = entry.before;
        entry.chosen = entry.before;
        if (sample.search.empty()) return entry;

        if (request_.order == SearchOrder::Joint) {
            CLASP_RETURN_IF_ERROR(run_phase("joint", joint_candidates(request_.space), sample, entry));
        } else {
            CLASP_RETURN_IF_ERROR(search_in_turns(sample, entry));
        }
        if (request_.refine > 0) {
            CLASP_RETURN_IF_ERROR(run_phase(
                "refine", nearby_candidates(entry.winner, request_.refine, request_.sampling.seed + id),
                sample, entry));
        }
        CLASP_RETURN_IF_ERROR(decide(sample, entry));
        return entry;
    }

    // The mix, then the split; and again with the split that was found, because a mix that wins under one
    // split need not win under another. Answers are remembered, so a round that changes nothing costs little.
    Status search_in_turns(const ClassSample& sample, ClassReport& entry) {
        for (std::size_t round = 1; round <= request_.rounds; ++round) {
            const std::string suffix = round == 1 ? "" : " " + std::to_string(round);
            const Candidate start = entry.winner;
            CLASP_RETURN_IF_ERROR(
                run_phase("mix" + suffix, mix_candidates(request_.space, start.split), sample, entry));
            CLASP_RETURN_IF_ERROR(
                run_phase("split" + suffix, split_candidates(request_.space, entry.winner), sample, entry));
            if (same_setting(start, entry.winner)) break;
        }
        return ok_status();
    }

    // Races the candidates, with the best so far among them, and makes the winner the best so far.
    Status run_phase(std::string name, std::vector<Candidate> candidates, const ClassSample& sample,
                     ClassReport& entry) {
        SearchPhase phase;
        phase.name = std::move(name);
        phase.candidates = std::move(candidates);
        const std::size_t preferred = include_candidate(entry.winner, phase.candidates);
        CLASP_ASSIGN_OR_RETURN(
            phase.race, race(phase.candidates.size(), sample.search.size(), preferred, request_.race,
                             [&](std::span<const std::size_t> chosen, std::span<const std::size_t> items) {
                                 return score(entry.id, phase.candidates, chosen, sample.search, items);
                             }));
        entry.winner = phase.candidates[phase.race.winner];
        entry.search_winner = phase.race.entries[phase.race.winner].mean;
        if (entry.phases.empty()) entry.search_before = phase.race.entries[preferred].mean;
        entry.phases.push_back(std::move(phase));
        return ok_status();
    }

    // The held-out part has the last word: a winner that is not better there does not ship.
    Status decide(const ClassSample& sample, ClassReport& entry) {
        std::vector<Candidate> pair = {entry.winner};
        const std::size_t before = include_candidate(entry.before, pair);
        if (pair.size() == 1 || sample.held_out.empty()) return ok_status();
        const std::vector<std::size_t> both = {0, 1};
        std::vector<std::size_t> items(sample.held_out.size());
        for (std::size_t i = 0; i < items.size(); ++i) items[i] = i;
        CLASP_ASSIGN_OR_RETURN(const auto scores, score(entry.id, pair, both, sample.held_out, items));
        entry.held_out_before = eval::mean(scores[before]);
        entry.held_out_winner = eval::mean(scores[1 - before]);
        entry.is_changed =
            entry.held_out_winner > entry.held_out_before ||
            (entry.held_out_winner == entry.held_out_before && entry.search_winner > entry.search_before);
        if (sample.held_out.size() < kLeastHeldOut) entry.is_changed = false;
        if (entry.is_changed) entry.chosen = entry.winner;
        return ok_status();
    }

    // Asks the class's questions of some candidates; scores in the order of both lists.
    Result<std::vector<std::vector<double>>> score(std::size_t class_id,
                                                   const std::vector<Candidate>& candidates,
                                                   std::span<const std::size_t> chosen,
                                                   const std::vector<std::size_t>& sample,
                                                   std::span<const std::size_t> items) {
        eval::Dataset part = *request_.dataset;
        part.items.clear();
        for (const std::size_t item : items) part.items.push_back(request_.dataset->items[sample[item]]);
        eval::RunRequest asking;
        asking.benchmark = request_.benchmark;
        asking.dataset = &part;
        asking.items = eval::shard_items(part, {});
        asking.max_tokens =
            request_.max_tokens > 0 ? request_.max_tokens : request_.benchmark->max_new_tokens;
        asking.writer = request_.writer;
        asking.cancel = request_.cancel;
        if (request_.on_progress) {
            asking.on_progress = [&](const eval::Progress& progress) {
                request_.on_progress(class_id, progress);
            };
        }
        for (const std::size_t candidate : chosen) {
            eval::Variant variant = request_.common;
            variant.label = "class " + std::to_string(class_id) + ", " + candidates[candidate].mix_name;
            variant.method = request_.method;
            variant.budget = request_.budget;
            variant.classes = request_.classes;
            // Only the class's own row matters to its questions, so the others stay as they were: answers of
            // a stopped run are then found again.
            variant.policy =
                std::make_shared<Policy>(with_candidate(request_.start, class_id, candidates[candidate]));
            asking.variants.push_back(std::move(variant));
        }
        CLASP_ASSIGN_OR_RETURN(eval::RunReport done, eval::run(asking, asker_, std::move(report_.records)));
        report_.records = std::move(done.records);
        report_.asked += done.asked;
        if (done.was_cancelled || (request_.cancel != nullptr && request_.cancel->load())) {
            return Status(Code::Cancelled, "calibration was stopped");
        }
        if (!done.missing_images.empty()) {
            return Status(Code::NotFound, "question " + done.missing_images.front().item + ": " +
                                              done.missing_images.front().reason);
        }
        std::vector<std::vector<double>> scores;
        for (const eval::Variant& variant : asking.variants) {
            const auto& records = report_.records[eval::variant_key(variant, asking.max_tokens)];
            std::vector<std::optional<std::string>> texts;
            for (const eval::Item& item : part.items) {
                const auto found = records.find(item.id);
                texts.push_back(found != records.end() ? std::optional(found->second.text) : std::nullopt);
                const auto convert = request_.benchmark->convert;
                if (convert != nullptr && texts.back()) texts.back() = convert(*texts.back());
            }
            const eval::Answers answers = eval::in_item_order(part, std::move(texts));
            CLASP_ASSIGN_OR_RETURN(eval::Scores scored, request_.benchmark->score(part, answers, nullptr));
            scores.push_back(std::move(scored.item_scores));
        }
        return scores;
    }

    const CalibrateRequest& request_;
    const eval::Asker& asker_;
    const base::Stopwatch watch_;
    CalibrateReport report_;
};

base::Json as_json(const Candidate& candidate) {
    base::Json weights = base::Json::object();
    for (const LayerWeight& entry : candidate.weights) weights[std::to_string(entry.layer)] = entry.weight;
    return {{"mix", candidate.mix_name}, {"weights", weights}, {"split", candidate.split}};
}

}  // namespace

Result<CalibrateReport> calibrate(const CalibrateRequest& request, const eval::Asker& asker) {
    return Search(request, asker).go();
}

std::string provenance_json(const CalibrateRequest& request, const CalibrateReport& report,
                            const Provenance& sources) {
    base::Json json = {{"tool", "clasp-vlm calibrate"},
                       {"model", sources.model},
                       {"model_hash", sources.model_hash},
                       {"benchmark", request.benchmark->name},
                       {"data_hash", sources.data_hash},
                       {"budget", request.budget},
                       {"method", request.method},
                       {"classes_by", eval::class_source_name(request.classes)},
                       {"sampling", request.sampling.sampling == Sampling::Balanced ? "balanced" : "random"},
                       {"samples_per_class", request.sampling.per_class},
                       {"held_out", request.sampling.held_out},
                       {"seed", request.sampling.seed},
                       {"order", request.order == SearchOrder::Joint ? "joint" : "two-phase"},
                       {"rounds", request.rounds},
                       {"refine", request.refine},
                       {"start_hash", policy_hash(request.start)},
                       {"space_hash", base::sha256_hex(base::dump_json(as_json(request.space)))},
                       {"space", as_json(request.space)},
                       {"classes", base::Json::array()}};
    for (const ClassReport& entry : report.classes) {
        json["classes"].push_back({{"id", entry.id},
                                   {"searched", entry.n_search},
                                   {"held_out", entry.n_held_out},
                                   {"before", as_json(entry.before)},
                                   {"winner", as_json(entry.winner)},
                                   {"changed", entry.is_changed},
                                   {"search_before", base::or_null(entry.search_before)},
                                   {"search_winner", base::or_null(entry.search_winner)},
                                   {"held_out_before", base::or_null(entry.held_out_before)},
                                   {"held_out_winner", base::or_null(entry.held_out_winner)}});
    }
    return base::dump_json(json);
}

}  // namespace clasp::calibrate
