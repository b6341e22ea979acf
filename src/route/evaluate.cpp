#include "route/evaluate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "route/lexicon.h"

namespace clasp::route {

namespace {

constexpr std::size_t kRandomParts = 5;  // a fifth is held out

std::size_t position_of(const Router& router, int class_id) {
    const auto& classes = router.classes();
    const auto found =
        std::find_if(classes.begin(), classes.end(), [&](const RouteClass& c) { return c.id == class_id; });
    return static_cast<std::size_t>(found - classes.begin());
}

Result<Agreement> fit_and_measure(const std::vector<Question>& taught, const std::vector<Question>& asked,
                                  const std::string& taxonomy_json, const TrainOptions& options) {
    const Lexicon& lexicon = Lexicon::builtin();
    Taxonomy taxonomy = Taxonomy::builtin();
    if (!taxonomy_json.empty()) {
        CLASP_ASSIGN_OR_RETURN(taxonomy, Taxonomy::parse(taxonomy_json));
    }
    CLASP_ASSIGN_OR_RETURN(const Model model, fit_router(taught, taxonomy, lexicon, options));
    RouterOptions router_options;
    router_options.taxonomy_json = taxonomy_json;
    router_options.model_bytes = model.save(lexicon);
    CLASP_ASSIGN_OR_RETURN(const Router router, Router::create(router_options));
    return measure(router, asked);
}

}  // namespace

Agreement measure(const Router& router, std::span<const Question> questions) {
    constexpr std::size_t kBins = 10;
    struct Bin {
        double confidence = 0.0;
        double right = 0.0;
    };
    std::array<Bin, kBins> bins{};
    const std::size_t n_classes = router.classes().size();
    Agreement result;
    result.confusion.assign(n_classes, std::vector<std::size_t>(n_classes, 0));
    for (const Question& question : questions) {
        if (!question.class_id) continue;
        const std::size_t label = position_of(router, *question.class_id);
        if (label >= n_classes) continue;
        const RouteDecision decision = router.route(question.text);
        const auto top = static_cast<std::size_t>(
            std::max_element(decision.scores.begin(), decision.scores.end()) - decision.scores.begin());
        const bool fell_back = decision.by == RoutedBy::Fallback;
        ++result.n;
        ++result.confusion[label][top];
        if (top == label) ++result.n_right;
        if (decision.class_id == *question.class_id) ++result.n_right_final;
        if (fell_back) ++result.n_fallback;
        if (!fell_back && top != label) ++result.n_confident_wrong;
        Bin& bin = bins[std::min(kBins - 1, static_cast<std::size_t>(decision.confidence * kBins))];
        bin.confidence += static_cast<double>(decision.confidence);
        bin.right += top == label ? 1.0 : 0.0;
    }
    for (const Bin& bin : bins) {
        if (result.n > 0)
            result.calibration_error += std::abs(bin.confidence - bin.right) / static_cast<double>(result.n);
    }
    return result;
}

Result<Agreement> measure_random(std::span<const Question> questions, const std::string& taxonomy_json,
                                 const TrainOptions& options) {
    std::vector<Question> taught;
    std::vector<Question> asked;
    for (const Question& question : questions) {
        const bool held_out = question.benchmark != kOwnBenchmark && part_of(question, kRandomParts) == 0;
        (held_out ? asked : taught).push_back(question);
    }
    return fit_and_measure(taught, asked, taxonomy_json, options);
}

Result<std::vector<Part>> measure_left_out(std::span<const Question> questions,
                                           const std::string& taxonomy_json, const TrainOptions& options,
                                           const std::function<void(const Part&)>& progress) {
    std::set<std::string> benchmarks;
    for (const Question& question : questions) {
        if (question.class_id && question.benchmark != kOwnBenchmark) benchmarks.insert(question.benchmark);
    }
    std::vector<Part> parts;
    for (const std::string& benchmark : benchmarks) {
        std::vector<Question> taught;
        std::vector<Question> asked;
        for (const Question& question : questions) {
            (question.benchmark == benchmark ? asked : taught).push_back(question);
        }
        CLASP_ASSIGN_OR_RETURN(Agreement agreement, fit_and_measure(taught, asked, taxonomy_json, options));
        parts.push_back({benchmark, std::move(agreement)});
        if (progress) progress(parts.back());
    }
    return parts;
}

}  // namespace clasp::route
