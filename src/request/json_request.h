// The options of a request out of a JSON object: the keys are those of the option table.
#pragma once

#include <span>
#include <string_view>

#include "base/json.h"
#include "clasp/status.h"
#include "request/option_table.h"
#include "request/settings.h"

namespace clasp::request {

// Sets what the object has of these scopes. Policies are named, never read from a file. also_known: keys that
// the caller reads itself. Errors (invalid_argument): a key that is not known, a value of the wrong type or
// out of range, a value that cannot be.
Status read_options(const base::Json& object, std::span<const Scope> scopes,
                    std::span<const std::string_view> also_known, Settings& settings);

}  // namespace clasp::request
