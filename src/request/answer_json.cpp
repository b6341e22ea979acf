#include "request/answer_json.h"

namespace clasp::request {

using base::Json;

Json timings_json(const AskTimings& timings) {
    return {{"route", timings.route_ms},
            {"image", timings.image_ms},
            {"encode", timings.encode_ms},
            {"fuse", timings.fuse_ms},
            {"project", timings.project_ms},
            {"gram", timings.gram_ms},
            {"select", timings.select_ms},
            {"prefill", timings.prefill_ms},
            {"first_token", timings.first_token_ms},
            {"decode", timings.decode_ms},
            {"total", timings.total_ms}};
}

Json answer_json(const Answer& answer, const std::string& model_name) {
    Json mix = Json::object();
    for (const LayerWeight& entry : answer.mix) mix[std::to_string(entry.layer)] = entry.weight;
    Json stages = Json::array();
    for (const StageReport& stage : answer.stages) {
        stages.push_back({{"site", stage.site},
                          {"layer", stage.layer},
                          {"when", stage_mode_name(stage.when)},
                          {"kept", stage.kept.size() + stage.n_class_tokens},
                          {"pivots", stage.pivots},
                          {"coverage", stage.coverage},
                          {"merged", stage.merged},
                          {"class_tokens", stage.n_class_tokens},
                          {"tokens", stage.kept}});
    }
    Json grids = Json::array();
    for (const ImageLayout& layout : answer.layouts) {
        grids.push_back({{"rows", layout.grid.height}, {"columns", layout.grid.width}});
    }
    return {{"answer", answer.text},
            {"class",
             {{"id", answer.chosen_class.id},
              {"name", answer.chosen_class.name},
              {"confidence", answer.chosen_class.confidence},
              {"by", answer.chosen_class.by}}},
            {"mix", mix},
            {"split", answer.split},
            {"tokens",
             {{"visual", answer.tokens.visual},
              {"text", answer.tokens.text},
              {"entering", answer.tokens.entering},
              {"final", answer.tokens.final},
              {"average", answer.tokens.average}}},
            {"budget",
             {{"asked", answer.budget.asked},
              {"decided", answer.budget.decided},
              {"reason", answer.budget.reason}}},
            {"stages", stages},
            {"grids", grids},
            {"timings_ms", timings_json(answer.timings)},
            {"generated", answer.generated},
            {"stopped", stopped_name(answer.stopped)},
            {"kv_bytes", answer.kv_bytes},
            {"model", model_name},
            {"policy", {{"name", answer.policy_name}, {"hash", answer.policy_hash}}},
            {"method", answer.method},
            {"label", answer.label},
            {"mass", mass_name(answer.mass)},
            {"positions", answer.positions},
            {"notes", answer.notes}};
}

}  // namespace clasp::request
