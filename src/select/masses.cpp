#include <cmath>
#include <string>

#include "clasp/select.h"
#include "select/candidates.h"

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

}  // namespace

Status assign_masses(const GramView& gram, std::span<const TokenIndex> live, std::span<const TokenIndex> kept,
                     std::span<float> masses) {
    CLASP_RETURN_IF_ERROR(selection::check_gram(gram));
    CLASP_RETURN_IF_ERROR(selection::check_live(live, gram.rows));
    CLASP_RETURN_IF_ERROR(check_kept(live, kept, gram.rows));
    if (masses.size() != gram.rows) {
        return {Code::InvalidArgument,
                std::to_string(masses.size()) + " masses for " + std::to_string(gram.rows) + " tokens"};
    }
    for (std::size_t token = 0; token < masses.size(); ++token) {
        if (!(masses[token] >= 0.0F) || !std::isfinite(masses[token])) {
            return {Code::InvalidArgument, "the mass of token " + std::to_string(token) + " is " +
                                               std::to_string(masses[token]) +
                                               ", not a finite number from 0 on"};
        }
    }
    const std::size_t n_live = live.empty() ? gram.rows : live.size();
    std::size_t next_kept = 0;
    for (std::size_t i = 0; i < n_live; ++i) {
        const std::size_t token = live.empty() ? i : live[i];
        if (next_kept < kept.size() && kept[next_kept] == token) {
            ++next_kept;
            continue;
        }
        masses[most_similar(gram.data + token * gram.stride, kept)] += masses[token];
        masses[token] = 0.0F;
    }
    return ok_status();
}

}  // namespace clasp
