// Figures for those who watch over a server, in Prometheus' text form: llama-server's names where it has
// them, so that its dashboards work, and our own.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "clasp/engine.h"
#include "serve/http.h"
#include "serve/scheduler.h"

namespace clasp::serve {

// Counts in steps that grow: how many values were at most so much.
class Histogram {
   public:
    void add(double seconds);
    // name{le="0.1"} 3 ... label: more of them, as stage="encode"; may be empty.
    [[nodiscard]] std::string lines(const std::string& name, const std::string& label = {}) const;
    [[nodiscard]] std::string text(const std::string& name, const std::string& help) const;

   private:
    static constexpr std::array<double, 12> kBounds = {0.01, 0.05, 0.1, 0.25, 0.5, 1,
                                                       2.5,  5,    10,  30,   60,  300};
    std::array<std::size_t, kBounds.size()> counts_{};
    std::size_t n_ = 0;
    double sum_ = 0.0;
};

// Thread safe.
class Metrics {
   public:
    // route: the path of the endpoint, or "other", so that clients cannot make up names.
    void count_reply(const std::string& route, const ReplyFacts& facts);
    // gaps_ms: between the tokens of the answer.
    void count_answer(const Answer& answer, const PlannedRequest& planned, double queue_ms,
                      const std::vector<double>& gaps_ms);

    // image_cache_bytes: of the vision layers that are kept.
    [[nodiscard]] std::string text(const SchedulerCounts& counts, std::size_t image_cache_bytes) const;
    // Seconds since 1970.
    [[nodiscard]] std::int64_t started_s() const { return started_s_; }

   private:
    mutable std::mutex mutex_;
    std::map<std::pair<std::string, int>, std::size_t> replies_;
    std::map<std::pair<std::string, std::string>, std::size_t> classes_;  // by class and who named it
    std::size_t n_prompt_ = 0;
    std::size_t n_cached_ = 0;
    std::size_t n_generated_ = 0;
    std::size_t n_visual_ = 0;
    std::size_t n_kept_ = 0;
    std::size_t n_cache_hits_ = 0;
    std::size_t n_cache_misses_ = 0;
    std::size_t longest_ = 0;
    double prompt_s_ = 0.0;
    double generate_s_ = 0.0;
    Histogram first_token_;
    Histogram queue_;
    Histogram whole_;
    Histogram between_tokens_;
    std::map<std::string, Histogram> stages_;
    std::map<std::string, std::size_t> rejected_;  // by code
    const std::int64_t started_s_ =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
            .count();
};

}  // namespace clasp::serve
