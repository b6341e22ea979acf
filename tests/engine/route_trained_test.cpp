// The language-model router with a trained model, where scripts/fetch-tinyllama has put it or
// CLASP_ROUTER_MODEL names another.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string>

#include "clasp/route.h"
#include "clasp/route_llm.h"
#include "support/trained_model.h"

namespace clasp {
namespace {

std::string trained_model() {
    if (const char* named = std::getenv("CLASP_ROUTER_MODEL")) return named;
    return test::tinyllama_path();
}

TEST(TrainedLlmRouter, ActsOnItsLargestScore) {
    const std::string file = trained_model();
    if (!std::filesystem::exists(file)) {
        GTEST_SKIP() << "no trained model at '" << file
                     << "': run scripts/fetch-tinyllama or name one in CLASP_ROUTER_MODEL";
    }
    LlmRouterOptions model;
    model.model = file;
    model.timeout_ms = 600000.0;
    auto chooser = load_llm_router(model);
    ASSERT_TRUE(chooser.ok()) << chooser.status().message();
    RouterOptions options;
    options.kind = RouterKind::Llm;
    options.chooser = std::move(chooser).value();
    // As users have it: what the model is not sure of goes on to the classifier.
    const RouteDecision breed = Router::create(options)->route("What breed is the dog?");
    EXPECT_EQ(breed.class_name, "Attribute / breed identification") << breed.reason;
    options.threshold = 0.0F;
    const auto router = Router::create(options);
    ASSERT_TRUE(router.ok());
    for (const char* question : {"What breed is the dog?", "Is the tower tall?"}) {
        const RouteDecision decision = router->route(question);
        EXPECT_EQ(decision.by, RoutedBy::Llm) << decision.reason;
        EXPECT_NEAR(std::accumulate(decision.scores.begin(), decision.scores.end(), 0.0F), 1.0F, 1e-4F);
        const auto best = std::max_element(decision.scores.begin(), decision.scores.end());
        EXPECT_EQ(router->classes()[static_cast<std::size_t>(best - decision.scores.begin())].id,
                  decision.class_id);
        EXPECT_EQ(decision.confidence, *best);
    }
}

}  // namespace
}  // namespace clasp
