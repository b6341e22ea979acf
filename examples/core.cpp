// The selection core from C++: fuse two vision layers, then choose tokens for one decoder stage.
#include <clasp/fuse.h>
#include <clasp/policy.h>
#include <clasp/select.h>
#include <clasp/thread_pool.h>

#include <cmath>
#include <iostream>
#include <numeric>
#include <random>
#include <vector>

namespace {

constexpr std::size_t kTokens = 576;
constexpr std::size_t kWidth = 64;

std::vector<float> random_values(std::size_t count, unsigned seed) {
    std::mt19937 engine(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(count);
    for (float& value : values) value = normal(engine);
    return values;
}

clasp::Status run() {
    // What a question about text asks for, from the published profile.
    CLASP_ASSIGN_OR_RETURN(const clasp::Policy policy, clasp::load_policy("llava"));
    CLASP_ASSIGN_OR_RETURN(const std::size_t class_id,
                           clasp::find_class(policy, "Text / symbol recognition"));
    CLASP_ASSIGN_OR_RETURN(const clasp::Mix mix, clasp::mix_for(policy, class_id));

    // Stand-ins for the outputs of the vision blocks that the mix names.
    std::vector<std::vector<float>> blocks;
    std::vector<clasp::LayerView> layers;
    std::vector<float> weights;
    for (const clasp::LayerWeight& entry : mix) {
        blocks.push_back(random_values(kTokens * kWidth, static_cast<unsigned>(entry.layer)));
        weights.push_back(static_cast<float>(entry.weight));
    }
    for (const std::vector<float>& block : blocks) {
        layers.push_back({block.data(), clasp::FloatType::F32, kTokens, kWidth, 0});
    }
    std::vector<float> fused(kTokens * kWidth);
    clasp::ThreadPool pool;
    CLASP_RETURN_IF_ERROR(clasp::fuse_layers(layers, weights, fused, &pool));

    // Scores would be the attention of the question's tokens.
    std::vector<float> scores(kTokens);
    for (std::size_t t = 0; t < kTokens; ++t) scores[t] = std::exp(-static_cast<float>(t % 24));
    clasp::SelectInput input;
    input.features = {fused.data(), kTokens, kWidth, kWidth};
    input.scores = scores;
    clasp::SelectOptions options;
    options.budget = 64;
    options.split = policy.classes[class_id].split;
    clasp::SelectWorkspace workspace;
    clasp::SelectPlan plan;
    CLASP_RETURN_IF_ERROR(clasp::select(input, options, workspace, &pool, plan));

    std::cout << policy.classes[class_id].name << ": kept " << plan.kept.size() << " of " << kTokens
              << " tokens, " << plan.pivots.size() << " pivots and " << plan.coverage.size()
              << " for coverage, in " << plan.timings.total_ms << " ms\n";
    return clasp::ok_status();
}

}  // namespace

int main() {
    const clasp::Status status = run();
    if (!status.ok()) std::cerr << status.message() << '\n';
    return status.ok() ? 0 : 1;
}
