// Any bytes as features, scores and options: the answer is an error or exactly the budget, and the
// fastest kernel agrees with the scalar one on the Gram matrix it is given.
//
// Input: rows, width, budget, split, iterations, seed, flags (one byte each), then floats.
#include <cstdint>
#include <cstring>
#include <vector>

#include "clasp/select.h"
#include "require.h"
#include "select/kernels/kernels.h"

namespace {

using clasp::fuzz::require;

// Takes bytes from the input, zeros when it is used up.
class Bytes {
   public:
    Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

    std::uint8_t byte() { return at_ < size_ ? data_[at_++] : std::uint8_t{0}; }

    // Raw bits of a float, or a small whole number: plain inputs with many ties.
    float number(bool is_raw) {
        if (!is_raw) return static_cast<float>(static_cast<std::int8_t>(byte()));
        std::uint8_t raw[4] = {byte(), byte(), byte(), byte()};
        float value = 0;
        std::memcpy(&value, raw, sizeof value);
        return value;
    }

   private:
    const std::uint8_t* data_;
    std::size_t size_;
    std::size_t at_ = 0;
};

void check_plan(const clasp::SelectPlan& plan, std::size_t n_live, std::size_t rows, std::size_t budget) {
    require(plan.kept.size() == (budget < n_live ? budget : n_live));
    require(plan.reasons.size() == plan.kept.size());
    require(plan.objective.size() == plan.iterations);
    for (std::size_t i = 0; i < plan.kept.size(); ++i) {
        require(plan.kept[i] < rows);
        require(i == 0 || plan.kept[i - 1] < plan.kept[i]);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Bytes bytes(data, size);
    const std::size_t rows = bytes.byte() % 64U;
    const std::size_t width = bytes.byte() % 20U;
    clasp::SelectOptions options;
    options.budget = bytes.byte();
    options.split = static_cast<double>(bytes.byte()) / 250.0;
    options.iterations = bytes.byte() % 16U;
    options.seed = bytes.byte();
    const std::uint8_t flags = bytes.byte();
    const bool is_raw = (flags & 1U) != 0;

    std::vector<clasp::TokenIndex> live;
    if ((flags & 2U) != 0) {
        for (std::size_t row = 0; row < rows; ++row) {
            const bool is_live = bytes.byte() % 4 != 0;
            if (is_live)
                live.push_back(static_cast<clasp::TokenIndex>(row + ((flags & 4U) != 0 ? row % 2 : 0)));
        }
    }
    const std::size_t n_live = live.empty() ? rows : live.size();
    std::vector<float> scores(n_live + ((flags & 8U) != 0 ? 1 : 0));
    for (float& score : scores) score = bytes.number(is_raw);
    std::vector<float> features(rows * width + 1);
    for (float& value : features) value = bytes.number(is_raw);

    clasp::SelectInput input;
    input.features = {features.data(), rows, width, width};
    input.live = live;
    input.scores = scores;
    clasp::SelectWorkspace workspace;
    clasp::SelectPlan plan;
    if (clasp::select(input, options, workspace, nullptr, plan).ok()) {
        check_plan(plan, n_live, rows, options.budget);
    }

    // The same without a matrix of similarities.
    clasp::SelectOptions on_features = options;
    on_features.gram_limit = 0;
    if (clasp::select(input, on_features, workspace, nullptr, plan).ok()) {
        check_plan(plan, n_live, rows, options.budget);
        std::vector<float> masses(rows, 1.0F);
        require(clasp::assign_masses(input.features, live, plan.kept, workspace, nullptr, masses).ok());
    }

    // The same numbers as a Gram matrix: mostly refused, sometimes far from any real one.
    const std::size_t side = rows < 12 ? rows : 12;
    std::vector<float> matrix(side * side + 1, 0.5F);
    for (std::size_t i = 0; i < side * side && i < features.size(); ++i) {
        matrix[i] = is_raw ? features[i] : features[i] / 128.0F;
    }
    clasp::SelectInput from_gram;
    from_gram.gram = {matrix.data(), side, side};
    from_gram.scores = std::span(scores).first(scores.size() < side ? scores.size() : side);
    const bool is_ok = clasp::select(from_gram, options, workspace, nullptr, plan).ok();
    if (is_ok) check_plan(plan, side, side, options.budget);
    clasp::SelectPlan scalar_plan;
    clasp::selection::force_kernels(&clasp::selection::scalar_kernels());
    const bool is_scalar_ok = clasp::select(from_gram, options, workspace, nullptr, scalar_plan).ok();
    clasp::selection::force_kernels(nullptr);
    require(is_ok == is_scalar_ok);
    if (is_ok) {
        require(plan.kept == scalar_plan.kept);
        std::vector<float> masses(side, 1.0F);
        require(clasp::assign_masses(from_gram.gram, {}, plan.kept, masses).ok());
    }
    return 0;
}
