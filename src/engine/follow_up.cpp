#include "engine/follow_up.h"

#include <algorithm>
#include <numeric>

#include "clasp/engine.h"

namespace clasp::engine {

double missed_share(std::span<const float> scores, std::span<const KeptAtStage> stages) {
    std::vector<TokenIndex> order(scores.size());
    std::iota(order.begin(), order.end(), TokenIndex{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](TokenIndex a, TokenIndex b) { return scores[a] > scores[b]; });
    double largest = 0.0;
    for (const KeptAtStage& stage : stages) {
        std::vector<bool> is_kept(scores.size(), false);
        for (const TokenIndex token : stage.kept) is_kept[token] = true;
        double wanted = 0.0;
        double missed = 0.0;
        for (std::size_t i = 0; i < std::min(stage.n_relevant, order.size()); ++i) {
            const auto score = static_cast<double>(scores[order[i]]);
            wanted += score;
            if (!is_kept[order[i]]) missed += score;
        }
        if (wanted > 0.0) largest = std::max(largest, missed / wanted);
    }
    return largest;
}

}  // namespace clasp::engine
