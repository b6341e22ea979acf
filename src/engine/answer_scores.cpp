#include "engine/answer_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace clasp::engine {

namespace {

// Walks the tree of the answers' tokens depth first, so that what two answers share is read once.
class Scorer {
   public:
    Scorer(ChatModel& model, std::span<const std::int32_t> prompt,
           const std::vector<std::vector<std::int32_t>>& answers, ChatModel::Clock::time_point deadline)
        : model_(model),
          answers_(answers),
          deadline_(deadline),
          n_prompt_(prompt.size()),
          tokens_(prompt.begin(), prompt.end()),
          probability_(answers.size(), 0.0) {}

    Result<std::vector<double>> run() {
        std::vector<std::size_t> all(answers_.size());
        std::iota(all.begin(), all.end(), std::size_t{0});
        CLASP_RETURN_IF_ERROR(spread(all, 0, 1.0));
        return std::move(probability_);
    }

   private:
    using Branches = std::map<std::int32_t, std::vector<std::size_t>>;

    // Shares `mass` among the answers of the group, which agree in their first `depth` tokens.
    Status spread(const std::vector<std::size_t>& group, std::size_t depth, double mass) {
        Branches branches = branches_at(group, depth);
        while (branches.size() == 1 && group.size() > 1) branches = branches_at(group, ++depth);
        if (branches.empty() || group.size() == 1) {  // one answer, or the same one several times
            for (const std::size_t i : group) probability_[i] = mass / static_cast<double>(group.size());
            return ok_status();
        }
        const std::vector<std::int32_t>& first = answers_[group.front()];
        tokens_.resize(n_prompt_);
        tokens_.insert(tokens_.end(), first.begin(), first.begin() + static_cast<std::ptrdiff_t>(depth));
        CLASP_ASSIGN_OR_RETURN(const std::span<const float> logits, model_.read(tokens_, deadline_));
        std::vector<double> shares;
        double top = -std::numeric_limits<double>::infinity();
        for (const auto& [token, unused] : branches) {
            shares.push_back(static_cast<double>(logits[static_cast<std::size_t>(token)]));
            top = std::max(top, shares.back());
        }
        if (!std::isfinite(top)) return {Code::Corrupt, "the router model's logits are not numbers"};
        double sum = 0.0;
        for (double& share : shares) sum += share = std::exp(share - top);
        auto share = shares.begin();
        for (const auto& [unused, branch] : branches) {
            CLASP_RETURN_IF_ERROR(spread(branch, depth + 1, mass * *share / sum));
            ++share;
        }
        return ok_status();
    }

    // The group by the token at `depth`. No answer begins with another, so all end together or none does.
    [[nodiscard]] Branches branches_at(const std::vector<std::size_t>& group, std::size_t depth) const {
        Branches branches;
        for (const std::size_t i : group) {
            if (depth < answers_[i].size()) branches[answers_[i][depth]].push_back(i);
        }
        return branches;
    }

    ChatModel& model_;
    const std::vector<std::vector<std::int32_t>>& answers_;
    ChatModel::Clock::time_point deadline_;
    std::size_t n_prompt_;
    std::vector<std::int32_t> tokens_;
    std::vector<double> probability_;
};

}  // namespace

Result<std::vector<double>> score_answers(ChatModel& model, std::span<const std::int32_t> prompt,
                                          const std::vector<std::vector<std::int32_t>>& answers,
                                          ChatModel::Clock::time_point deadline) {
    return Scorer(model, prompt, answers, deadline).run();
}

}  // namespace clasp::engine
