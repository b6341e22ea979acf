// Requests that wait: clients take turns, each in the order of its own requests.
#pragma once

#include <cstddef>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace clasp::serve {

// Not thread safe. Item has n_waiting requests' worth of nothing but itself; the queue only orders them.
template <typename Item>
class FairQueue {
   public:
    void push(const std::string& client, Item item) {
        for (Line& line : lines_) {
            if (line.client != client) continue;
            line.items.push_back(std::move(item));
            ++n_;
            return;
        }
        lines_.push_back({client, {}});
        lines_.back().items.push_back(std::move(item));
        ++n_;
    }

    // The next one, that of the client who has waited longest for a turn.
    std::optional<Item> pop() {
        if (lines_.empty()) return std::nullopt;
        Line& line = lines_.front();
        Item item = std::move(line.items.front());
        line.items.pop_front();
        --n_;
        if (line.items.empty()) {
            lines_.pop_front();
        } else {
            lines_.splice(lines_.end(), lines_, lines_.begin());
        }
        return item;
    }

    // The first that is wanted among those that clients have first in their lines.
    template <typename Wanted>
    std::optional<Item> pop_if(Wanted wanted) {
        for (auto line = lines_.begin(); line != lines_.end(); ++line) {
            if (!wanted(line->items.front())) continue;
            lines_.splice(lines_.begin(), lines_, line);
            return pop();
        }
        return std::nullopt;
    }

    // What pop() would give; null when there is nothing.
    [[nodiscard]] const Item* front() const {
        return lines_.empty() ? nullptr : &lines_.front().items.front();
    }

    // Takes out those that are wanted.
    template <typename Wanted>
    std::list<Item> take_if(Wanted wanted) {
        std::list<Item> taken;
        for (auto line = lines_.begin(); line != lines_.end();) {
            std::deque<Item> rest;
            for (Item& item : line->items) {
                if (wanted(item)) {
                    taken.push_back(std::move(item));
                    --n_;
                } else {
                    rest.push_back(std::move(item));
                }
            }
            line->items = std::move(rest);
            line = line->items.empty() ? lines_.erase(line) : std::next(line);
        }
        return taken;
    }

    [[nodiscard]] std::size_t size() const { return n_; }

   private:
    struct Line {
        std::string client;
        std::deque<Item> items;
    };
    std::list<Line> lines_;  // clients, the next one first
    std::size_t n_ = 0;
};

}  // namespace clasp::serve
