#include "request/json_request.h"

#include <algorithm>
#include <vector>

#include "base/invalid.h"
#include "base/suggest.h"
#include "base/text.h"

namespace clasp::request {

namespace {

using base::invalid;

Status set_one(const Row& row, const base::Json& json, Settings& settings) {
    CLASP_ASSIGN_OR_RETURN(const Value value, read_json(row.option, row.key, json, row.takes_number));
    return row.set(settings, value);
}

// One text, a list of texts, or an object whose members are "name=value".
Status set_repeated(const Row& row, const base::Json& json, Settings& settings) {
    if (json.is_array()) {
        for (const base::Json& element : json) CLASP_RETURN_IF_ERROR(set_one(row, element, settings));
        return ok_status();
    }
    if (!json.is_object()) return set_one(row, json, settings);
    for (const base::JsonMember& member : json.items()) {
        const std::string* text = member.value.as_string();
        if (text == nullptr && !member.value.is_number() && !member.value.is_boolean()) {
            return invalid(row.key + "." + base::escaped(member.key, 64) +
                           " takes a text, a number, true or false");
        }
        const std::string value = text != nullptr ? *text : base::dump_json(member.value);
        CLASP_RETURN_IF_ERROR(set_one(row, member.key + "=" + value, settings));
    }
    return ok_status();
}

Status check_keys(const base::Json& object, const std::vector<std::string_view>& keys) {
    for (const base::JsonMember& member : object.items()) {
        if (std::find(keys.begin(), keys.end(), member.key) != keys.end()) continue;
        return invalid("there is no option " + base::in_quotes(member.key) +
                       base::did_you_mean(member.key, keys) + "; there are " + base::join(keys));
    }
    return ok_status();
}

}  // namespace

Status read_options(const base::Json& object, std::span<const Scope> scopes,
                    std::span<const std::string_view> also_known, Settings& settings) {
    if (!object.is_object()) return invalid("the options of a request are an object");
    settings.may_read_files = false;
    std::vector<const Row*> rows;
    std::vector<std::string_view> keys;
    for (const Row& row : option_table()) {
        if (std::find(scopes.begin(), scopes.end(), row.scope) == scopes.end()) continue;
        rows.push_back(&row);
        keys.emplace_back(row.key);
    }
    keys.insert(keys.end(), also_known.begin(), also_known.end());
    CLASP_RETURN_IF_ERROR(check_keys(object, keys));
    for (const Row* row : rows) {
        const base::Json* json = object.find(row->key);
        if (json == nullptr) continue;
        CLASP_RETURN_IF_ERROR(row->option.is_repeatable ? set_repeated(*row, *json, settings)
                                                        : set_one(*row, *json, settings));
        settings.given.emplace(row->option.name);
    }
    return ok_status();
}

}  // namespace clasp::request
