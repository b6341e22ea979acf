// One function per method, each in a file of its own name.
#pragma once

#include "methods/method.h"

namespace clasp::methods {

Method clasp_method();
Method clasp_plus_method();
Method attention_method();
Method random_method();
Method uniform_method();

}  // namespace clasp::methods
