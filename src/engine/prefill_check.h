// What a prompt must be before anything runs, and the rows that it then has.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "clasp/status.h"
#include "engine/live_rows.h"
#include "engine/prefill.h"
#include "model/text_config.h"

namespace clasp::engine {

Status check_parts(std::span<const PromptPart> parts, const model::TextConfig& config);

// The rows of a request whose parts were checked.
std::vector<LiveRow> rows_of_parts(const PrefillRequest& request, std::size_t width);

// Its stages, and that the model's context has room for it.
Status check_prompt(const PrefillRequest& request, std::span<const LiveRow> rows,
                    const model::TextConfig& config);

}  // namespace clasp::engine
