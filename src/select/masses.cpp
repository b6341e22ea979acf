#include <cmath>
#include <limits>
#include <new>
#include <string>

#include "clasp/select.h"
#include "select/candidates.h"
#include "select/gram.h"
#include "select/packed_rows.h"

namespace clasp {
namespace {

// The kept token with the largest similarity, the smaller index among equals.
TokenIndex most_similar(const float* row, std::span<const TokenIndex> kept) {
    TokenIndex best = kept[0];
    for (const TokenIndex token : kept.subspan(1)) {
        if (row[token] > row[best]) best = token;
    }
    return best;
}

Status check_kept(std::span<const TokenIndex> live, std::span<const TokenIndex> kept, std::size_t rows) {
    if (kept.empty()) return {Code::InvalidArgument, "no token is kept that could take the masses"};
    std::size_t position = 0;
    const std::size_t n_live = live.empty() ? rows : live.size();
    for (std::size_t i = 0; i < kept.size(); ++i) {
        if (i > 0 && kept[i] <= kept[i - 1]) {
            return {Code::InvalidArgument, "kept tokens must rise, but " + std::to_string(kept[i]) +
                                               " follows " + std::to_string(kept[i - 1])};
        }
        while (position < n_live && (live.empty() ? position : live[position]) < kept[i]) ++position;
        if (position == n_live || (live.empty() ? position : live[position]) != kept[i]) {
            return {Code::InvalidArgument, "kept token " + std::to_string(kept[i]) + " is not live"};
        }
    }
    return ok_status();
}

Status check_masses(std::span<const float> masses, std::size_t rows) {
    if (masses.size() != rows) {
        return {Code::InvalidArgument,
                std::to_string(masses.size()) + " masses for " + std::to_string(rows) + " tokens"};
    }
    for (std::size_t token = 0; token < masses.size(); ++token) {
        if (!(masses[token] >= 0.0F) || !std::isfinite(masses[token])) {
            return {Code::InvalidArgument, "the mass of token " + std::to_string(token) + " is " +
                                               std::to_string(masses[token]) +
                                               ", not a finite number from 0 on"};
        }
    }
    return ok_status();
}

// Calls f(token) for the live tokens that are not kept, in order.
template <typename F>
void for_dropped(std::span<const TokenIndex> live, std::span<const TokenIndex> kept, std::size_t rows, F f) {
    const std::size_t n_live = live.empty() ? rows : live.size();
    std::size_t next_kept = 0;
    for (std::size_t i = 0; i < n_live; ++i) {
        const auto token = live.empty() ? static_cast<TokenIndex>(i) : live[i];
        if (next_kept < kept.size() && kept[next_kept] == token) {
            ++next_kept;
        } else {
            f(token);
        }
    }
}

void give_mass(std::span<float> masses, TokenIndex from, TokenIndex to) {
    masses[to] += masses[from];
    masses[from] = 0.0F;
}

// For each dropped token its most similar kept one, left in buffers.order by its place in `kept`.
Status find_heirs(const FeatureView& features, std::span<const TokenIndex> dropped,
                  std::span<const TokenIndex> kept, ThreadPool* pool, SelectWorkspace::Buffers& buffers) {
    const selection::Kernels& kernels = selection::active_kernels();
    selection::PackedRows of_kept;
    CLASP_RETURN_IF_ERROR(selection::measure_rows(features, kept, kernels, pool, buffers));
    CLASP_RETURN_IF_ERROR(
        selection::pack_unit_rows(features, kept, kernels, pool, buffers, buffers.packed_centres, of_kept));
    selection::PackedRows of_dropped;
    CLASP_RETURN_IF_ERROR(selection::measure_rows(features, dropped, kernels, pool, buffers));
    CLASP_RETURN_IF_ERROR(
        selection::pack_unit_rows(features, dropped, kernels, pool, buffers, buffers.packed, of_dropped));
    buffers.best.assign(dropped.size(), -std::numeric_limits<float>::infinity());
    buffers.order.resize(dropped.size());
    selection::for_products(kernels, pool, of_dropped, of_kept,
                            [&](std::size_t from, std::size_t to, float cosine) {
                                if (cosine <= buffers.best[from]) return;
                                buffers.best[from] = cosine;
                                buffers.order[from] = static_cast<std::uint32_t>(to);
                            });
    return ok_status();
}

}  // namespace

Status assign_masses(const GramView& gram, std::span<const TokenIndex> live, std::span<const TokenIndex> kept,
                     std::span<float> masses) {
    CLASP_RETURN_IF_ERROR(selection::check_gram(gram));
    CLASP_RETURN_IF_ERROR(selection::check_live(live, gram.rows));
    CLASP_RETURN_IF_ERROR(check_kept(live, kept, gram.rows));
    CLASP_RETURN_IF_ERROR(check_masses(masses, gram.rows));
    for_dropped(live, kept, gram.rows, [&](TokenIndex token) {
        give_mass(masses, token, most_similar(gram.data + token * gram.stride, kept));
    });
    return ok_status();
}

Status assign_masses(const FeatureView& features, std::span<const TokenIndex> live,
                     std::span<const TokenIndex> kept, SelectWorkspace& workspace, ThreadPool* pool,
                     std::span<float> masses) {
    CLASP_RETURN_IF_ERROR(selection::check_features(features));
    CLASP_RETURN_IF_ERROR(selection::check_live(live, features.rows));
    CLASP_RETURN_IF_ERROR(check_kept(live, kept, features.rows));
    CLASP_RETURN_IF_ERROR(check_masses(masses, features.rows));
    try {
        SelectWorkspace::Buffers& buffers = workspace.buffers();
        std::vector<TokenIndex>& dropped = buffers.candidate_tokens;
        dropped.clear();
        for_dropped(live, kept, features.rows, [&](TokenIndex token) { dropped.push_back(token); });
        if (dropped.empty()) return ok_status();
        CLASP_RETURN_IF_ERROR(find_heirs(features, dropped, kept, pool, buffers));
        for (std::size_t i = 0; i < dropped.size(); ++i) {
            give_mass(masses, dropped[i], kept[buffers.order[i]]);
        }
    } catch (const std::bad_alloc&) {
        return {Code::OutOfMemory, "no memory to compare " + std::to_string(features.rows) + " tokens"};
    }
    return ok_status();
}

}  // namespace clasp
