#include "eval/run_folder.h"

#include "base/file.h"
#include "base/json.h"
#include "base/sha256.h"
#include "base/text.h"

namespace clasp::eval {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kRunVersion = 1;
constexpr std::size_t kMaxBytes = std::size_t{16} << 20U;

std::string run_path(const std::string& folder) {
    return folder + "/run.json";
}

Json as_json(const RowSpec& row) {
    return {{"label", row.label},     {"method", row.method},           {"budget", row.budget},
            {"variant", row.variant}, {"policy_name", row.policy_name}, {"policy_hash", row.policy_hash}};
}

RowSpec row_from(const nlohmann::json& json) {
    return {json.at("label"),   json.at("method"),      json.at("budget"),
            json.at("variant"), json.at("policy_name"), json.at("policy_hash")};
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
    return base::dump_json(json, 2) + "\n";
}

Result<RunDescription> parse_run(std::string_view text) {
    CLASP_ASSIGN_OR_RETURN(const nlohmann::json json, base::parse_json(text, {.max_bytes = kMaxBytes}));
    RunDescription run;
    try {
        if (json.at("clasp_run") != kRunVersion) {
            return Status(Code::Unsupported, "this run was described by another version");
        }
        json.at("benchmark").get_to(run.benchmark);
        json.at("data").get_to(run.data);
        json.at("split").get_to(run.split);
        json.at("data_hash").get_to(run.data_hash);
        json.at("model").get_to(run.model);
        json.at("model_hash").get_to(run.model_hash);
        json.at("limit").get_to(run.limit);
        json.at("max_tokens").get_to(run.max_tokens);
        json.at("shard").at(0).get_to(run.shard.index);
        json.at("shard").at(1).get_to(run.shard.count);
        json.at("ablation").get_to(run.ablation);
        json.at("methods").get_to(run.methods);
        json.at("class_names").get_to(run.class_names);
        for (const nlohmann::json& row : json.at("rows")) run.rows.push_back(row_from(row));
    } catch (const nlohmann::json::exception&) {
        return Status(Code::Corrupt, "not the description of a run");
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
    return base::write_file_atomic(run_path(folder), to_json(run));
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
