// The seam between C and C++: statuses become codes with a message, exceptions stop here.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "clasp/clasp.h"
#include "clasp/status.h"
#include "clasp/thread_pool.h"

struct clasp_pool {
    explicit clasp_pool(std::size_t n_threads) : threads(n_threads) {}
    clasp::ThreadPool threads;
};

namespace clasp::capi {

clasp_code report(const Status& status, clasp_error* error) noexcept;

inline Status null_argument(const char* name) {
    return {Code::InvalidArgument, std::string(name) + " is NULL"};
}

inline ThreadPool* threads_of(clasp_pool* pool) {
    return pool != nullptr ? &pool->threads : nullptr;
}

// Runs `body`, which returns a Status, and lets nothing but a code out.
template <typename F>
clasp_code guarded(clasp_error* error, F&& body) noexcept {
    try {
        return report(body(), error);
    } catch (const std::bad_alloc&) {
        return report(Status(Code::OutOfMemory, {}), error);
    } catch (...) {
        return report(Status(Code::Internal, {}), error);
    }
}

}  // namespace clasp::capi
