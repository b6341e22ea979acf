#include "serve/slots.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace clasp::serve {

using base::Json;

void Slots::add(std::shared_ptr<Job> job, std::shared_ptr<TokenLog> tokens, const PlannedRequest& planned) {
    const std::lock_guard lock(mutex_);
    forget_ended();
    watched_.push_back({std::move(job), std::move(tokens), planned, n_tasks_++, std::nullopt});
}

void Slots::forget_ended() {
    watched_.remove_if([](const Watched& watched) { return watched.job->is_over(); });
}

Json Slots::json() {
    const std::lock_guard lock(mutex_);
    forget_ended();
    std::vector<const Watched*> slots(n_slots_, nullptr);
    for (const Watched& watched : watched_) {
        if (watched.number) slots[*watched.number] = &watched;
    }
    for (Watched& watched : watched_) {
        const auto free = std::find(slots.begin(), slots.end(), nullptr);
        if (watched.number || !watched.job->has_started() || free == slots.end()) continue;
        watched.number = static_cast<std::size_t>(free - slots.begin());
        *free = &watched;
    }
    Json list = Json::array();
    for (std::size_t i = 0; i < slots.size(); ++i) list.push_back(slot_json(i, slots[i]));
    return list;
}

Json Slots::slot_json(std::size_t number, const Watched* watched) const {
    TokenLog::Times times;
    std::size_t n_prompt = 0;
    Json next = {{"has_next_token", watched != nullptr},
                 {"has_new_line", watched != nullptr && watched->tokens->has_new_line()}};
    if (watched != nullptr) {
        times = watched->tokens->times();
        n_prompt = watched->planned.n_prompt;
        next["n_remain"] =
            watched->planned.max_tokens - std::min(watched->planned.max_tokens, times.n_written);
    } else {
        next["n_remain"] = -1;
    }
    next["n_decoded"] = times.n_written;
    Json slot = {{"id", number},
                 {"n_ctx", n_context_},
                 {"speculative", false},
                 {"is_processing", watched != nullptr},
                 {"id_task", watched != nullptr ? Json(watched->task) : Json(-1)},
                 {"n_prompt_tokens", n_prompt},
                 {"n_prompt_tokens_cache", times.n_reused}};
    // Layers read a prompt, not tokens: how many are done is not known before all are.
    const bool is_being_read = watched != nullptr && times.n_written == 0;
    if (!is_being_read) slot["n_prompt_tokens_processed"] = n_prompt - std::min(n_prompt, times.n_reused);
    slot["next_token"] = Json::array({next});
    return slot;
}

}  // namespace clasp::serve
