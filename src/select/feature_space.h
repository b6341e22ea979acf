// Private. Coverage from the features themselves, for more tokens than a matrix of all their similarities is
// worth: memory is that of the candidates and of the centres, each of the features' width. The steps are
// those of pivots.h, spherical_kmeans.h and medoids.h, and so are their results but for ties: a similarity to
// a centre is one dot product here and a sum of rounded ones there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "clasp/select.h"
#include "clasp/thread_pool.h"
#include "select/packed_rows.h"
#include "select/workspace.h"

namespace clasp::selection {

class FeatureSpace {
   public:
    // After split_live() with the tokens' own indices. All is borrowed.
    FeatureSpace(const FeatureView& features, const Kernels& kernels, ThreadPool* pool,
                 SelectWorkspace::Buffers& buffers);

    // The candidates' unit rows. pivots: token indices. Error: too large.
    Status pack(std::span<const TokenIndex> pivots);
    // Fills buffers.redundancy; once, after pack() with the same pivots.
    void find_redundancy(std::size_t n_pivots);
    // From buffers.seeds; as spherical_kmeans(). max_iterations is at least 1.
    std::uint32_t cluster(std::uint32_t max_iterations, std::vector<double>& objective);
    // buffers.chosen, of each cluster with members the one nearest to the centre.
    void choose_medoids();
    // As the function of that name in medoids.h.
    void fill_slots(std::size_t n_slots, bool has_pivots);
    // What stands for 1 where similarities are compared in fixed point.
    [[nodiscard]] std::int32_t one() const { return one_; }

    // For run_kmeans().
    double find_nearest();
    void move_centres();

   private:
    [[nodiscard]] std::size_t n() const { return candidates_.n; }
    // Unit row of a candidate, written to `out` in double precision.
    void unit_row(std::uint32_t candidate, double* out) const;
    // buffers.centre_sum = the sum of these candidates' unit rows. Returns its length, or 0 if the sum has no
    // direction.
    double sum_rows(std::span<const std::uint32_t> candidates);
    // Dot product of a candidate's unit row, left in buffers.unit_row, with buffers.centre_sum.
    double dot_with_sum(std::uint32_t candidate);
    // Row `number` of buffers.packed_centres, of which there is room for so many. False: it was that already.
    void make_room(std::size_t n_rows);
    bool set_row(std::size_t number, std::span<const double> direction, double length);
    // For each of these candidates the nearest of these centres, which rise; nearer ones that are known
    // already stay, the first of two that are equally near.
    void compare(std::span<const std::uint32_t> candidates, std::span<const std::uint32_t> centres);
    // buffers.nearest with the similarities to these candidates.
    void see_chosen(std::span<const std::uint32_t> chosen);

    FeatureView features_;
    const Kernels& kernels_;
    ThreadPool* pool_;
    SelectWorkspace::Buffers& b_;
    PackedRows candidates_;
    std::int32_t one_ = 0;
};

}  // namespace clasp::selection
