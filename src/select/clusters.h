// Private. What k-means in the Gram matrix and k-means on features share: which candidate belongs to which
// cluster, and the course of the iterations.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "select/workspace.h"

namespace clasp::selection {

// Room for n candidates, none of them in a cluster.
void start_clusters(std::size_t n, std::size_t n_clusters, SelectWorkspace::Buffers& buffers);

// Rising.
std::span<const std::uint32_t> members_of(const SelectWorkspace::Buffers& buffers, std::size_t cluster);

// Takes next_assignment over, lists the members and marks the clusters whose members changed. False if it is
// the old one.
bool take_assignment(SelectWorkspace::Buffers& buffers);

// Runs a started k-means. find_nearest() (Eq. kmeans-assign) fills next_assignment and gives J of the current
// centres; move_centres() (Eq. kmeans-update) is for the clusters that changed. Returns the iterations run.
template <typename Kmeans>
std::uint32_t run_kmeans(Kmeans& kmeans, std::uint32_t max_iterations, SelectWorkspace::Buffers& buffers,
                         std::vector<double>& objective) {
    kmeans.find_nearest();
    for (std::uint32_t iteration = 1;; ++iteration) {
        const bool is_settled = !take_assignment(buffers);
        if (!is_settled) kmeans.move_centres();
        // J after this iteration falls out of the next one's search for the nearest centres.
        objective.push_back(is_settled ? objective.back() : kmeans.find_nearest());
        if (is_settled || iteration == max_iterations) return iteration;
    }
}

}  // namespace clasp::selection
