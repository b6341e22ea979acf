// Schedules: from a budget to the number of visual tokens that each decoder layer processes.
//
// A budget is the average number of visual tokens per decoder layer. A stage at layer l keeps `keep`
// tokens from there on. Layers count from 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/status.h"

namespace clasp {

struct Stage {
    std::size_t layer = 0;
    std::size_t keep = 0;  // at least 1; when it is not below the live count, all stay

    friend bool operator==(const Stage&, const Stage&) = default;
};

// Before: the stage's own block already runs on the kept tokens. After: it still runs on all live
// tokens and its output is pruned (SparseVLM's way).
enum class StageMode : std::uint8_t { Before, After };

// What a user asks for: "192", "33%", "none" or "auto".
struct BudgetSpec {
    enum class Kind : std::uint8_t {
        Tokens,   // value = average visual tokens per decoder layer
        Percent,  // value = per cent of the visual tokens
        None,     // no pruning
        Auto,     // the engine decides; it must put one of the others here before a schedule is made
    };
    Kind kind = Kind::Percent;
    double value = 33.0;

    friend bool operator==(const BudgetSpec&, const BudgetSpec&) = default;
};

// Error: invalid_argument, naming the text, unless it is a positive number, a percentage in (0, 100],
// "none" or "auto".
Result<BudgetSpec> parse_budget(std::string_view text);
std::string to_text(const BudgetSpec& budget);  // parse_budget() gives it back

// The schedules with a name: "paper-192" and the like.
std::vector<std::string_view> schedule_names();
// The name as schedule_names() spells it; letter case is ignored. Error: not_found with the names there are.
Result<std::string> find_schedule_name(std::string_view name);

// "2:300,6:200,15:110". Error: invalid_argument naming the piece. Layers must rise and counts must not.
Result<std::vector<Stage>> parse_stages(std::string_view text);
std::string to_text(const std::vector<Stage>& stages);  // parse_stages() gives it back

// "2,6,15". Error: invalid_argument naming the piece. Layers must rise.
Result<std::vector<std::size_t>> parse_stage_layers(std::string_view text);

// "16,12,9". Error: invalid_argument naming the piece. make_schedule() checks the order.
Result<std::vector<std::size_t>> parse_stage_shape(std::string_view text);

struct ScheduleRequest {
    std::size_t n_visual = 0;  // visual tokens that enter the decoder
    std::size_t n_layers = 0;  // decoder layers
    BudgetSpec budget;         // not read when `named` or `forced` is given

    // At most one of the three; all empty means the default layers of default_stage_layers().
    std::vector<std::size_t> stage_layers;  // rising; the counts are solved for the budget
    std::vector<Stage> forced;              // exactly these stages
    std::string named;                      // "paper-192", "paper-128" or "paper-64"; goes with stage_layers
    // Proportions of the counts, one per stage layer, never rising: {16, 12, 9} keeps 4/3 as much at the
    // first stage as at the second. Empty means the published schedules' proportions.
    std::vector<std::size_t> shape;

    StageMode stage_mode = StageMode::Before;
};

enum class ScheduleSource : std::uint8_t {
    None,       // nothing is dropped: budget "none", or not below the visual tokens
    Published,  // the paper's counts as printed
    Scaled,     // the paper's counts times n_visual / 576, rounded
    Solved,     // counts found for the budget
    Forced,     // the caller's stages
};

// "none", "published", "scaled", "solved", "forced".
std::string_view source_name(ScheduleSource source);

struct Schedule {
    std::vector<Stage> stages;           // rising layers, counts never rise; empty when nothing is dropped
    std::vector<std::size_t> per_layer;  // visual tokens that each layer processes; length n_layers
    StageMode stage_mode = StageMode::Before;
    ScheduleSource source = ScheduleSource::None;
    std::size_t n_entering = 0;    // visual tokens that layer 0 processes
    std::size_t n_final = 0;       // visual tokens after the last stage
    double average = 0.0;          // mean of per_layer
    std::optional<double> budget;  // the average that was asked for, if one was
    std::string note;              // one sentence when something is worth saying, else empty
};

// 2/6/15 for 24 layers and more; else round(2D/32), round(6D/32), round(15D/32), at least 1 and at
// least one apart. Error: invalid_argument when D < 4, where three such stages do not fit.
Result<std::vector<std::size_t>> default_stage_layers(std::size_t n_layers);

// The rules of docs/reference/schedule.md. A published budget gives the published counts; any other is
// solved so that the average is the budget within 1 % (or as near as whole tokens allow, which the
// note then says). Errors are invalid_argument; an impossible budget names the smallest possible one.
// Safe from many threads; takes microseconds.
Result<Schedule> make_schedule(const ScheduleRequest& request);

// ---- Cost ----

struct DecoderShape {
    std::size_t n_layers = 0;
    std::size_t width = 0;
    std::size_t ffn_width = 0;
    std::size_t n_heads = 0;
    std::size_t n_kv_heads = 0;
    std::size_t head_width = 0;
    std::size_t vocab = 0;
    bool has_gated_ffn = true;  // three FFN matrices instead of two
};

// The 7-billion decoder for which the paper's schedules were made (width 4096, FFN 11008, 32 heads of
// 128, vocabulary 32000), with another depth if asked. For callers who only know the depth.
DecoderShape default_decoder_shape(std::size_t n_layers = 32);

// Floating-point operations; a multiply-add counts as two. For one layer that processes n tokens whose
// queries see m keys (prefill: m = n, the full square, as the literature counts it):
//   projections  2 n width (2 n_heads + 2 n_kv_heads) head_width
//   attention    4 n m n_heads head_width
//   ffn          2 n width ffn_width (3 if gated, else 2)
// and once per predicted token: head 2 width vocab. Norms, softmax, rotation and the cost of choosing
// tokens are left out.
struct Flops {
    double projections = 0.0;
    double attention = 0.0;
    double ffn = 0.0;
    double head = 0.0;

    [[nodiscard]] double total() const { return projections + attention + ffn + head; }
};

struct ScheduleCost {
    Flops prefill;             // with the schedule
    Flops prefill_unpruned;    // all visual tokens in all layers
    Flops decode;              // all generated tokens together, over the kept tokens' keys
    Flops decode_unpruned;     // the same over all keys
    double flops_ratio = 1.0;  // prefill / prefill_unpruned, in totals
};

// n_unpruned is the number of visual tokens before any stage; n_text the text tokens, which every layer
// processes. Error: invalid_argument when the shape is empty or its depth is not the schedule's.
Result<ScheduleCost> schedule_cost(const Schedule& schedule, const DecoderShape& shape,
                                   std::size_t n_unpruned, std::size_t n_text, std::size_t n_generated);

}  // namespace clasp
