// The beginning of a prompt as the layers left it. Nothing in a decoder looks ahead, so what a prompt's first
// rows are does not depend on what follows them: a prompt that begins like one before need not compute them
// again, and its numbers are the same to the bit.
//
// Two beginnings are kept. The prefix is the text before the first image, in all layers: text is never
// dropped. The front is everything up to the end of the last image, in the layers before the first stage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/live_rows.h"

namespace clasp::engine {

struct PromptPart;

struct PromptStart {
    struct Layer {
        std::vector<std::byte> keys;  // n_rows cells each, as the cache stores them
        std::vector<std::byte> values;
        // What entered the layer, n_rows x width; empty where nobody needs it.
        std::vector<float> hidden;
        // Whether the block ran with enough rows for attention in single precision (kPreciseQueries).
        bool is_precise = false;
    };
    std::size_t n_rows = 0;
    std::vector<Layer> layers;  // from the first on
    // What entered the layer behind them, n_rows x width; empty behind the last one.
    std::vector<float> behind;

    [[nodiscard]] std::size_t bytes() const;
};
using SharedStart = std::shared_ptr<const PromptStart>;

enum class StartPart : std::uint8_t { Prefix, Front };

// Beginnings by their keys: 64 hexadecimal digits of a SHA-256 over all that they depend on but the model.
class StartStore {
   public:
    StartStore() = default;
    virtual ~StartStore() = default;
    StartStore(const StartStore&) = delete;
    StartStore& operator=(const StartStore&) = delete;

    // Whether it is worth while to come with one.
    [[nodiscard]] virtual bool keeps(StartPart part) const = 0;
    // Null: not there.
    virtual SharedStart find(StartPart part, const std::string& key) = 0;
    virtual void keep(StartPart part, const std::string& key, SharedStart start) = 0;
};

// Rows before the first image, and up to the end of the last one; both 0 without images.
struct StartRows {
    std::size_t n_prefix = 0;
    std::size_t n_front = 0;
};
StartRows start_rows(std::span<const LiveRow> rows);

// What of a run a start depends on besides its rows.
struct StartKind {
    std::int32_t kv_type = 0;  // ggml's number
    std::int32_t rope = 0;     // which of the model's factors: 0 none or the only ones, 1 short, 2 long
    std::size_t n_layers = 0;
    bool is_precise = true;  // of the rows' last piece; a prefix says so for each layer
};
std::string prefix_key(std::span<const std::int32_t> tokens, const StartKind& kind);
// The parts up to the end of the last image, and their rows.
std::string front_key(std::span<const PromptPart> parts, std::span<const LiveRow> rows,
                      const StartKind& kind);

}  // namespace clasp::engine
