#include "route/stress.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "route/random.h"

namespace clasp::route {

namespace {

// The first round(ratio * n) places of a shuffle of 0 .. n - 1 that depends on the seed only.
Result<std::vector<std::size_t>> choose_share(std::size_t n, double ratio, Random& random) {
    if (!(ratio >= 0.0 && ratio <= 1.0)) {
        return Status(Code::InvalidArgument, "a ratio of questions must lie between 0 and 1");
    }
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = n; i > 1; --i) std::swap(order[i - 1], order[random.next() % i]);
    order.resize(static_cast<std::size_t>(std::llround(ratio * static_cast<double>(n))));
    return order;
}

Status check_classes(std::span<const std::size_t> classes, std::size_t n_classes) {
    for (const std::size_t c : classes) {
        if (c < n_classes) continue;
        return {Code::InvalidArgument,
                "class " + std::to_string(c) + " is beyond the last of " + std::to_string(n_classes)};
    }
    return ok_status();
}

}  // namespace

Result<std::vector<std::size_t>> force_default(std::span<const std::size_t> classes,
                                               std::size_t default_class, double ratio, std::uint64_t seed) {
    Random random(seed);
    CLASP_ASSIGN_OR_RETURN(const auto chosen, choose_share(classes.size(), ratio, random));
    std::vector<std::size_t> out(classes.begin(), classes.end());
    for (const std::size_t i : chosen) out[i] = default_class;
    return out;
}

Result<std::vector<std::size_t>> force_errors(std::span<const std::size_t> classes, std::size_t n_classes,
                                              std::size_t default_class, double ratio, std::uint64_t seed) {
    CLASP_RETURN_IF_ERROR(check_classes(classes, n_classes));
    if (default_class >= n_classes || n_classes < 3) {
        return Status(Code::InvalidArgument,
                      "random errors need at least three classes, the default among them");
    }
    Random random(seed);
    CLASP_ASSIGN_OR_RETURN(const auto chosen, choose_share(classes.size(), ratio, random));
    std::vector<std::size_t> out(classes.begin(), classes.end());
    for (const std::size_t i : chosen) {
        // Steps over the true class and the default, whichever of them comes first.
        const std::size_t truth = classes[i];
        const std::size_t n_wrong = n_classes - (truth == default_class ? 1 : 2);
        std::size_t wrong = random.next() % n_wrong;
        if (wrong >= std::min(truth, default_class)) ++wrong;
        if (truth != default_class && wrong >= std::max(truth, default_class)) ++wrong;
        out[i] = wrong;
    }
    return out;
}

}  // namespace clasp::route
