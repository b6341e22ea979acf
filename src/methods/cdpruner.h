// CDPruner: the most probable set of a determinantal point process whose kernel joins how different tokens
// are with how relevant each is to the question.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "clasp/status.h"
#include "methods/plan.h"

namespace clasp::methods {

struct CdprunerOptions {
    // Sharpens or softens relevance r to exp(a * r) with a = weight / (2 * (1 - weight)), 0 to below 1; none
    // takes r as it is.
    std::optional<double> relevance_weight;
};

// Mean cosine of each token to the text vectors, times sign. The authors take CLIP's joint space with sign
// -1 (there the relevant patches are the least similar); the language model's own embeddings need +1.
// Errors: InvalidArgument for different widths, no text, NaN or infinity.
Result<std::vector<float>> cdpruner_relevance(const FeatureView& tokens, const FeatureView& text, float sign);

// gram: cosines of the projected tokens; relevance: one number per token, any scale. Keeps exactly keep
// tokens in raster order, all of them when keep covers them. Once every token left lies in the span of the
// chosen ones, up to single precision, the most relevant follow. Costs keep * keep * rows / 2
// multiplications.
Result<Plan> cdpruner(const GramView& gram, std::span<const float> relevance, std::size_t keep,
                      const CdprunerOptions& options);

}  // namespace clasp::methods
