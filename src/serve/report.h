// What replies say about an answer: usage and timings as other servers name them, and our own object `clasp`.
#pragma once

#include <list>
#include <string>
#include <vector>

#include "base/json.h"
#include "clasp/engine.h"
#include "serve/chat_request.h"
#include "serve/scheduler.h"
#include "serve/token_log.h"

namespace clasp::serve {

// {"prompt_tokens", ...} over all choices of a request, of which there is at least one.
base::Json usage_json(const PlannedRequest& planned, const std::vector<const Answer*>& answers);
// llama-server's names and meaning, and flat figures of ours.
base::Json server_timings_json(const PlannedRequest& planned, const Answer& answer);
// The same of an answer under way, as far as it is.
base::Json timings_so_far(const PlannedRequest& planned, const TokenLog& tokens);
// {"total", "cache", "processed", "time_ms"} of a prompt that is being read.
base::Json prompt_progress_json(const PlannedRequest& planned, const TokenLog& tokens,
                                const Progress& progress);
// The timings that go with it.
base::Json timings_of_progress(const base::Json& prompt_progress);

// What a reply needs of its request once that is on its way.
struct ReportContext {
    std::string budget_by;
    std::string budget_kind;
    std::string compat;
    MapKind map = MapKind::None;
    std::vector<std::string> picture_hashes;  // SHA-256 of their bytes, for the map
};
ReportContext report_context(const ChatRequest& chat);

base::Json clasp_json(const Answer& answer, double queue_ms, const ReportContext& context);

// "stop" or "length".
std::string_view finish_reason(const Answer& answer);

}  // namespace clasp::serve
