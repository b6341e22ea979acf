#include "request/route_json.h"

#include <cmath>

namespace clasp::request {

double rounded_share(float value) {
    return std::round(static_cast<double>(value) * 1e6) / 1e6;
}

base::Json route_json(const RouteDecision& decision, const Router& router) {
    base::Json scores = base::Json::object();
    for (std::size_t i = 0; i < decision.scores.size(); ++i) {
        scores[router.classes()[i].name] = rounded_share(decision.scores[i]);
    }
    base::Json json = {
        {"id", decision.class_id},           {"name", decision.class_name},
        {"intent", decision.intent},         {"confidence", rounded_share(decision.confidence)},
        {"by", routed_by_name(decision.by)}, {"scores", scores}};
    if (!decision.reason.empty()) json["reason"] = decision.reason;
    return json;
}

}  // namespace clasp::request
