// Options that do not go together, for every caller in the words of that caller.
#pragma once

#include "clasp/policy.h"
#include "clasp/status.h"
#include "request/option_table.h"
#include "request/settings.h"

namespace clasp::request {

// Error (invalid_argument): options that exclude each other, or one that has no effect beside another.
Status check_conflicts(const Settings& settings, Caller caller);

// Error (invalid_argument): an option about pictures, for a request that has none.
Status check_text_only(const Settings& settings, Caller caller);

// Error: a method, an option of it or a class that cannot be. policy: what the request will use.
Status check_choices(const AskRequest& request, const Policy& policy);

}  // namespace clasp::request
