#include "request/answer_json.h"

#include <algorithm>
#include <vector>

namespace clasp::request {

using base::Json;

namespace {

Json history_json(const HistoryReport& history) {
    Json json = {{"did", history_mode_name(history.did)},
                 {"tokens", history.n_tokens},
                 {"front_tokens", history.n_front_tokens}};
    if (history.missed) json["missed"] = *history.missed;
    return json;
}

Json unpruned_json(const UnprunedTime& unpruned) {
    return {{"first_token_ms", unpruned.first_token_ms},
            {"basis", unpruned.is_measured ? "measured" : "estimate"}};
}

}  // namespace

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

namespace {

// Kept at the last stage, per step of a clip; empty when nothing was pruned.
std::vector<std::size_t> kept_per_step(const Answer& answer, const ClipReport& clip) {
    if (answer.stages.empty()) return {};
    std::size_t first = 0;
    for (std::size_t i = 0; i < clip.image; ++i) first += answer.layouts[i].n_tokens();
    const ImageLayout& layout = answer.layouts[clip.image];
    std::vector<std::size_t> counts(layout.n_steps, 0);
    for (const TokenRegion& region : layout.regions) {
        const std::size_t end = first + region.n_tokens();
        const auto& kept = answer.stages.back().kept;
        counts[region.step] += static_cast<std::size_t>(std::count_if(
            kept.begin(), kept.end(), [&](TokenIndex token) { return token >= first && token < end; }));
        first = end;
    }
    return counts;
}

Json clip_json(const Answer& answer, const ClipReport& clip) {
    const ImageLayout& layout = answer.layouts[clip.image];
    return {{"frames", clip.frames},
            {"seconds", clip.seconds},
            {"steps", layout.n_steps},
            {"grid", {{"rows", layout.grid.height}, {"columns", layout.grid.width}}},
            {"kept_per_step", kept_per_step(answer, clip)},
            {"total_frames", clip.n_frames},
            {"duration", clip.duration_s},
            {"fps", clip.fps}};
}

}  // namespace

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
    Json json = {{"answer", answer.text},
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
                 {"history", history_json(answer.history)},
                 {"notes", answer.notes}};
    if (!answer.clips.empty()) json["video"] = clip_json(answer, answer.clips.front());
    if (answer.clips.size() > 1) {
        for (const ClipReport& clip : answer.clips) json["videos"].push_back(clip_json(answer, clip));
    }
    if (answer.unpruned) json["unpruned"] = unpruned_json(*answer.unpruned);
    return json;
}

}  // namespace clasp::request
