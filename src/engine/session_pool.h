// Sessions that are kept when a request is done with them, so that the next one finds their memory ready.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "clasp/status.h"

namespace clasp::engine {

// Thread safe. As many are in use as requests need; up to max_idle wait for the next.
template <typename Session>
class SessionPool {
   public:
    using Make = std::function<Result<std::unique_ptr<Session>>()>;

    SessionPool(Make make, std::size_t max_idle) : make_(std::move(make)), max_idle_(max_idle) {}
    SessionPool(const SessionPool&) = delete;
    SessionPool& operator=(const SessionPool&) = delete;

    // Gives its session back when it goes. The pool must outlive it.
    class Lease {
       public:
        Lease(SessionPool& pool, std::unique_ptr<Session> session)
            : pool_(&pool), session_(std::move(session)) {}
        ~Lease() {
            if (session_ != nullptr) pool_->give_back(std::move(session_));
        }
        Lease(Lease&& other) noexcept = default;
        Lease& operator=(Lease&& other) = delete;
        Lease(const Lease&) = delete;
        Lease& operator=(const Lease&) = delete;

        Session& operator*() const { return *session_; }
        Session* operator->() const { return session_.get(); }

       private:
        SessionPool* pool_;
        std::unique_ptr<Session> session_;
    };

    // The one that was used last, or a new one when all are in use.
    Result<Lease> take() {
        {
            const std::lock_guard lock(mutex_);
            if (!idle_.empty()) {
                std::unique_ptr<Session> session = std::move(idle_.back());
                idle_.pop_back();
                return Lease(*this, std::move(session));
            }
        }
        CLASP_ASSIGN_OR_RETURN(auto session, make_());
        return Lease(*this, std::move(session));
    }

   private:
    void give_back(std::unique_ptr<Session> session) {
        const std::lock_guard lock(mutex_);
        if (idle_.size() < max_idle_) idle_.push_back(std::move(session));
    }

    Make make_;
    std::size_t max_idle_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Session>> idle_;
};

}  // namespace clasp::engine
