// Copies of a text model's matrices in layouts that are multiplied faster: ours (quant_matrix.h), else those
// of ggml's CPU backend. libllama can make the latter too, but on one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "clasp/log.h"
#include "clasp/status.h"
#include "clasp/thread_pool.h"
#include "model/backend.h"
#include "model/gguf_reader.h"
#include "model/load_watch.h"
#include "model/packed_store.h"

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

struct RepackOptions {
    DecoderKernels kernels = DecoderKernels::Ours;
    PackedFolder folder = {};  // where ours stay between runs
    PackedKey key = {};        // of the model file there
    LogSink log = {};
    const LoadWatch* watch = nullptr;  // during the call; may be null
};

class RepackedWeights {
   public:
    // Gives every matrix of `weights` for which there is a layout, and which lies in plain host memory, a
    // copy that the result owns: ours are entered in weights.packed, ggml's take the matrix' place. The token
    // embedding stays: its rows are read. Ours are taken from the folder if they are there; else they go
    // there after this call.
    static Result<std::unique_ptr<RepackedWeights>> create(const Compute& compute, TextWeights& weights,
                                                           const RepackOptions& options, ThreadPool& pool);
    ~RepackedWeights();
    RepackedWeights(const RepackedWeights&) = delete;
    RepackedWeights& operator=(const RepackedWeights&) = delete;

    [[nodiscard]] std::size_t bytes() const;
    // Ours came from the folder.
    [[nodiscard]] bool is_mapped() const;
    // Until they are there, or cannot be; whoever does not wait may leave before they are. Error: cancelled.
    Status wait_until_kept(const LoadWatch& watch = {});

   private:
    struct State;

    explicit RepackedWeights(std::unique_ptr<State> state);

    std::unique_ptr<State> state_;
};

}  // namespace clasp::model
