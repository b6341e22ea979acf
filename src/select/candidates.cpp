#include "select/candidates.h"

#include <bit>
#include <string>

#include "select/parallel.h"

namespace clasp::selection {
namespace {

constexpr float kLargestEntry = 1.01F;
constexpr std::uint32_t kMagnitudeBits = 0x7FFFFFFFU;

bool is_cosine(float entry) {
    return (std::bit_cast<std::uint32_t>(entry) & kMagnitudeBits) <=
           std::bit_cast<std::uint32_t>(kLargestEntry);
}

Status bad_entry(std::size_t row, std::size_t column, float entry) {
    return {Code::InvalidArgument, "the similarity of tokens " + std::to_string(row) + " and " +
                                       std::to_string(column) + " is " + std::to_string(entry) +
                                       ", not a cosine in [-1, 1]"};
}

// Describes the wanted columns by blocks of eight neighbours (see ColumnSelection).
ColumnSelection select_columns(std::size_t n_columns, SelectWorkspace::Buffers& buffers) {
    const std::span<const std::uint32_t> columns = buffers.candidate_rows;
    buffers.column_blocks.clear();
    std::size_t i = 0;
    while (i < columns.size() && columns[i] + 8 <= n_columns) {
        ColumnBlock block;
        block.source = columns[i];
        block.target = static_cast<std::uint32_t>(i);
        for (std::size_t lane = 0; i < columns.size() && columns[i] < block.source + 8; ++lane, ++i) {
            block.permutation[lane] = columns[i] - block.source;
        }
        buffers.column_blocks.push_back(block);
    }
    return {columns.data(), columns.size(), buffers.column_blocks.data(), buffers.column_blocks.size(), i};
}

}  // namespace

std::int32_t fixed_point_one(std::size_t n) {
    const double largest_sum = static_cast<double>(kLargestEntry) * static_cast<double>(n);
    std::int32_t one = std::int32_t{1} << 20;
    while (largest_sum * static_cast<double>(one) > 0x7FFFFFFF - static_cast<double>(n)) one /= 2;
    return one;
}

Status check_gram(const GramView& gram) {
    if (gram.data == nullptr || gram.rows == 0) {
        return {Code::InvalidArgument, "the Gram matrix is empty"};
    }
    if (gram.stride < gram.rows) {
        return {Code::InvalidArgument, "the Gram stride " + std::to_string(gram.stride) +
                                           " is below the number of tokens " + std::to_string(gram.rows)};
    }
    if (gram.rows > kMaxSelectTokens) {
        return {Code::TooLarge, std::to_string(gram.rows) + " tokens are more than the limit of " +
                                    std::to_string(kMaxSelectTokens)};
    }
    return ok_status();
}

Status check_live(std::span<const TokenIndex> live, std::size_t rows) {
    for (std::size_t i = 0; i < live.size(); ++i) {
        if (live[i] >= rows) {
            return {Code::InvalidArgument, "live token " + std::to_string(live[i]) + " is not among the " +
                                               std::to_string(rows) + " tokens"};
        }
        if (i > 0 && live[i] <= live[i - 1]) {
            return {Code::InvalidArgument, "live tokens must rise, but " + std::to_string(live[i]) +
                                               " follows " + std::to_string(live[i - 1])};
        }
    }
    return ok_status();
}

Status check_entries(const GramView& gram, const Kernels& kernels, ThreadPool* pool,
                     SelectWorkspace::Buffers& buffers) {
    const std::span<const std::uint32_t> rows = buffers.live_rows;
    // A token with bad features spoils its row and its column: the diagonal tells whose fault it is.
    for (const std::uint32_t row : rows) {
        const float entry = gram.data[row * gram.stride + row];
        if (!is_cosine(entry)) return bad_entry(row, row, entry);
    }
    buffers.column_mask.assign(gram.rows, 0);
    for (const std::uint32_t row : rows) buffers.column_mask[row] = kMagnitudeBits;
    buffers.row_bits.resize(rows.size());
    for_blocks(pool, rows.size(), rows.size() * gram.rows, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            buffers.row_bits[i] =
                kernels.max_bits(gram.data + rows[i] * gram.stride, buffers.column_mask.data(), gram.rows);
        }
    });
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (buffers.row_bits[i] <= std::bit_cast<std::uint32_t>(kLargestEntry)) continue;
        for (const std::uint32_t column : rows) {
            const float entry = gram.data[rows[i] * gram.stride + column];
            if (!is_cosine(entry)) return bad_entry(rows[i], column, entry);
        }
    }
    return ok_status();
}

void split_live(std::span<const TokenIndex> live, SelectWorkspace::Buffers& buffers) {
    buffers.pivot_rows.clear();
    buffers.candidate_rows.clear();
    buffers.candidate_tokens.clear();
    for (std::size_t i = 0; i < buffers.live_rows.size(); ++i) {
        if (buffers.is_pivot[i] != 0) {
            buffers.pivot_rows.push_back(buffers.live_rows[i]);
        } else {
            buffers.candidate_rows.push_back(buffers.live_rows[i]);
            buffers.candidate_tokens.push_back(live.empty() ? static_cast<TokenIndex>(i) : live[i]);
        }
    }
}

Similarities gather_similarities(const GramView& gram, const Kernels& kernels, ThreadPool* pool,
                                 SelectWorkspace::Buffers& buffers) {
    const std::size_t n = buffers.candidate_rows.size();
    const std::size_t stride = round_up(n + 7, kRowAlign);  // gather_fixed may write 7 integers too many
    const std::int32_t one = fixed_point_one(n);
    buffers.similarities.resize(n * stride);
    const ColumnSelection columns = select_columns(gram.rows, buffers);
    for_blocks(pool, n, n * n, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            const std::uint32_t row = buffers.candidate_rows[i];
            std::int32_t* out = buffers.similarities.data() + i * stride;
            kernels.gather_fixed(gram.data + row * gram.stride, columns, static_cast<float>(one), out);
            out[i] = out[i] > one / 2 ? one : 0;
        }
    });
    return {buffers.similarities.data(), stride, n, one};
}

}  // namespace clasp::selection
