// The policy that a model brings: a file beside its text GGUF.
#pragma once

#include <string>

#include "clasp/policy.h"
#include "clasp/status.h"

namespace clasp::policy {

// "dir/NAME.gguf" -> "dir/NAME-policy.json"; for a link without such a file beside it, that of the file it
// leads to.
std::string model_policy_path(const std::string& model);

// The policy in that file, or the usual one if there is no such file. Errors: those of read_policy(); a
// policy that is there and cannot be used is not passed over.
Result<Policy> model_policy(const std::string& model, const Policy& usual);

}  // namespace clasp::policy
