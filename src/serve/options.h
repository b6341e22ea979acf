// What a server is told at its start.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>

#include "base/json.h"
#include "clasp/log.h"
#include "request/message_json.h"
#include "request/settings.h"
#include "serve/access.h"
#include "serve/limits.h"

namespace clasp::serve {

struct ServeOptions {
    request::Settings settings;  // what requests have that say nothing else
    std::string model_id;        // as clients name it
    std::string model_file;      // for its size and date
    HttpLimits http;
    RequestLimits limits;
    AccessRules access;
    std::string host = "127.0.0.1";  // several with commas between
    int port = 8080;
    request::PictureSources pictures;                  // where from besides requests themselves
    std::map<std::string, BudgetSpec> detail_budgets;  // for pictures with that "detail"
    std::string api_prefix;                            // in front of every path: "/clasp-server"
    std::size_t parallel = 1;                          // requests that are read or written at a time
    std::size_t max_kv_bytes = 0;                      // of all of them; 0: no limit
    std::size_t context = 0;       // tokens of a prompt and its answer; 0: as many as the model has
    bool is_strict_model = false;  // other models' names are refused
    bool ignores_tools = false;    // a request with tools is answered in text
    bool lists_presets = false;    // in the list of models
    bool is_cache_apart = false;   // each key or address finds only what it left itself
    bool logs_content = false;     // questions and answers
    bool shows_metrics = false;
    bool shows_slots = false;                   // how far requests are, at /slots
    bool has_page = true;                       // the web page on /
    std::string ui_dir;                         // its files from this folder instead of the program's own
    std::map<std::string, base::Json> presets;  // name behind the model's, "fast", and its clasp object
    LogSink log;
};

}  // namespace clasp::serve
