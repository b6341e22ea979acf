#include "engine/prompt_memory.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace clasp::engine {

std::vector<std::int32_t> said_in(const Prompt& prompt) {
    std::vector<std::int32_t> said;
    for (const PromptPiece& piece : prompt.pieces) {
        if (piece.image >= 0) said.push_back(-1 - piece.image);
        said.insert(said.end(), piece.tokens.begin(), piece.tokens.end());
    }
    return said;
}

std::size_t question_end(const Prompt& prompt) {
    std::size_t n = 0;
    std::size_t end = 0;
    for (const PromptPiece& piece : prompt.pieces) {
        if (piece.image >= 0) end = ++n;
        for (const bool is_word : piece.is_instruction) {
            ++n;
            if (is_word) end = n;
        }
    }
    return end > 0 ? end : n;
}

std::size_t Turn::bytes() const {
    return sequence.kv_bytes() + said.size() * sizeof(std::int32_t) + choice->bytes();
}

std::size_t Choice::bytes() const {
    std::size_t n = 0;
    for (const SeenImage& image : visual.images) {
        n += (image.values.size() + image.additions.size() + image.gram.size()) * sizeof(float);
    }
    return n + (front != nullptr ? front->bytes() : 0);
}

SharedStart PromptMemory::find(StartPart /*part*/, const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto entry =
        std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.key == key; });
    if (entry == entries_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, entry);
    return entry->start;
}

void PromptMemory::keep(StartPart /*part*/, const std::string& key, SharedStart start) {
    Entry entry = {.key = key, .start = std::move(start), .turn = nullptr};
    entry.n_bytes = entry.start->bytes();
    add(std::move(entry));
}

std::optional<FoundTurn> PromptMemory::find_turn(const std::string& settings,
                                                 std::span<const std::int32_t> said) {
    const std::lock_guard lock(mutex_);
    auto best = entries_.end();
    FoundTurn found;
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
        if (entry->turn == nullptr || entry->turn->settings != settings) continue;
        const std::vector<std::int32_t>& before = entry->turn->said;
        const std::size_t most = std::min(before.size(), said.size() - 1);
        std::size_t n = 0;
        while (n < most && before[n] == said[n]) ++n;
        // A picture behind the part that is shared would have to be read.
        const bool has_new_picture = std::any_of(said.begin() + static_cast<std::ptrdiff_t>(n), said.end(),
                                                 [](std::int32_t token) { return token < 0; });
        if (n < entry->turn->choice->end || has_new_picture || n <= found.n_shared) continue;
        best = entry;
        found = {entry->turn, n};
    }
    if (best == entries_.end()) return std::nullopt;
    entries_.splice(entries_.begin(), entries_, best);
    return found;
}

void PromptMemory::keep_turn(SharedTurn turn) {
    Entry entry = {.key = {}, .start = nullptr, .turn = std::move(turn)};
    entry.n_bytes = entry.turn->bytes();
    add(std::move(entry));
}

void PromptMemory::add(Entry entry) {
    if (entry.n_bytes > max_bytes_) return;
    std::list<Entry> gone;  // freed when the lock is open again
    const std::lock_guard lock(mutex_);
    const auto take = [&](std::list<Entry>::iterator old) {
        n_bytes_ -= old->n_bytes;
        gone.splice(gone.end(), entries_, old);
    };
    // What says the same, and a turn that this one goes on from, are of no use beside it.
    for (auto old = entries_.begin(); old != entries_.end();) {
        const auto here = old++;
        const bool is_same_start = entry.start != nullptr && here->key == entry.key;
        const bool is_same_turn =
            entry.turn != nullptr && here->turn != nullptr && here->turn->settings == entry.turn->settings &&
            here->turn->choice->end == entry.turn->choice->end &&
            here->turn->said.size() <= entry.turn->said.size() &&
            std::equal(here->turn->said.begin(), here->turn->said.end(), entry.turn->said.begin());
        if (is_same_start || is_same_turn) take(here);
    }
    n_bytes_ += entry.n_bytes;
    entries_.push_front(std::move(entry));
    while (n_bytes_ > max_bytes_) take(std::prev(entries_.end()));
}

std::size_t PromptMemory::bytes() const {
    const std::lock_guard lock(mutex_);
    return n_bytes_;
}

}  // namespace clasp::engine
