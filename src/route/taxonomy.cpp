#include "route/taxonomy.h"

#include <algorithm>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"
#include "route/embedded.h"

namespace clasp::route {

namespace {

using base::Json;

constexpr std::size_t kMaxBytes = 8u << 20u;
constexpr std::size_t kMaxDepth = 8;
constexpr std::size_t kMaxClasses = 256;
constexpr std::size_t kMaxNameBytes = 200;

Status corrupt_taxonomy(const std::string& what) {
    return {Code::Corrupt, "taxonomy: " + what};
}

Result<int> read_id(const Json& object, const char* key, const std::string& where) {
    const Json& value = object[key];
    if (!value.is_number_integer()) return corrupt_taxonomy(where + " has no whole number \"" + key + "\"");
    const auto id = value.get<int>();
    if (!id || *id < 0 || *id > 1000000) {
        return corrupt_taxonomy(where + ": \"" + key + "\" is not between 0 and 1000000");
    }
    return *id;
}

Result<std::string> read_name(const Json& object, const std::string& where) {
    std::string name;
    if (!object["name"].get_to(name)) return corrupt_taxonomy(where + " has no text \"name\"");
    if (name.empty() || name.size() > kMaxNameBytes) {
        return corrupt_taxonomy(where + ": \"name\" is empty or above " + std::to_string(kMaxNameBytes) +
                                " bytes");
    }
    return name;
}

Status read_classes(const Json& json, Taxonomy& taxonomy) {
    const Json& list = json["classes"];
    if (!list.is_array() || list.empty() || list.size() > kMaxClasses) {
        return corrupt_taxonomy("\"classes\" is not a list of 1 to " + std::to_string(kMaxClasses));
    }
    for (const Json& item : list) {
        const std::string where = "class " + std::to_string(taxonomy.classes.size() + 1);
        if (!item.is_object()) return corrupt_taxonomy(where + " is not an object");
        CLASP_ASSIGN_OR_RETURN(const int id, read_id(item, "id", where));
        CLASP_ASSIGN_OR_RETURN(std::string name, read_name(item, where));
        for (const RouteClass& other : taxonomy.classes) {
            if (other.id == id || other.name == name)
                return corrupt_taxonomy(where + " repeats the id or name of another");
        }
        taxonomy.classes.push_back({id, std::move(name)});
    }
    CLASP_ASSIGN_OR_RETURN(taxonomy.default_class, read_id(json, "default", "the file"));
    if (!taxonomy.class_index(taxonomy.default_class)) {
        return corrupt_taxonomy("\"default\" names class " + std::to_string(taxonomy.default_class) +
                                ", which is not there");
    }
    return ok_status();
}

Status read_intents(const Json& json, Taxonomy& taxonomy) {
    if (const Json* const list = json.find("intents")) {
        if (!list->is_array() || list->size() > kMaxClasses) {
            return corrupt_taxonomy("\"intents\" is not a list of at most " + std::to_string(kMaxClasses));
        }
        for (const Json& item : *list) {
            const std::string where = "intent " + std::to_string(taxonomy.intents.size() + 1);
            if (!item.is_object()) return corrupt_taxonomy(where + " is not an object");
            CLASP_ASSIGN_OR_RETURN(std::string name, read_name(item, where));
            CLASP_ASSIGN_OR_RETURN(const int id, read_id(item, "class", where));
            if (!taxonomy.class_index(id))
                return corrupt_taxonomy(where + " names class " + std::to_string(id) +
                                        ", which is not there");
            if (taxonomy.intent_index(name)) return corrupt_taxonomy(where + " repeats the name of another");
            const std::string* const description = item["description"].as_string();
            taxonomy.intents.push_back({std::move(name), id, description != nullptr ? *description : ""});
        }
    }
    for (const RouteClass& c : taxonomy.classes) {
        const bool served = std::any_of(taxonomy.intents.begin(), taxonomy.intents.end(),
                                        [&](const RouteIntent& intent) { return intent.class_id == c.id; });
        if (served) continue;
        if (taxonomy.intent_index(c.name))
            return corrupt_taxonomy("an intent of another class is called " + base::in_quotes(c.name));
        taxonomy.intents.push_back({c.name, c.id, ""});
    }
    return ok_status();
}

Status read_examples(const Json& json, Taxonomy& taxonomy) {
    const Json* const list = json.find("examples");
    if (list == nullptr) return ok_status();
    if (!list->is_array()) return corrupt_taxonomy("\"examples\" is not a list");
    std::string lines;
    for (const Json& item : *list) lines += base::dump_json(item) + "\n";
    auto examples = parse_questions(lines);
    if (!examples) return corrupt_taxonomy("examples, " + examples.status().message());
    taxonomy.examples = std::move(examples).value();
    for (std::size_t i = 0; i < taxonomy.examples.size(); ++i) {
        const Question& q = taxonomy.examples[i];
        const std::string where = "example " + std::to_string(i + 1);
        if (q.intent.empty() && !q.class_id)
            return corrupt_taxonomy(where + " has neither \"intent\" nor \"category\"");
        if (!q.intent.empty() && !taxonomy.intent_index(q.intent)) {
            return corrupt_taxonomy(where + ": there is no intent " + base::in_quotes(q.intent));
        }
        if (q.class_id && !taxonomy.class_index(*q.class_id)) {
            return corrupt_taxonomy(where + ": there is no class " + std::to_string(*q.class_id));
        }
    }
    return ok_status();
}

Status read_rules(const Json& json, Taxonomy& taxonomy) {
    const Json* const list = json.find("rules");
    if (list == nullptr) return ok_status();
    CLASP_ASSIGN_OR_RETURN(taxonomy.rules, parse_rules(base::dump_json(*list)));
    for (const Rule& rule : taxonomy.rules) {
        if (!taxonomy.intent_index(rule.intent)) {
            return corrupt_taxonomy("rule " + base::in_quotes(rule.name) + ": there is no intent " +
                                    base::in_quotes(rule.intent));
        }
    }
    return ok_status();
}

}  // namespace

std::optional<std::size_t> Taxonomy::class_index(int id) const {
    for (std::size_t i = 0; i < classes.size(); ++i) {
        if (classes[i].id == id) return i;
    }
    return std::nullopt;
}

std::optional<std::size_t> Taxonomy::intent_index(std::string_view intent) const {
    for (std::size_t i = 0; i < intents.size(); ++i) {
        if (intents[i].name == intent) return i;
    }
    return std::nullopt;
}

std::size_t Taxonomy::class_of_intent(std::size_t intent) const {
    return *class_index(intents[intent].class_id);
}

std::vector<std::string> Taxonomy::intent_names() const {
    std::vector<std::string> names;
    names.reserve(intents.size());
    for (const RouteIntent& intent : intents) names.push_back(intent.name);
    return names;
}

Result<Taxonomy> Taxonomy::parse(std::string_view text) {
    const auto parsed = base::parse_json(text, {kMaxBytes, kMaxDepth});
    if (!parsed) return parsed.status().with_context("taxonomy");
    const Json& json = *parsed;
    if (!json.is_object()) return corrupt_taxonomy("not a JSON object");
    if (!json["version"].is_number_integer() || json["version"] != 1) {
        return Status(Code::Unsupported, "taxonomy: \"version\" is not 1");
    }
    Taxonomy taxonomy;
    CLASP_ASSIGN_OR_RETURN(taxonomy.name, read_name(json, "the file"));
    CLASP_RETURN_IF_ERROR(read_classes(json, taxonomy));
    CLASP_RETURN_IF_ERROR(read_intents(json, taxonomy));
    CLASP_RETURN_IF_ERROR(read_rules(json, taxonomy));
    CLASP_RETURN_IF_ERROR(read_examples(json, taxonomy));
    if (const Json* const threshold = json.find("threshold")) {
        double value = 0.0;
        if (!threshold->get_to(value) || value < 0.0 || value > 1.0) {
            return corrupt_taxonomy("\"threshold\" is not a number from 0 to 1");
        }
        taxonomy.threshold = static_cast<float>(value);
    }
    return taxonomy;
}

const Taxonomy& Taxonomy::builtin() {
    static const Taxonomy taxonomy = [] {
        Result<Taxonomy> parsed = parse(embedded_taxonomy());
        CLASP_CHECK(parsed.ok());
        Result<std::vector<Rule>> parsed_rules = parse_rules(embedded_rules());
        CLASP_CHECK(parsed_rules.ok());
        Taxonomy result = std::move(parsed).value();
        result.rules = std::move(parsed_rules).value();
        for (const Rule& rule : result.rules) CLASP_CHECK(result.intent_index(rule.intent).has_value());
        return result;
    }();
    return taxonomy;
}

}  // namespace clasp::route
