// Clustering by density peaks, as SparseVLM recycles dropped tokens with it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "clasp/select.h"

namespace clasp::methods {

struct Clusters {
    std::vector<std::size_t> centres;     // rows, by falling rank
    std::vector<std::size_t> cluster_of;  // per row: index into centres
};

// n_clusters of the rows, at least 1 and at most their number. A row is dense when its n_clusters nearest
// (itself included) are near; centres are dense and far from denser rows; every row joins its nearest centre
// (smallest Euclidean distance; or largest cosine). Among equals the later row is denser, as the
// tie-breaking term grows with the index.
Clusters cluster_by_density(const FeatureView& rows, std::size_t n_clusters, bool by_cosine);

}  // namespace clasp::methods
