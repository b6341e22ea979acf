#include "select/feature_space.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "select/candidates.h"
#include "select/clusters.h"
#include "select/direction.h"
#include "select/medoids.h"

namespace clasp::selection {
FeatureSpace::FeatureSpace(const FeatureView& features, const Kernels& kernels, ThreadPool* pool,
                           SelectWorkspace::Buffers& buffers)
    : features_(features),
      kernels_(kernels),
      pool_(pool),
      b_(buffers),
      one_(fixed_point_one(buffers.candidate_tokens.size())) {}

Status FeatureSpace::pack(std::span<const TokenIndex> pivots) {
    // Pivots first: the norms that stay are the candidates'.
    if (!pivots.empty()) {
        CLASP_RETURN_IF_ERROR(measure_rows(features_, pivots, kernels_, pool_, b_));
        PackedRows packed;
        CLASP_RETURN_IF_ERROR(
            pack_unit_rows(features_, pivots, kernels_, pool_, b_, b_.packed_centres, packed));
    }
    CLASP_RETURN_IF_ERROR(measure_rows(features_, b_.candidate_tokens, kernels_, pool_, b_));
    return pack_unit_rows(features_, b_.candidate_tokens, kernels_, pool_, b_, b_.packed, candidates_);
}

void FeatureSpace::unit_row(std::uint32_t candidate, double* out) const {
    const float* row = features_.data + b_.candidate_tokens[candidate] * features_.stride;
    const double scale = b_.inverse_norms[candidate];
    for (std::size_t c = 0; c < features_.width; ++c) out[c] = static_cast<double>(row[c]) * scale;
}

double FeatureSpace::sum_rows(std::span<const std::uint32_t> candidates) {
    b_.unit_row.resize(features_.width);
    b_.centre_sum.assign(features_.width, 0.0);
    for (const std::uint32_t candidate : candidates) {
        unit_row(candidate, b_.unit_row.data());
        for (std::size_t c = 0; c < features_.width; ++c) b_.centre_sum[c] += b_.unit_row[c];
    }
    double square = 0.0;
    for (const double value : b_.centre_sum) square += value * value;
    const double length = std::sqrt(square);
    return length > kShortestMean * static_cast<double>(candidates.size()) ? length : 0.0;
}

double FeatureSpace::dot_with_sum(std::uint32_t candidate) {
    unit_row(candidate, b_.unit_row.data());
    double dot = 0.0;
    for (std::size_t c = 0; c < features_.width; ++c) dot += b_.unit_row[c] * b_.centre_sum[c];
    return dot;
}

void FeatureSpace::find_redundancy(std::size_t n_pivots) {
    b_.redundancy.assign(n(), -std::numeric_limits<float>::infinity());
    if (n_pivots > 0) {
        const PackedRows pivots = {b_.packed_centres.data(), n_pivots, features_.width};
        for_products(kernels_, pool_, candidates_, pivots, [&](std::size_t t, std::size_t, float cosine) {
            b_.redundancy[t] = std::max(b_.redundancy[t], cosine);
        });
        return;
    }
    b_.order.resize(n());
    std::iota(b_.order.begin(), b_.order.end(), 0U);
    const double length = sum_rows(b_.order);
    for (const std::uint32_t t : b_.order) {
        b_.redundancy[t] = length == 0.0 ? 0.0F : static_cast<float>(dot_with_sum(t) / length);
    }
}

void FeatureSpace::make_room(std::size_t n_rows) {
    b_.unit_row.resize(features_.width);
    b_.packed_centres.assign(round_up(n_rows, kernels_.panel) * features_.width, 0.0F);
}

bool FeatureSpace::set_row(std::size_t number, std::span<const double> direction, double length) {
    const std::size_t panel = kernels_.panel;
    float* to = b_.packed_centres.data() + number / panel * panel * features_.width + number % panel;
    bool is_new = false;
    for (std::size_t c = 0; c < direction.size(); ++c) {
        const auto value = static_cast<float>(direction[c] / length);
        is_new = is_new || to[c * panel] != value;
        to[c * panel] = value;
    }
    return is_new;
}

std::uint32_t FeatureSpace::cluster(std::uint32_t max_iterations, std::vector<double>& objective) {
    make_room(b_.seeds.size());
    for (std::size_t k = 0; k < b_.seeds.size(); ++k) {
        unit_row(b_.seeds[k], b_.unit_row.data());
        set_row(k, b_.unit_row, 1.0);
    }
    start_clusters(n(), b_.seeds.size(), b_);
    std::fill(b_.best.begin(), b_.best.end(), -std::numeric_limits<float>::infinity());
    b_.moved.resize(b_.seeds.size());
    std::iota(b_.moved.begin(), b_.moved.end(), 0U);
    b_.has_moved.assign(b_.seeds.size(), 1);
    return run_kmeans(*this, max_iterations, b_, objective);
}

void FeatureSpace::compare(std::span<const std::uint32_t> candidates,
                           std::span<const std::uint32_t> centres) {
    const PackedRows all = {b_.packed_centres.data(), b_.seeds.size(), features_.width};
    for_chosen_products(kernels_, pool_, candidates_, candidates, all, centres, b_.chosen_rows,
                        [&](std::uint32_t t, std::uint32_t k, float cosine) {
                            std::uint32_t& nearest = b_.next_assignment[t];
                            if (cosine < b_.best[t] || (cosine == b_.best[t] && k > nearest)) return;
                            b_.best[t] = cosine;
                            nearest = k;
                        });
}

// What did not move is as near as it was: only centres that moved are compared with everything, and only
// candidates whose own centre moved with every centre.
double FeatureSpace::find_nearest() {
    b_.followers.clear();
    b_.bystanders.clear();
    const bool is_first = b_.moved.size() == b_.seeds.size();
    for (std::uint32_t t = 0; t < n(); ++t) {
        const bool follows = is_first || b_.has_moved[b_.assignment[t]] != 0;
        (follows ? b_.followers : b_.bystanders).push_back(t);
    }
    if (!is_first) std::copy(b_.assignment.begin(), b_.assignment.end(), b_.next_assignment.begin());
    for (const std::uint32_t t : b_.followers) b_.best[t] = -std::numeric_limits<float>::infinity();
    compare(b_.bystanders, b_.moved);
    b_.moved.resize(b_.seeds.size());
    std::iota(b_.moved.begin(), b_.moved.end(), 0U);
    compare(b_.followers, b_.moved);
    double objective = 0;
    for (const float similarity : b_.best) objective += static_cast<double>(similarity);
    return objective;
}

// Clusters whose sum has no direction keep their centre, as empty ones do.
void FeatureSpace::move_centres() {
    b_.moved.clear();
    for (std::uint32_t k = 0; k < b_.seeds.size(); ++k) {
        b_.has_moved[k] = 0;
        const std::span<const std::uint32_t> members = members_of(b_, k);
        if (b_.changed[k] == 0 || members.empty()) continue;
        const double length = sum_rows(members);
        if (length == 0.0 || !set_row(k, b_.centre_sum, length)) continue;
        b_.has_moved[k] = 1;
        b_.moved.push_back(k);
    }
}

// In double precision and fixed point, so that the two members of a cluster are equally near to its centre,
// as on paper. A cluster whose sum has no direction is known by the centre that it kept.
void FeatureSpace::choose_medoids() {
    b_.chosen.clear();
    for (std::size_t k = 0; k < b_.seeds.size(); ++k) {
        const std::span<const std::uint32_t> members = members_of(b_, k);
        if (members.empty()) continue;
        if (sum_rows(members) == 0.0) {
            const std::size_t panel = kernels_.panel;
            const float* kept = b_.packed_centres.data() + k / panel * panel * features_.width + k % panel;
            for (std::size_t c = 0; c < features_.width; ++c) {
                b_.centre_sum[c] = static_cast<double>(kept[c * panel]);
            }
        }
        std::uint32_t medoid = members.front();
        double most = -std::numeric_limits<double>::infinity();
        for (const std::uint32_t member : members) {
            const double similarity = std::nearbyint(dot_with_sum(member) * static_cast<double>(one_));
            if (similarity <= most) continue;
            most = similarity;
            medoid = member;
        }
        b_.chosen.push_back(medoid);
    }
    mark_chosen(n(), b_);
}

void FeatureSpace::see_chosen(std::span<const std::uint32_t> chosen) {
    make_room(chosen.size());
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        unit_row(chosen[i], b_.unit_row.data());
        set_row(i, b_.unit_row, 1.0);
    }
    const PackedRows packed = {b_.packed_centres.data(), chosen.size(), features_.width};
    const auto scale = static_cast<float>(one_);
    for_products(kernels_, pool_, candidates_, packed, [&](std::size_t t, std::size_t, float cosine) {
        b_.nearest[t] = std::max(b_.nearest[t], static_cast<std::int32_t>(std::lrint(cosine * scale)));
    });
}

void FeatureSpace::fill_slots(std::size_t n_slots, bool has_pivots) {
    if (b_.chosen.size() >= n_slots) return;
    start_nearest(n(), one_, has_pivots, b_);
    see_chosen(b_.chosen);
    while (b_.chosen.size() < n_slots) {
        const std::uint32_t farthest = choose_farthest(b_);
        see_chosen({&farthest, 1});
    }
}

}  // namespace clasp::selection
