#include "base/json.h"
#include "eval/summary.h"

namespace clasp::eval {

namespace {

using base::Json;

Json as_json(const Interval& interval) {
    return Json::array({interval.low, interval.high});
}

Json as_json(const Row& row) {
    Json json = {{"method", row.method},
                 {"budget", row.budget},
                 {"score", row.score},
                 {"relative", base::or_null(row.relative)},
                 {"loyalty", base::or_null(row.loyalty)},
                 {"ci95", as_json(row.ci95)}};
    json["relative_ci95"] = row.relative_ci95 ? as_json(*row.relative_ci95) : Json(nullptr);
    json["per_class"] = Json::object();
    json["per_class_n"] = Json::object();
    for (const ClassScore& entry : row.per_class) {
        json["per_class"][entry.name] = entry.score;
        json["per_class_n"][entry.name] = entry.n;
    }
    json["metrics"] = Json::object();
    for (const Metric& metric : row.metrics) json["metrics"][metric.name] = metric.value;
    json["answered"] = row.n_answered;
    json["stopped_at_limit"] = row.n_stopped_at_limit;
    json["average_tokens"] = row.average_tokens;
    json["seconds"] = row.prefill_seconds + row.decode_seconds;
    json["prefill_seconds"] = row.prefill_seconds;
    json["decode_seconds"] = row.decode_seconds;
    json["encode_seconds"] = base::or_null(row.encode_seconds);
    json["label"] = row.label;
    json["policy"] = {{"name", row.policy_name}, {"hash", row.policy_hash}};
    json["variant"] = row.variant;
    return json;
}

Json as_json(const Comparison& comparison) {
    const PairedComparison& result = comparison.result;
    return {{"budget", comparison.budget},
            {"a", comparison.a},
            {"b", comparison.b},
            {"difference", result.difference},
            {"ci95", as_json(result.interval)},
            {"only_a_right", result.test.only_a},
            {"only_b_right", result.test.only_b},
            {"mcnemar_p", result.test.p_value},
            {"separable", result.is_separable}};
}

Json as_json(const std::vector<Unasked>& unasked) {
    Json list = Json::array();
    for (const Unasked& entry : unasked) {
        list.push_back({{"question_id", entry.item}, {"reason", entry.reason}});
    }
    return list;
}

}  // namespace

Json summary_json(const Summary& summary, const std::vector<std::string>& methods) {
    Json json = {{"benchmark", summary.benchmark},
                 {"title", summary.title},
                 {"metric", summary.headline},
                 {"scale", summary.scale},
                 {"split", summary.split},
                 {"model", summary.model},
                 {"questions", summary.n_questions},
                 {"pictures", summary.n_pictures},
                 {"encode_seconds", summary.encode_seconds}};
    json["rows"] = Json::array();
    for (const Row& row : summary.rows) {
        Json entry = as_json(row);
        if (row.budget != "none" || methods.empty()) json["rows"].push_back(entry);
        for (const std::string& method : methods) {
            if (row.budget != "none") break;
            entry["method"] = method;
            json["rows"].push_back(entry);
        }
    }
    json["comparisons"] = Json::array();
    for (const Comparison& comparison : summary.comparisons)
        json["comparisons"].push_back(as_json(comparison));
    json["missing_images"] = summary.missing_images.size();
    json["missing"] = as_json(summary.missing_images);
    json["without_picture"] = summary.without_picture.size();
    json["notes"] = summary.notes;
    return json;
}

}  // namespace clasp::eval
