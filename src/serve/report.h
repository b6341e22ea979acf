// What replies say about an answer: usage and timings as other servers name them, and our own object `clasp`.
#pragma once

#include <list>
#include <string>
#include <vector>

#include "base/json.h"
#include "clasp/engine.h"
#include "serve/chat_request.h"
#include "serve/scheduler.h"

namespace clasp::serve {

// {"prompt_tokens", ...} over all choices of a request, of which there is at least one.
base::Json usage_json(const PlannedRequest& planned, const std::vector<const Answer*>& answers);
// llama-server's names and meaning, and flat figures of ours.
base::Json server_timings_json(const PlannedRequest& planned, const Answer& answer);

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
