// What a caller wants, gathered option by option (option_table.h).
#pragma once

#include <set>
#include <string>

#include "clasp/engine.h"

namespace clasp::request {

// Who names classes, before anything is loaded (router_files.h).
struct RouterSettings {
    std::string kind = "classifier";  // or "rules", "llm"
    std::string model = {};           // text GGUF of "llm"
    double timeout_ms = 10000.0;      // of "llm"
    std::string taxonomy = {};        // files; empty: what is built in
    std::string classifier = {};
};

struct Settings {
    AskRequest request = {};
    EngineOptions engine = {};  // without its files and its router
    std::string model = {};     // a name or a file (model_files.h)
    std::string mmproj = {};
    RouterSettings router = {};
    std::set<std::string, std::less<>> given = {};  // names of the options that somebody set
    bool may_read_files = true;                     // false: names only, for what comes over a network

    [[nodiscard]] bool is_given(std::string_view name) const { return given.find(name) != given.end(); }
};

}  // namespace clasp::request
