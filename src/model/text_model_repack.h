// Copies of a text model's matrices in layouts that are multiplied faster: ours (quant_matrix.h), else those
// of ggml's CPU backend. libllama can make the latter too, but on one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "clasp/status.h"
#include "clasp/thread_pool.h"
#include "model/backend.h"
#include "model/gguf_reader.h"
#include "model/load_watch.h"

namespace clasp::model {

class QuantMatrix;
struct TextWeights;

// Whose products the decoder runs on the CPU, where there is a choice.
enum class DecoderKernels : std::uint8_t {
    Ours,  // for the types of quant_format.h, on processors that have kernels for them
    Ggml,  // what llama.cpp computes, to the bit
};

// The bytes of the copies that RepackedWeights would make of a file's matrices.
std::size_t repacked_bytes(const Compute& compute, const GgufReader& file, DecoderKernels kernels);
// The share of loading a text model after which its weights are repacked; reading comes before.
inline constexpr double kRepackBegins = 0.5;

class RepackedWeights {
   public:
    // Gives every matrix of `weights` for which there is a layout, and which lies in plain host memory, a
    // copy that the result owns: ours are entered in weights.packed, ggml's take the matrix' place. The token
    // embedding stays: its rows are read. watch may be null; it hears shares from kRepackBegins to 1.
    static Result<std::unique_ptr<RepackedWeights>> create(const Compute& compute, TextWeights& weights,
                                                           DecoderKernels kernels, ThreadPool& pool,
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
