// Copies of a text model's matrices in the CPU's own layouts, which multiply up to twice as fast. libllama
// can make them too, but on one thread.
#pragma once

#include <cstddef>
#include <memory>

#include "clasp/status.h"
#include "clasp/thread_pool.h"
#include "model/backend.h"
#include "model/gguf_reader.h"
#include "model/load_watch.h"

namespace clasp::model {

struct TextWeights;

// The bytes of the copies that RepackedWeights would make of a file's matrices.
std::size_t repacked_bytes(const Compute& compute, const GgufReader& file);
// The share of loading a text model after which its weights are repacked; reading comes before.
inline constexpr double kRepackBegins = 0.5;

class RepackedWeights {
   public:
    // Replaces every matrix of `weights` for which the CPU has a layout, and which lies in plain host
    // memory, by a copy that the result owns. The token embedding stays: its rows are read.
    // watch may be null; it hears shares from kRepackBegins to 1.
    static Result<std::unique_ptr<RepackedWeights>> create(const Compute& compute, TextWeights& weights,
                                                           ThreadPool& pool,
                                                           const LoadWatch* watch = nullptr);
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
