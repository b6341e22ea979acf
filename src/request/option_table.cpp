#include "request/option_table.h"

#include <algorithm>

#include "base/check.h"
#include "base/suggest.h"
#include "base/text.h"
#include "request/option_rows.h"

namespace clasp::request {

namespace {

std::string with_underscores(std::string_view name) {
    std::string text(name);
    std::replace(text.begin(), text.end(), '-', '_');
    return text;
}

}  // namespace

std::span<const Row> option_table() {
    static const std::vector<Row> kTable = [] {
        std::vector<Row> table;
        for (const auto& rows : {model_rows(), asking_rows(), detail_rows(), clip_rows(), history_rows(),
                                 router_rows(), generation_rows(), time_rows(), engine_rows()}) {
            table.insert(table.end(), rows.begin(), rows.end());
        }
        for (Row& row : table) {
            if (row.key.empty()) row.key = with_underscores(row.option.name);
        }
        return table;
    }();
    return kTable;
}

const Row* find_row(std::string_view name) {
    for (const Row& row : option_table()) {
        if (row.option.name == name) return &row;
    }
    return nullptr;
}

std::vector<Option> options_of(Scope scope) {
    std::vector<Option> options;
    for (const Row& row : option_table()) {
        if (row.scope == scope) options.push_back(row.option);
    }
    return options;
}

std::vector<Option> options_about(About about) {
    std::vector<Option> options;
    for (const Row& row : option_table()) {
        if (row.about == about) options.push_back(row.option);
    }
    return options;
}

Option option_named(std::string_view name) {
    const Row* row = find_row(name);
    CLASP_CHECK(row != nullptr);
    return row->option;
}

std::string spelled(std::string_view name, Caller caller) {
    if (caller == Caller::CommandLine) return "--" + std::string(name);
    const Row* row = find_row(name);
    return row != nullptr ? row->key : with_underscores(name);
}

Settings default_settings() {
    Settings settings;
    for (const Row& row : option_table()) {
        if (row.option.fallback.empty()) continue;
        const auto value = read_text(row.option, row.option.name, row.option.fallback);
        CLASP_CHECK(value.ok());
        CLASP_CHECK(row.set(settings, *value).ok());
    }
    return settings;
}

Status set_option(Settings& settings, std::span<const Scope> scopes, std::string_view key,
                  std::string_view text) {
    std::vector<std::string_view> keys;
    for (const Row& row : option_table()) {
        if (std::find(scopes.begin(), scopes.end(), row.scope) == scopes.end()) continue;
        keys.emplace_back(row.key);
        if (row.key != key) continue;
        CLASP_ASSIGN_OR_RETURN(const Value value, read_text(row.option, row.key, text));
        CLASP_RETURN_IF_ERROR(row.set(settings, value));
        settings.given.emplace(row.option.name);
        return ok_status();
    }
    return {Code::NotFound, "there is no option " + base::in_quotes(key) + base::did_you_mean(key, keys) +
                                "; there are " + base::join(keys)};
}

}  // namespace clasp::request
