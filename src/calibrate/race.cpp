#include "calibrate/race.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "eval/statistics.h"

namespace clasp::calibrate {

namespace {

std::size_t count_rounds(std::size_t n_items, std::size_t first_block) {
    std::size_t rounds = 0;
    std::size_t block = std::max<std::size_t>(1, first_block);
    for (std::size_t seen = 0; seen < n_items; seen += block, block = seen) ++rounds;
    return rounds;
}

// Standard error of the mean of a - b.
double paired_error(std::span<const double> a, std::span<const double> b) {
    std::vector<double> differences(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) differences[i] = a[i] - b[i];
    return eval::standard_deviation(differences) / std::sqrt(static_cast<double>(a.size()));
}

class Race {
   public:
    Race(std::size_t n_candidates, std::size_t n_items, std::size_t preferred, const RaceOptions& options)
        : n_items_(n_items), preferred_(preferred), options_(options), alive_(n_candidates) {
        std::iota(alive_.begin(), alive_.end(), std::size_t{0});
        result_.entries.resize(n_candidates);
        const std::size_t rounds = count_rounds(n_items, options.first_block);
        level_ = options.alpha / static_cast<double>(std::max<std::size_t>(1, (n_candidates - 1) * rounds));
    }

    Result<RaceResult> go(const ScoreBlock& score) {
        std::size_t block = std::max<std::size_t>(1, options_.first_block);
        for (std::size_t seen = 0; seen < n_items_ && alive_.size() > 1;) {
            std::vector<std::size_t> items(std::min(block, n_items_ - seen));
            std::iota(items.begin(), items.end(), seen);
            CLASP_RETURN_IF_ERROR(run_block(items, score));
            seen += items.size();
            block = seen;
            if (seen < n_items_) drop_losers();
        }
        for (const std::size_t candidate : alive_) result_.entries[candidate].round = result_.rounds;
        result_.winner = leader();
        return std::move(result_);
    }

   private:
    Status run_block(std::span<const std::size_t> items, const ScoreBlock& score) {
        ++result_.rounds;
        CLASP_ASSIGN_OR_RETURN(const auto scores, score(alive_, items));
        for (std::size_t i = 0; i < alive_.size(); ++i) {
            RaceEntry& entry = result_.entries[alive_[i]];
            entry.scores.insert(entry.scores.end(), scores[i].begin(), scores[i].end());
            entry.mean = eval::mean(entry.scores);
            result_.asked += items.size();
        }
        return ok_status();
    }

    [[nodiscard]] std::size_t leader() const {
        std::size_t best = alive_.front();
        for (const std::size_t candidate : alive_) {
            const double mean = result_.entries[candidate].mean;
            const double best_mean = result_.entries[best].mean;
            if (mean > best_mean || (mean == best_mean && candidate == preferred_)) best = candidate;
        }
        return best;
    }

    void drop_losers() {
        const std::size_t first = leader();
        const RaceEntry& lead = result_.entries[first];
        std::vector<double> means;
        for (const std::size_t candidate : alive_) means.push_back(result_.entries[candidate].mean);
        std::sort(means.begin(), means.end());
        const double median = means[means.size() / 2];
        std::erase_if(alive_, [&](std::size_t candidate) {
            if (candidate == first) return false;
            RaceEntry& entry = result_.entries[candidate];
            const bool is_worse = entry.mean < lead.mean;
            if (is_worse && eval::mcnemar(lead.scores, entry.scores).p_value < level_) {
                entry.rejection = Rejection::Significant;
            } else if (options_.use_halving && candidate != preferred_ && entry.mean < median &&
                       lead.mean - entry.mean > paired_error(lead.scores, entry.scores)) {
                entry.rejection = Rejection::Halved;
            }
            entry.round = result_.rounds;
            return entry.rejection != Rejection::None;
        });
    }

    std::size_t n_items_;
    std::size_t preferred_;
    RaceOptions options_;
    double level_ = 0.0;
    std::vector<std::size_t> alive_;
    RaceResult result_;
};

}  // namespace

Result<RaceResult> race(std::size_t n_candidates, std::size_t n_items, std::size_t preferred,
                        const RaceOptions& options, const ScoreBlock& score) {
    if (n_candidates == 0 || preferred >= n_candidates) {
        return Status(Code::InvalidArgument, "a race needs candidates and a preferred one among them");
    }
    return Race(n_candidates, n_items, preferred, options).go(score);
}

}  // namespace clasp::calibrate
