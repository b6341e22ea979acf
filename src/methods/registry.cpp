#include <array>
#include <string>
#include <vector>

#include "base/suggest.h"
#include "base/text.h"
#include "methods/methods.h"

namespace clasp::methods {

std::span<const Method> all_methods() {
    static const std::array kMethods = {
        clasp_method(),        clasp_plus_method(),    attention_method(), random_method(),
        uniform_method(),      fastv_method(),         sparsevlm_method(), sparsevlm_plus_method(),
        pdrop_method(),        dart_method(),          vtw_method(),       btp_method(),
        mustdrop_method(),     cdpruner_method(),      divprune_method(),  fastervlm_method(),
        ficoco_v_method(),     hired_method(),         holov_method(),     nuwa_method(),
        prumerge_method(),     prumerge_plus_method(), tome_method(),      uniform_grid_method(),
        uniform_pool_method(), visionzip_method(),     vispruner_method(),
    };
    return kMethods;
}

Result<const Method*> find_method(std::string_view name) {
    std::vector<std::string_view> names;
    for (const Method& method : all_methods()) {
        if (base::is_same_name(method.name, name)) return &method;
        names.push_back(method.name);
    }
    return Status(Code::NotFound, "there is no method " + base::in_quotes(name) +
                                      base::did_you_mean(name, names) + "; there are " + base::join(names));
}

const Method& with_masses(const Method& method, bool has_masses) {
    if (method.uses_masses == has_masses) return method;
    for (const Method& other : all_methods()) {
        const bool is_other =
            has_masses ? other.without_masses == method.name : other.name == method.without_masses;
        if (is_other) return other;
    }
    return method;
}

MethodChoice split_method_choice(std::string_view text) {
    const std::vector<std::string_view> parts = base::split(text, ':');
    return {std::string(parts.front()), {parts.begin() + 1, parts.end()}};
}

Status check_method_choice(const MethodChoice& choice) {
    CLASP_ASSIGN_OR_RETURN(const Method* method, find_method(choice.name));
    return Settings::read(method->name, method->options, choice.options).status();
}

Status check_masses(const Method& method) {
    if (method.drops) return ok_status();
    return {Code::InvalidArgument,
            "method '" + std::string(method.name) +
                "' leaves no masses: it merges what it takes away, or nothing survives it"};
}

std::string method_label(const Method& method, const std::vector<std::string>& options, bool has_masses) {
    const Method& ran = with_masses(method, has_masses);
    std::string label(ran.name);
    for (const std::string& option : options) label += ":" + option;
    if (has_masses && !ran.uses_masses) label += " + masses";
    return label;
}

}  // namespace clasp::methods
