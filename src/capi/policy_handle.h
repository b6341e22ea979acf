// What stands behind the C header's clasp_policy.
#pragma once

#include <string>
#include <vector>

#include "clasp/clasp.h"
#include "clasp/policy.h"

struct clasp_policy {
    clasp::Policy policy;
    std::string hash;
    std::vector<std::vector<clasp_layer_weight>> mixes;  // one per class
};
