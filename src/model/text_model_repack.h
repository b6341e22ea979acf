// Copies of a text model's matrices in the CPU's own layouts, which multiply up to twice as fast. libllama
// can make them too, but on one thread.
#pragma once

#include <cstddef>
#include <memory>

#include "clasp/status.h"
#include "clasp/thread_pool.h"
#include "model/backend.h"

namespace clasp::model {

struct TextWeights;

class RepackedWeights {
   public:
    // Replaces every matrix of `weights` for which the CPU has a layout, and which lies in plain host
    // memory, by a copy that the result owns. The token embedding stays: its rows are read.
    static Result<std::unique_ptr<RepackedWeights>> create(const Compute& compute, TextWeights& weights,
                                                           ThreadPool& pool);
    ~RepackedWeights();
    RepackedWeights(const RepackedWeights&) = delete;
    RepackedWeights& operator=(const RepackedWeights&) = delete;

    [[nodiscard]] std::size_t bytes() const;

   private:
    struct State;

    explicit RepackedWeights(std::unique_ptr<State> state);

    std::unique_ptr<State> state_;
};

}  // namespace clasp::model
