#include <string>

#include "clasp/schedule.h"

namespace clasp {
namespace {

double as_double(std::size_t value) {
    return static_cast<double>(value);
}

// Adds one layer in which n tokens ask and, together, n_pairs query-key pairs meet.
void add_layer(Flops& flops, const DecoderShape& shape, double n, double n_pairs) {
    const double width = as_double(shape.width);
    const double query_width = as_double(shape.n_heads) * as_double(shape.head_width);
    const double key_width = as_double(shape.n_kv_heads) * as_double(shape.head_width);
    flops.projections += 2.0 * n * width * (2.0 * query_width + 2.0 * key_width);
    flops.attention += 4.0 * n_pairs * query_width;
    flops.ffn += 2.0 * n * width * as_double(shape.ffn_width) * (shape.has_gated_ffn ? 3.0 : 2.0);
}

double head(const DecoderShape& shape) {
    return 2.0 * as_double(shape.width) * as_double(shape.vocab);
}

void add_prefill_layer(Flops& flops, const DecoderShape& shape, std::size_t n_tokens) {
    const double n = as_double(n_tokens);
    add_layer(flops, shape, n, n * n);
}

// Step g of n_steps sees n_before + g + 1 keys.
void add_decode_layer(Flops& flops, const DecoderShape& shape, std::size_t n_before, std::size_t n_steps) {
    const double steps = as_double(n_steps);
    add_layer(flops, shape, steps, steps * as_double(n_before) + 0.5 * steps * (steps + 1.0));
}

}  // namespace

DecoderShape default_decoder_shape(std::size_t n_layers) {
    DecoderShape shape;
    shape.n_layers = n_layers;
    shape.width = 4096;
    shape.ffn_width = 11008;
    shape.n_heads = 32;
    shape.n_kv_heads = 32;
    shape.head_width = 128;
    shape.vocab = 32000;
    return shape;
}

Result<ScheduleCost> schedule_cost(const Schedule& schedule, const DecoderShape& shape,
                                   std::size_t n_unpruned, std::size_t n_text, std::size_t n_generated) {
    if (shape.n_layers == 0 || shape.width == 0 || shape.ffn_width == 0 || shape.n_heads == 0 ||
        shape.n_kv_heads == 0 || shape.head_width == 0) {
        return Status(
            Code::InvalidArgument,
            "a decoder shape needs layers, width, FFN width, heads, key-value heads and head width above 0");
    }
    if (shape.n_heads % shape.n_kv_heads != 0) {
        return Status(Code::InvalidArgument, std::to_string(shape.n_heads) + " heads cannot share " +
                                                 std::to_string(shape.n_kv_heads) +
                                                 " key-value heads evenly");
    }
    if (schedule.per_layer.size() != shape.n_layers) {
        return Status(Code::InvalidArgument, "a schedule for " + std::to_string(schedule.per_layer.size()) +
                                                 " layers does not fit a decoder of " +
                                                 std::to_string(shape.n_layers));
    }
    ScheduleCost cost;
    for (const std::size_t n_visual : schedule.per_layer) {
        add_prefill_layer(cost.prefill, shape, n_visual + n_text);
        add_prefill_layer(cost.prefill_unpruned, shape, n_unpruned + n_text);
        add_decode_layer(cost.decode, shape, n_visual + n_text, n_generated);
        add_decode_layer(cost.decode_unpruned, shape, n_unpruned + n_text, n_generated);
    }
    cost.prefill.head = cost.prefill_unpruned.head = head(shape);
    cost.decode.head = cost.decode_unpruned.head = head(shape) * as_double(n_generated);
    if (n_unpruned + n_text > 0) cost.flops_ratio = cost.prefill.total() / cost.prefill_unpruned.total();
    return cost;
}

}  // namespace clasp
