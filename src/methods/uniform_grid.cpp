#include "methods/uniform_grid.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/checked.h"
#include "methods/methods.h"
#include "methods/ranking.h"

namespace clasp::methods {
namespace {

// A rectangle may be this many times longer than the grid in one direction.
constexpr double kLargestStretch = 2.0;

// Half-open range of the i-th of count cells over length, as adaptive pooling cuts them.
struct Range {
    std::size_t begin;
    std::size_t end;
};

Range cell_range(std::size_t i, std::size_t count, std::size_t length) {
    return {i * length / count, ((i + 1) * length + count - 1) / count};
}

// round((i + 1/2) * length / count - 1/2), halves up.
std::size_t cell_middle(std::size_t i, std::size_t count, std::size_t length) {
    return (2 * i + 1) * length / (2 * count);
}

template <typename Use>
void for_cells(std::size_t rows, std::size_t columns, std::size_t keep, Use use) {
    const std::vector<std::size_t> shape = uniform_shape(rows, columns, keep);
    for (std::size_t i = 0; i < shape.size(); ++i) {
        for (std::size_t j = 0; j < shape[i]; ++j) use(i, shape.size(), j, shape[i]);
    }
}

Plan lattice(std::size_t rows, std::size_t columns, std::size_t keep) {
    std::vector<TokenIndex> kept;
    for_cells(rows, columns, keep, [&](std::size_t i, std::size_t n_i, std::size_t j, std::size_t n_j) {
        kept.push_back(
            static_cast<TokenIndex>(cell_middle(i, n_i, rows) * columns + cell_middle(j, n_j, columns)));
    });
    return keep_tokens(std::move(kept), Reason::Coverage);
}

Plan stride(std::size_t n, std::size_t keep) {
    std::vector<TokenIndex> kept;
    for (std::size_t i = 0; i < keep; ++i) kept.push_back(static_cast<TokenIndex>(i * (n / keep)));
    return keep_tokens(std::move(kept), Reason::Coverage);
}

Plan pool(std::size_t rows, std::size_t columns, std::size_t keep) {
    Plan plan;
    for_cells(rows, columns, keep, [&](std::size_t i, std::size_t n_i, std::size_t j, std::size_t n_j) {
        const Range down = cell_range(i, n_i, rows);
        const Range across = cell_range(j, n_j, columns);
        const auto area = static_cast<float>((down.end - down.begin) * (across.end - across.begin));
        std::vector<MergeSource> sources;
        for (std::size_t row = down.begin; row < down.end; ++row) {
            for (std::size_t column = across.begin; column < across.end; ++column) {
                sources.push_back({static_cast<TokenIndex>(row * columns + column), 1.0F / area});
            }
        }
        plan.merge(
            static_cast<TokenIndex>(cell_middle(i, n_i, rows) * columns + cell_middle(j, n_j, columns)),
            sources);
    });
    return plan;
}

}  // namespace

std::vector<std::size_t> uniform_shape(std::size_t rows, std::size_t columns, std::size_t keep) {
    const double aspect = static_cast<double>(rows) / static_cast<double>(columns);
    std::size_t best_rows = 0;
    double best_stretch = kLargestStretch;
    // From the tallest down, so that of two rectangles equally far from the grid's shape the taller wins.
    for (std::size_t n_rows = std::min(rows, keep); n_rows > 0; --n_rows) {
        const std::size_t n_columns = keep / n_rows;
        if (n_rows * n_columns != keep || n_columns > columns) continue;
        const double shape = static_cast<double>(n_rows) / static_cast<double>(n_columns);
        const double stretch = std::max(shape / aspect, aspect / shape);
        if (stretch < best_stretch || (best_rows == 0 && stretch <= best_stretch)) {
            best_stretch = stretch;
            best_rows = n_rows;
        }
    }
    if (best_rows == 0) {
        const auto square =
            static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(keep) * aspect)));
        best_rows = std::clamp(square, (keep + columns - 1) / columns, std::min(rows, keep));
    }
    std::vector<std::size_t> shape(best_rows);
    for (std::size_t i = 0; i < best_rows; ++i) {
        shape[i] = (i + 1) * keep / best_rows - i * keep / best_rows;
    }
    return shape;
}

Result<Plan> uniform_grid(std::size_t rows, std::size_t columns, std::size_t keep, UniformMode mode) {
    const auto n = base::checked_multiply(rows, columns);
    CLASP_RETURN_IF_ERROR(check_budget(keep, n.value_or(kMaxSelectTokens + 1)));
    if (keep >= *n) return keep_all_tokens(*n);
    switch (mode) {
        case UniformMode::Stride: return stride(*n, keep);
        case UniformMode::Pool: return pool(rows, columns, keep);
        case UniformMode::Lattice: break;
    }
    return lattice(rows, columns, keep);
}

namespace {

class UniformGridRun : public MethodRun {
   public:
    UniformGridRun(std::size_t entering, UniformMode mode, bool is_projected) : mode_(mode) {
        program_.has_after_encoder = !is_projected;
        program_.has_after_projector = is_projected;
        program_.entering = entering;
        program_.uses_grid = true;
        program_.positions = PositionMode::Compact;
    }

    Status after_encoder(const ImageInput& input, Plan& plan) override { return reduce(input, plan); }
    Status after_projector(const ImageInput& input, Plan& plan) override { return reduce(input, plan); }

   private:
    Status reduce(const ImageInput& input, Plan& plan) const {
        CLASP_ASSIGN_OR_RETURN(plan, uniform_grid(input.grid.height, input.grid.width, input.keep, mode_));
        return ok_status();
    }

    UniformMode mode_;
};

Result<std::unique_ptr<MethodRun>> start_grid(const Setup& setup) {
    CLASP_ASSIGN_OR_RETURN(const std::size_t entering, entering_count(setup.budget, "uniform-grid"));
    const UniformMode mode = setup.settings.is("mode", "stride") ? UniformMode::Stride : UniformMode::Lattice;
    return std::unique_ptr<MethodRun>(new UniformGridRun(entering, mode, true));
}

Result<std::unique_ptr<MethodRun>> start_pool(const Setup& setup) {
    CLASP_ASSIGN_OR_RETURN(const std::size_t entering, entering_count(setup.budget, "uniform-pool"));
    return std::unique_ptr<MethodRun>(
        new UniformGridRun(entering, UniformMode::Pool, setup.settings.is("site", "after")));
}

}  // namespace

Method uniform_grid_method() {
    return {.name = "uniform-grid",
            .summary = "patches evenly spaced over the grid, before the decoder",
            .options = {{.name = "mode",
                         .help = "the middles of a lattice, or every n-th patch",
                         .fallback = "lattice",
                         .choices = {"lattice", "stride"}}},
            .start = start_grid};
}

Method uniform_pool_method() {
    return {.name = "uniform-pool",
            .summary = "means over evenly cut cells of the grid, before the decoder",
            .merges = true,
            .drops = false,
            .options = {{.name = "site",
                         .help = "before or after the projector",
                         .fallback = "before",
                         .choices = {"before", "after"}}},
            .start = start_pool};
}

}  // namespace clasp::methods
