// One function per method, each in a file of its own name.
#pragma once

#include "methods/method.h"

namespace clasp::methods {

Method clasp_method();
Method clasp_plus_method();
Method attention_method();
Method random_method();
Method uniform_method();
Method fastv_method();
Method sparsevlm_method();
Method sparsevlm_plus_method();
Method pdrop_method();
Method dart_method();
Method vtw_method();
Method btp_method();

}  // namespace clasp::methods
