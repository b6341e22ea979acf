// Anything a stranger can hand to the router: a question, a taxonomy file, a trained classifier, a
// file of labelled questions. The first byte chooses.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "clasp/route.h"
#include "route/dataset.h"
#include "route/model.h"
#include "route/pattern.h"
#include "route/taxonomy.h"

namespace {

void expect(bool condition) {
    if (!condition) std::abort();
}

void check(const clasp::RouteDecision& decision, const clasp::Router& router) {
    float sum = 0.0f;
    for (const float score : decision.scores) {
        expect(std::isfinite(score) && score >= 0.0f);
        sum += score;
    }
    expect(std::abs(sum - 1.0f) < 1e-3f);
    expect(decision.confidence >= 0.0f && decision.confidence <= 1.0f);
    expect(router.forced(std::to_string(decision.class_id)).ok());
}

void fuzz_question(std::string_view text) {
    static const clasp::Router router = *clasp::Router::create();
    check(router.route(text), router);
    const clasp::RouteExplanation explanation = router.explain(text);
    expect(explanation.evidence.size() <= 12);
}

void fuzz_taxonomy(std::string_view text) {
    const auto taxonomy = clasp::route::Taxonomy::parse(text);
    // Training on a fuzzer's examples would only measure the trainer's speed.
    if (!taxonomy || taxonomy->examples.size() > 4) return;
    clasp::RouterOptions options;
    options.taxonomy_json = text;
    const auto router = clasp::Router::create(options);
    if (router) check(router->route("How many of them are red?"), *router);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
    switch (data[0] % 8) {
        case 0: fuzz_taxonomy(rest); break;
        case 1: (void)clasp::route::Model::load(rest, clasp::route::Lexicon::builtin()); break;
        case 2: (void)clasp::route::parse_questions(rest); break;
        case 3: (void)clasp::route::Pattern::parse(rest); break;
        default: fuzz_question(rest); break;
    }
    return 0;
}
