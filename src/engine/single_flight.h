// Requests that want the same pieces encoded at the same time: one encodes, the others wait for it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "clasp/status.h"
#include "engine/feature_cache.h"

namespace clasp::engine {

// Thread safe.
class SingleFlight {
   private:
    struct State {
        bool has_landed = false;
        SharedGroup layers;
    };

   public:
    // The right and the duty to encode one key. Ends with what land() was given, or with nothing when the
    // holder failed or was cancelled; then one of those who wait takes over.
    class Flight {
       public:
        Flight(SingleFlight& owner, FeatureKey key, std::shared_ptr<State> state)
            : owner_(owner), key_(std::move(key)), state_(std::move(state)) {}
        ~Flight();
        Flight(const Flight&) = delete;
        Flight& operator=(const Flight&) = delete;

        void land(SharedGroup layers) { layers_ = std::move(layers); }

       private:
        SingleFlight& owner_;
        FeatureKey key_;
        std::shared_ptr<State> state_;
        SharedGroup layers_;
    };

    // Exactly one of the two is set.
    struct Ticket {
        SharedGroup layers;  // that another request has just encoded
        std::unique_ptr<Flight> mine;
    };

    // Waits while others encode this key, until one brings what is enough. Error: cancelled.
    Result<Ticket> join(const FeatureKey& key,
                        const std::function<bool(const SharedGroup& layers)>& is_enough,
                        const std::atomic<bool>* cancel);

   private:
    std::mutex mutex_;
    std::condition_variable landed_;
    std::map<FeatureKey, std::shared_ptr<State>> flying_;
};

}  // namespace clasp::engine
