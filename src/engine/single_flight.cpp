#include "engine/single_flight.h"

#include <chrono>
#include <utility>

namespace clasp::engine {

namespace {

// How often one who waits looks whether anybody still wants the answer.
constexpr std::chrono::milliseconds kLook{10};

}  // namespace

SingleFlight::Flight::~Flight() {
    {
        const std::lock_guard lock(owner_.mutex_);
        state_->has_landed = true;
        state_->layers = std::move(layers_);
        owner_.flying_.erase(key_);
    }
    owner_.landed_.notify_all();
}

Result<SingleFlight::Ticket> SingleFlight::join(
    const FeatureKey& key, const std::function<bool(const SharedGroup& layers)>& is_enough,
    const std::atomic<bool>* cancel) {
    std::unique_lock lock(mutex_);
    for (;;) {
        std::shared_ptr<State>& entry = flying_[key];
        if (entry == nullptr) {
            entry = std::make_shared<State>();
            return Ticket{{}, std::make_unique<Flight>(*this, key, entry)};
        }
        const std::shared_ptr<State> other = entry;
        while (!other->has_landed) {
            if (cancel != nullptr && *cancel) return Status(Code::Cancelled, "cancelled");
            landed_.wait_for(lock, kLook);
        }
        if (!other->layers.empty() && is_enough(other->layers)) return Ticket{other->layers, nullptr};
    }
}

}  // namespace clasp::engine
