#include "select/spherical_kmeans.h"

#include <algorithm>

#include "select/clusters.h"
#include "select/direction.h"
#include "select/parallel.h"

namespace clasp::selection {
namespace {

// Sums are computed for this many clusters at a time, each into a spare row, which then changes places
// with the cluster's old one: a sum without direction leaves the old centre as it was.
constexpr std::size_t kSpareRows = 16;

class Kmeans {
   public:
    Kmeans(const Similarities& similarities, const Kernels& kernels, ThreadPool* pool,
           SelectWorkspace::Buffers& buffers)
        : similarities_(similarities),
          kernels_(kernels),
          pool_(pool),
          b_(buffers),
          n_clusters_(buffers.seeds.size()) {}

    void start() {
        const std::size_t stride = round_up(similarities_.n, kRowAlign);
        b_.centre_sums.resize((n_clusters_ + kSpareRows) * stride);
        b_.owned_rows.resize(n_clusters_ + kSpareRows);
        for (std::size_t row = 0; row < b_.owned_rows.size(); ++row) {
            b_.owned_rows[row] = b_.centre_sums.data() + row * stride;
        }
        b_.centre_rows.resize(n_clusters_);
        b_.centre_scales.resize(n_clusters_);
        for (std::size_t k = 0; k < n_clusters_; ++k) {
            b_.centre_rows[k] = similarities_.row(b_.seeds[k]);
            // A zero vector as centre is similar to nothing.
            b_.centre_scales[k] =
                direction_scale(b_.centre_rows[k], {&b_.seeds[k], 1}, similarities_.one).value_or(0.0F);
        }
        start_clusters(similarities_.n, n_clusters_, b_);
    }

    // Eq. kmeans-assign into next_assignment. Returns J of the current centres.
    double find_nearest() {
        const std::size_t n = similarities_.n;
        for_blocks(pool_, n, n * n_clusters_, [&](std::size_t begin, std::size_t end) {
            kernels_.best_rows(b_.centre_rows.data(), b_.centre_scales.data(), n_clusters_, begin,
                               end - begin, b_.best.data() + begin, b_.next_assignment.data() + begin);
        });
        double objective = 0;
        for (const float similarity : b_.best) objective += static_cast<double>(similarity);
        return objective;
    }

    // Eq. kmeans-update for the clusters whose members changed. The others would get the same sums.
    void move_centres() {
        std::size_t n_pending = 0;
        for (std::uint32_t k = 0; k < n_clusters_; ++k) {
            const std::span<const std::uint32_t> members = members_of(b_, k);
            if (b_.changed[k] == 0 || members.empty()) continue;
            if (members.size() == 1) {
                move_centre(k, similarities_.row(members[0]));
            } else {
                b_.pending[n_pending++] = k;
            }
        }
        for (std::size_t first = 0; first < n_pending; first += kSpareRows) {
            move_group(std::span(b_.pending).subspan(first, std::min(kSpareRows, n_pending - first)));
        }
    }

   private:
    // False, and no change, if the sum has no direction.
    bool move_centre(std::size_t k, const std::int32_t* sums) {
        const std::optional<float> scale = direction_scale(sums, members_of(b_, k), similarities_.one);
        if (!scale) return false;
        b_.centre_rows[k] = sums;
        b_.centre_scales[k] = *scale;
        return true;
    }

    void move_group(std::span<const std::uint32_t> clusters) {
        std::int32_t** spare = b_.owned_rows.data() + n_clusters_;
        std::size_t n_members = 0;
        for (const std::uint32_t k : clusters) n_members += members_of(b_, k).size();
        const std::size_t n = similarities_.n;
        for_blocks(pool_, n, n * n_members, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = 0; i < clusters.size(); ++i) {
                const std::span<const std::uint32_t> members = members_of(b_, clusters[i]);
                kernels_.sum_rows(similarities_.data + begin, similarities_.stride, members.data(),
                                  members.size(), end - begin, spare[i] + begin);
            }
        });
        for (std::size_t i = 0; i < clusters.size(); ++i) {
            if (move_centre(clusters[i], spare[i])) std::swap(b_.owned_rows[clusters[i]], spare[i]);
        }
    }

    const Similarities& similarities_;
    const Kernels& kernels_;
    ThreadPool* pool_;
    SelectWorkspace::Buffers& b_;
    std::size_t n_clusters_;
};

}  // namespace

std::uint32_t spherical_kmeans(const Similarities& similarities, std::uint32_t max_iterations,
                               const Kernels& kernels, ThreadPool* pool, SelectWorkspace::Buffers& buffers,
                               std::vector<double>& objective) {
    Kmeans kmeans(similarities, kernels, pool, buffers);
    kmeans.start();
    return run_kmeans(kmeans, max_iterations, buffers, objective);
}

}  // namespace clasp::selection
