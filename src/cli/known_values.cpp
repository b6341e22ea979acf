#include "cli/known_values.h"

#include "base/text.h"
#include "clasp/classes.h"
#include "clasp/policy.h"
#include "clasp/schedule.h"
#include "eval/benchmark.h"
#include "methods/method.h"
#include "request/model_files.h"

namespace clasp::cli {

namespace {

template <typename Items>
std::vector<std::string> names_of(const Items& items) {
    std::vector<std::string> names;
    for (const auto& item : items) names.emplace_back(item.name);
    return names;
}

std::vector<std::string> strings(const std::vector<std::string_view>& views) {
    return {views.begin(), views.end()};
}

// The first words, by which find_class() finds them too.
std::vector<std::string> class_words() {
    std::vector<std::string> words;
    for (const std::string_view name : kClassNames)
        words.push_back(base::lower(name.substr(0, name.find(' '))));
    return words;
}

}  // namespace

KnownValues known_values(const Option& option) {
    if (!option.choices.empty()) return {.names = strings(option.choices)};
    if (option.type == OptionType::File) {
        const bool is_folder = option.value.starts_with("DIR") || option.writes == Writes::Folder;
        if (option.name == "cache") return {.names = {"auto"}, .takes_folder = true};
        if (option.name == "packed") return {.names = {"auto", "none"}, .takes_folder = true};
        return {.takes_file = !is_folder, .takes_folder = is_folder};
    }
    if (option.name == "method") return {.names = names_of(methods::all_methods())};
    if (option.name == "methods") {
        KnownValues values = {.names = names_of(methods::all_methods()), .is_list = true};
        values.names.emplace_back("all");
        return values;
    }
    if (option.name == "policy") return {.names = strings(profile_names()), .takes_file = true};
    if (option.name == "model") return {.names = request::model_names(), .takes_file = true};
    if (option.name == "class") return {.names = class_words()};
    if (option.name == "benchmark") return {.names = names_of(eval::benchmarks())};
    if (option.name == "budget") return {.names = {"none", "auto"}};
    if (option.name == "schedule") return {.names = strings(schedule_names())};
    return {};
}

KnownValues known_values(const Command& command, const Positional& positional) {
    if (!positional.choices.empty()) return {.names = strings(positional.choices)};
    if (positional.name == "IMAGE") return {.takes_file = true};
    if (positional.name == "BENCHMARK") {
        KnownValues values = {.names = names_of(eval::benchmarks()), .takes_folder = true};
        for (const char* word : {"ablation", "merge", "report"}) values.names.emplace_back(word);
        return values;
    }
    if (command.name == "inspect") return {.names = request::model_names(), .takes_file = true};
    if (command.name == "methods") return {.names = names_of(methods::all_methods())};
    if (command.name == "policy") return {.names = strings(profile_names()), .takes_file = true};
    return {};
}

}  // namespace clasp::cli
