// Classes, intents, rules and examples as data: the built-in nine classes and any the user brings.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/route.h"
#include "clasp/status.h"
#include "route/dataset.h"
#include "route/rules.h"

namespace clasp::route {

struct Taxonomy {
    std::string name;
    int default_class = 0;
    std::vector<RouteClass> classes;
    std::vector<RouteIntent> intents;  // every class has at least one
    std::vector<Rule> rules;
    std::vector<Question> examples;  // labelled with intents or classes of this taxonomy
    std::optional<float> threshold;

    // Position in classes or intents; nullopt if there is none.
    [[nodiscard]] std::optional<std::size_t> class_index(int id) const;
    [[nodiscard]] std::optional<std::size_t> intent_index(std::string_view intent) const;
    [[nodiscard]] std::size_t class_of_intent(std::size_t intent) const;
    [[nodiscard]] std::vector<std::string> intent_names() const;

    // Corrupt says which field is missing, double or points nowhere; TooLarge above 8 MiB. A class
    // without an intent gets one of its own name.
    static Result<Taxonomy> parse(std::string_view json);
    // data/taxonomy.json with data/rules.json.
    static const Taxonomy& builtin();
};

}  // namespace clasp::route
