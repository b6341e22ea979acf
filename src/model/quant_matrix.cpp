#include "model/quant_matrix.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "base/check.h"
#include "model/quant_kernel.h"

namespace clasp::model {

namespace {

// Vectors do not cross lines of the cache, and large matrices lie in large pages where the system has them:
// fewer faults while they are packed.
constexpr std::size_t kLine = 64;
constexpr std::size_t kLargePage = std::size_t{2} << 20U;

// Rows whose sums wait in the first-level cache while the chunks of a panel go by.
constexpr std::size_t kRowsAtOnce = 256;

std::size_t n_chunks_of(std::size_t n_inputs) {
    return (n_inputs + kQuantChunk - 1) / kQuantChunk;
}

std::size_t blocks_in(std::size_t n_inputs, std::size_t chunk) {
    return std::min(kQuantChunk, n_inputs - chunk * kQuantChunk) / kQuantBlock;
}

std::size_t panel_bytes_of(const QuantFormat& format, std::size_t n_inputs) {
    const std::size_t n_whole = n_inputs / kQuantChunk;
    const std::size_t rest = n_inputs % kQuantChunk / kQuantBlock;
    return n_whole * format.chunk_bytes(kQuantChunkBlocks) + (rest > 0 ? format.chunk_bytes(rest) : 0);
}

quant::Kernel kernel_for(const QuantFormat& format, KernelSet kernels) {
    switch (kernels) {
#ifdef CLASP_HAVE_X86_KERNELS
        case KernelSet::Avx512: return quant::avx512_kernel(format);
        case KernelSet::Vnni256:
            return has_avx_vnni() ? quant::avxvnni_kernel(format) : quant::avx512vl_kernel(format);
        case KernelSet::Avx2: return quant::avx2_kernel(format);
#endif
#ifdef CLASP_HAVE_ARM_KERNELS
        case KernelSet::I8mm: return quant::i8mm_kernel(format);
        case KernelSet::Dotprod: return quant::dotprod_kernel(format);
#endif
        default: return quant::scalar_kernel(format);
    }
}

}  // namespace

void FreeAligned::operator()(std::uint8_t* memory) const {
    ::operator delete[](memory, std::align_val_t{alignment});
}

std::size_t QuantMatrix::bytes(const QuantFormat& format, std::size_t n_inputs, std::size_t n_outputs) {
    return panel_bytes_of(format, n_inputs) * ((n_outputs + kQuantPanel - 1) / kQuantPanel);
}

QuantMatrix::QuantMatrix(const QuantFormat& format, std::size_t n_inputs, std::size_t n_outputs)
    : format_(&format),
      n_inputs_(n_inputs),
      n_outputs_(n_outputs),
      panel_bytes_(panel_bytes_of(format, n_inputs)) {
    CLASP_CHECK(n_inputs % format.block_inputs() == 0);
}

std::unique_ptr<QuantMatrix> QuantMatrix::create(const QuantFormat& format, std::size_t n_inputs,
                                                 std::size_t n_outputs) {
    std::unique_ptr<QuantMatrix> matrix(new (std::nothrow) QuantMatrix(format, n_inputs, n_outputs));
    if (matrix == nullptr) return nullptr;
    const std::size_t size = bytes(format, n_inputs, n_outputs);
    const std::size_t alignment = size >= kLargePage ? kLargePage : kLine;
    matrix->memory_ = {
        static_cast<std::uint8_t*>(::operator new[](size, std::align_val_t{alignment}, std::nothrow)),
        {alignment}};
    if (matrix->memory_ == nullptr) return nullptr;
    // A wish: without it the matrix is as good, only slower to fill.
    if (alignment == kLargePage) ::madvise(matrix->memory_.get(), size, MADV_HUGEPAGE);
    matrix->data_ = matrix->memory_.get();
    return matrix;
}

std::unique_ptr<QuantMatrix> QuantMatrix::view(const QuantFormat& format, std::size_t n_inputs,
                                               std::size_t n_outputs, std::span<const std::byte> packed) {
    CLASP_CHECK(packed.size() == bytes(format, n_inputs, n_outputs));
    std::unique_ptr<QuantMatrix> matrix(new (std::nothrow) QuantMatrix(format, n_inputs, n_outputs));
    if (matrix != nullptr) matrix->data_ = reinterpret_cast<const std::uint8_t*>(packed.data());
    return matrix;
}

std::span<const std::byte> QuantMatrix::packed() const {
    return std::as_bytes(std::span(data_, bytes(*format_, n_inputs_, n_outputs_)));
}

void QuantMatrix::pack(const void* stored, std::size_t begin, std::size_t end) {
    CLASP_CHECK(memory_ != nullptr);
    const auto* rows = static_cast<const std::uint8_t*>(stored);
    const std::size_t row_bytes = ggml_row_size(format_->type, static_cast<std::int64_t>(n_inputs_));
    const std::size_t chunk_stored = ggml_row_size(format_->type, kQuantChunk);
    const std::size_t chunk_bytes = format_->chunk_bytes(kQuantChunkBlocks);
    for (std::size_t panel = begin; panel < end; ++panel) {
        std::uint8_t* to = memory_.get() + panel * panel_bytes_;
        const std::size_t n_lanes = std::min(kQuantPanel, n_outputs_ - panel * kQuantPanel);
        // Outputs that do not exist are zero; their results are not stored.
        if (n_lanes < kQuantPanel) std::memset(to, 0, panel_bytes_);
        for (std::size_t chunk = 0; chunk < n_chunks_of(n_inputs_); ++chunk) {
            for (std::size_t lane = 0; lane < n_lanes; ++lane) {
                pack_quant_lane(*format_,
                                rows + (panel * kQuantPanel + lane) * row_bytes + chunk * chunk_stored,
                                blocks_in(n_inputs_, chunk), lane, to + chunk * chunk_bytes);
            }
        }
    }
}

void QuantMatrix::multiply(const QuantRows& rows, const float* bias, std::size_t part, std::size_t n_parts,
                           float* y, KernelSet kernels) const {
    CLASP_CHECK(rows.n_inputs == n_inputs_ && rows.kind == format_->rows);
    const quant::Kernel kernel = kernel_for(*format_, kernels);
    const std::size_t chunk_bytes = format_->chunk_bytes(kQuantChunkBlocks);
    alignas(64) std::uint8_t unpacked[quant::kUnpackedBytes];
    alignas(64) float sums[kRowsAtOnce * kQuantPanel];
    for (std::size_t first = 0; first < rows.n_rows; first += kRowsAtOnce) {
        const std::size_t n_rows = std::min(kRowsAtOnce, rows.n_rows - first);
        for (std::size_t panel = n_panels() * part / n_parts; panel < n_panels() * (part + 1) / n_parts;
             ++panel) {
            std::fill_n(sums, n_rows * kQuantPanel, 0.0F);
            const std::uint8_t* packed = data_ + panel * panel_bytes_;
            for (std::size_t chunk = 0; chunk < rows.n_chunks(); ++chunk) {
                const std::size_t n_blocks = blocks_in(n_inputs_, chunk);
                const std::uint8_t* from = packed + chunk * chunk_bytes;
                const std::int8_t* values = rows.values(chunk, first);
                const std::uint8_t* facts = rows.facts(chunk, first);
                if (n_rows <= kernel.few_rows) {
                    kernel.multiply_packed(from, n_blocks, values, facts, n_rows, sums);
                } else {
                    kernel.unpack(from, n_blocks, unpacked);
                    kernel.multiply(unpacked, n_blocks, values, facts, n_rows, sums);
                }
            }
            const std::size_t output = panel * kQuantPanel;
            const std::size_t n_lanes = std::min(kQuantPanel, n_outputs_ - output);
            for (std::size_t row = 0; row < n_rows; ++row) {
                float* to = y + (first + row) * n_outputs_ + output;
                const float* from = sums + row * kQuantPanel;
                for (std::size_t lane = 0; lane < n_lanes; ++lane) {
                    to[lane] = bias != nullptr ? from[lane] + bias[output + lane] : from[lane];
                }
            }
        }
    }
}

}  // namespace clasp::model
