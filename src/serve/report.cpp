#include "serve/report.h"

#include <algorithm>

#include "base/sha256.h"
#include "request/answer_json.h"

namespace clasp::serve {

namespace {

using base::Json;

constexpr int kVersion = 1;

double rate(double n, double ms) {
    return n > 0.0 && ms > 0.0 ? 1000.0 * n / ms : 0.0;
}

double share(double ms, double n) {
    return n > 0.0 ? ms / n : 0.0;
}

// llama-server's meaning: what was there from before is no part of what was read.
std::size_t n_read(const PlannedRequest& planned, std::size_t n_cached) {
    return planned.n_prompt - std::min(planned.n_prompt, n_cached);
}

struct ServerTimes {
    std::size_t n_cached = 0;
    std::size_t n_read = 0;
    double prompt_ms = 0.0;
    std::size_t n_written = 0;
    double predicted_ms = 0.0;
};

Json timings_json(const ServerTimes& times) {
    const auto n_prompt = static_cast<double>(times.n_read);
    const double n_steps = times.n_written > 1 ? static_cast<double>(times.n_written - 1) : 0.0;
    return {{"cache_n", times.n_cached},
            {"prompt_n", times.n_read},
            {"prompt_ms", times.prompt_ms},
            {"prompt_per_token_ms", share(times.prompt_ms, n_prompt)},
            {"prompt_per_second", rate(n_prompt, times.prompt_ms)},
            {"predicted_n", times.n_written},
            {"predicted_ms", times.predicted_ms},
            {"predicted_per_token_ms", share(times.predicted_ms, n_steps)},
            {"predicted_per_second", rate(n_steps, times.predicted_ms)}};
}

// [left, top, right, bottom] in pixels of the picture.
Json area_json(const PixelRect& area) {
    return Json::array({area.left, area.top, area.left + area.width, area.top + area.height});
}

PixelRect around(const std::vector<TokenRegion>& regions) {
    if (regions.empty()) return {};
    double left = regions.front().area.left;
    double top = regions.front().area.top;
    double right = left;
    double bottom = top;
    for (const TokenRegion& region : regions) {
        left = std::min(left, region.area.left);
        top = std::min(top, region.area.top);
        right = std::max(right, region.area.left + region.area.width);
        bottom = std::max(bottom, region.area.top + region.area.height);
    }
    return {left, top, right - left, bottom - top};
}

Json grid_json(const Grid& grid) {
    return Json::array({grid.width, grid.height});
}

Json images_json(const Answer& answer, const ReportContext& context) {
    Json images = Json::array();
    std::size_t offset = 0;
    for (std::size_t i = 0; i < answer.layouts.size(); ++i) {
        const ImageLayout& layout = answer.layouts[i];
        Json image = {{"width", layout.picture.width},  {"height", layout.picture.height},
                      {"grid", grid_json(layout.grid)}, {"offset", offset},
                      {"tokens", layout.n_tokens()},    {"area", area_json(around(layout.regions))}};
        if (layout.regions.size() > 1 || layout.regions.front().has_class) {
            Json regions = Json::array();
            for (const TokenRegion& region : layout.regions) {
                Json entry = {{"grid", grid_json(region.grid)},
                              {"area", area_json(region.area)},
                              {"view", region.view}};
                if (region.has_breaks) entry["breaks"] = true;
                if (region.has_class) entry["class_row"] = true;
                regions.push_back(std::move(entry));
            }
            image["regions"] = std::move(regions);
        }
        if (i < context.picture_hashes.size()) image["sha256"] = context.picture_hashes[i];
        images.push_back(std::move(image));
        offset += layout.n_tokens();
    }
    return images;
}

// Here `kept` is the list of the tokens; the command line's JSON has their number under that name.
Json stages_json(const Answer& answer, MapKind map) {
    Json stages = Json::array();
    for (std::size_t i = 0; i < answer.stages.size(); ++i) {
        if (map == MapKind::Final && i + 1 < answer.stages.size()) continue;
        const StageReport& stage = answer.stages[i];
        stages.push_back({{"site", stage.site},
                          {"layer", stage.layer},
                          {"when", stage_mode_name(stage.when)},
                          {"kept", stage.kept},
                          {"pivots", stage.pivots},
                          {"coverage", stage.coverage},
                          {"merged", stage.merged}});
    }
    return stages;
}

std::string_view cache_word(const Answer& answer) {
    if (!answer.cache_hit) return "off";
    return *answer.cache_hit ? "hit" : "miss";
}

}  // namespace

Json usage_json(const PlannedRequest& planned, const std::vector<const Answer*>& answers) {
    std::size_t generated = 0;
    for (const Answer* answer : answers) generated += answer->generated;
    return {{"prompt_tokens", planned.n_prompt},
            {"completion_tokens", generated},
            {"total_tokens", planned.n_prompt + generated},
            {"prompt_tokens_details",
             {{"cached_tokens", answers.front()->history.n_tokens}, {"image_tokens", planned.n_visual}}}};
}

Json server_timings_json(const PlannedRequest& planned, const Answer& answer) {
    Json json = timings_json({.n_cached = answer.history.n_tokens,
                              .n_read = n_read(planned, answer.history.n_tokens),
                              .prompt_ms = answer.timings.first_token_ms,
                              .n_written = answer.generated,
                              .predicted_ms = answer.timings.decode_ms});
    json["visual_n"] = answer.tokens.visual;
    json["visual_kept_n"] = answer.tokens.final;
    json["visual_average"] = answer.tokens.average;
    json["encode_ms"] = answer.timings.encode_ms;
    return json;
}

Json timings_so_far(const PlannedRequest& planned, const TokenLog& tokens) {
    const TokenLog::Times times = tokens.times();
    return timings_json({.n_cached = times.n_reused,
                         .n_read = n_read(planned, times.n_reused),
                         .prompt_ms = times.prompt_ms,
                         .n_written = times.n_written,
                         .predicted_ms = times.predicted_ms});
}

Json prompt_progress_json(const PlannedRequest& planned, const TokenLog& tokens, const Progress& progress) {
    const std::size_t n_cached = tokens.times().n_reused;
    const double share = progress.total > 0.0 ? progress.done / progress.total : 1.0;
    const bool is_reading = progress.phase == Progress::Phase::Prefill;
    const double n_read_now = is_reading ? share * static_cast<double>(n_read(planned, n_cached)) : 0.0;
    return {{"total", planned.n_prompt},
            {"cache", n_cached},
            {"processed", n_cached + static_cast<std::size_t>(n_read_now)},
            {"time_ms", static_cast<std::int64_t>(tokens.elapsed_ms())}};
}

Json timings_of_progress(const Json& prompt_progress) {
    const auto number = [&](const char* name) {
        return prompt_progress[name].get<std::size_t>().value_or(0);
    };
    const std::size_t n = number("processed") - number("cache");
    const double ms = n > 0 ? static_cast<double>(number("time_ms")) : 0.0;
    return timings_json({.n_cached = number("cache"), .n_read = n, .prompt_ms = ms});
}

ReportContext report_context(const ChatRequest& chat) {
    ReportContext context;
    context.budget_by = chat.budget_by;
    context.budget_kind = chat.ask.budget_kind;
    context.compat = chat.ask.compat == Compat::Original ? "original" : "llama.cpp";
    context.map = chat.map;
    if (chat.map != MapKind::None) {
        for (const std::string& picture : chat.pictures) {
            context.picture_hashes.push_back(base::sha256_hex(picture));
        }
    }
    return context;
}

Json clasp_json(const Answer& answer, double queue_ms, const ReportContext& context) {
    const Json whole = request::answer_json(answer, {});
    Json json = {{"version", kVersion}};
    for (const char* name : {"tokens", "class", "mix", "split"}) json[name] = whole[name];
    Json budget = whole["budget"];
    budget["kind"] = context.budget_kind;
    budget["by"] = context.budget_by;
    json["budget"] = std::move(budget);
    for (const char* name : {"method", "label", "mass", "policy", "positions"}) json[name] = whole[name];
    json["compat"] = context.compat;
    json["cache"] = {{"features", cache_word(answer)},
                     {"prefix_tokens", answer.history.n_tokens},
                     {"front_tokens", answer.history.n_front_tokens}};
    json["history"] = history_mode_name(answer.history.did);
    if (answer.history.missed) json["history_missed"] = *answer.history.missed;
    json["kv_bytes"] = answer.kv_bytes;
    Json timings = {{"queue", queue_ms}};
    for (const base::JsonMember& member : whole["timings_ms"].items()) timings[member.key] = member.value;
    json["timings_ms"] = std::move(timings);
    if (answer.unpruned) json["unpruned"] = whole["unpruned"];
    json["notes"] = whole["notes"];
    if (context.map != MapKind::None) {
        json["images"] = images_json(answer, context);
        json["stages"] = stages_json(answer, context.map);
    }
    return json;
}

std::string_view finish_reason(const Answer& answer) {
    return answer.stopped == Stopped::End || answer.stopped == Stopped::StopText ? "stop" : "length";
}

}  // namespace clasp::serve
