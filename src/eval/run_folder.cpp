#include "eval/run_folder.h"

#include <set>

#include "base/file.h"
#include "base/json.h"
#include "base/sha256.h"
#include "base/text.h"

namespace clasp::eval {

namespace {

using base::Json;

constexpr int kRunVersion = 1;
constexpr std::size_t kMaxBytes = std::size_t{16} << 20U;

std::string run_path(const std::string& folder) {
    return folder + "/run.json";
}

Json as_json(const RowSpec& row) {
    return {{"label", row.label},
            {"method", row.method},
            {"budget", row.budget},
            {"variant", row.variant},
            {"policy_name", row.policy_name},
            {"policy_hash", row.policy_hash},
            {"budget_kind", row.budget_kind}};
}

Status not_a_run() {
    return {Code::Corrupt, "not the description of a run"};
}

Result<RowSpec> parse_row(const Json& json) {
    RowSpec row;
    const bool is_row = json["label"].get_to(row.label) && json["method"].get_to(row.method) &&
                        json["budget"].get_to(row.budget) && json["variant"].get_to(row.variant) &&
                        json["policy_name"].get_to(row.policy_name) &&
                        json["policy_hash"].get_to(row.policy_hash) &&
                        json["budget_kind"].get_to(row.budget_kind);
    if (!is_row) return not_a_run();
    return row;
}

Status differs(const std::string& what, const std::string& a, const std::string& b) {
    return {Code::InvalidArgument, "the runs do not belong together: " + what + " " + base::in_quotes(a) +
                                       " here, " + base::in_quotes(b) + " there"};
}

}  // namespace

std::string to_json(const RunDescription& run) {
    Json json = {{"clasp_run", kRunVersion},
                 {"benchmark", run.benchmark},
                 {"data", run.data},
                 {"split", run.split},
                 {"data_hash", run.data_hash},
                 {"model", run.model},
                 {"model_hash", run.model_hash},
                 {"limit", run.limit},
                 {"max_tokens", run.max_tokens},
                 {"shard", {run.shard.index, run.shard.count}},
                 {"ablation", run.ablation},
                 {"methods", run.methods},
                 {"class_names", run.class_names},
                 {"rows", Json::array()}};
    for (const RowSpec& row : run.rows) json["rows"].push_back(as_json(row));
    json["unasked"] = Json::array();
    for (const Unasked& entry : run.unasked) {
        json["unasked"].push_back({{"question_id", entry.item}, {"reason", entry.reason}});
    }
    return base::dump_json(json, 2) + "\n";
}

Result<RunDescription> parse_run(std::string_view text) {
    CLASP_ASSIGN_OR_RETURN(const Json json, base::parse_json(text, {.max_bytes = kMaxBytes}));
    if (!json.contains("clasp_run")) return not_a_run();
    if (json["clasp_run"] != kRunVersion) {
        return Status(Code::Unsupported, "this run was described by another version");
    }
    RunDescription run;
    const bool is_run = json["benchmark"].get_to(run.benchmark) && json["data"].get_to(run.data) &&
                        json["split"].get_to(run.split) && json["data_hash"].get_to(run.data_hash) &&
                        json["model"].get_to(run.model) && json["model_hash"].get_to(run.model_hash) &&
                        json["limit"].get_to(run.limit) && json["max_tokens"].get_to(run.max_tokens) &&
                        json["shard"][0].get_to(run.shard.index) &&
                        json["shard"][1].get_to(run.shard.count) && json["ablation"].get_to(run.ablation) &&
                        json["methods"].get_to(run.methods) && json["class_names"].get_to(run.class_names) &&
                        json["rows"].is_array() && json["unasked"].is_array();
    if (!is_run) return not_a_run();
    for (const Json& entry : json["rows"]) {
        CLASP_ASSIGN_OR_RETURN(RowSpec row, parse_row(entry));
        run.rows.push_back(std::move(row));
    }
    for (const Json& entry : json["unasked"]) {
        Unasked& unasked = run.unasked.emplace_back();
        if (!entry["question_id"].get_to(unasked.item) || !entry["reason"].get_to(unasked.reason)) {
            return not_a_run();
        }
    }
    return run;
}

std::string results_path(const std::string& folder) {
    return folder + "/" + std::string(kResultsName);
}

Result<RunDescription> read_run(const std::string& folder) {
    CLASP_ASSIGN_OR_RETURN(const std::string text, base::read_file(run_path(folder), kMaxBytes));
    auto run = parse_run(text);
    if (!run) return run.status().with_context(base::path_in_quotes(run_path(folder)));
    return run;
}

Status write_run(const std::string& folder, const RunDescription& run) {
    const std::string text = to_json(run);
    if (text.size() > kMaxBytes) {
        return {Code::TooLarge, base::path_in_quotes(run_path(folder)) + " would have " +
                                    std::to_string(text.size()) + " bytes, more than the limit of " +
                                    std::to_string(kMaxBytes)};
    }
    return base::write_file_atomic(run_path(folder), text);
}

Status check_same_run(const RunDescription& a, const RunDescription& b) {
    if (a.benchmark != b.benchmark) return differs("benchmark", a.benchmark, b.benchmark);
    if (a.data_hash != b.data_hash) return differs("questions", a.data_hash, b.data_hash);
    if (a.model_hash != b.model_hash) return differs("model", a.model_hash, b.model_hash);
    if (a.max_tokens != b.max_tokens) {
        return differs("longest answer", std::to_string(a.max_tokens), std::to_string(b.max_tokens));
    }
    return ok_status();
}

Status check_complete(const RunDescription& run, const Dataset& dataset, const RecordTable& records) {
    std::set<std::string_view> unasked;
    for (const Unasked& entry : run.unasked) unasked.insert(entry.item);
    for (const RowSpec& row : run.rows) {
        const auto answers = records.find(row.variant);
        std::size_t n_missing = 0;
        std::string first;
        for (const Item& item : dataset.items) {
            const bool is_there = answers != records.end() && answers->second.contains(item.id);
            if (is_there || unasked.contains(item.id)) continue;
            if (n_missing++ == 0) first = item.id;
        }
        if (n_missing == 0) continue;
        return {
            Code::InvalidArgument,
            base::in_quotes(row.label) + " at budget " + row.budget + " has no answer to " +
                std::to_string(n_missing) + " of " + std::to_string(dataset.items.size()) +
                " questions (the first is " + base::in_quotes(first) +
                "); give all shards, finish the run with --resume, or count them as wrong with --partial"};
    }
    return ok_status();
}

std::string dataset_hash(const Dataset& dataset) {
    base::Sha256 hash;
    const auto add = [&hash](std::string_view text) {
        hash.update(text);
        hash.update(std::string_view("\0", 1));
    };
    add(dataset.benchmark);
    for (const Item& item : dataset.items) {
        add(item.id);
        // Where a folder stands does not matter, what the picture is called does.
        add(item.image.substr(item.image.find_last_of('/') + 1));
        add(item.question);
        add(item.prompt);
        for (const std::string& answer : item.answers) add(answer);
        for (const std::string& option : item.options) add(option);
    }
    return base::to_hex(hash.finish());
}

}  // namespace clasp::eval
