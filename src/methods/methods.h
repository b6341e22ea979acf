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
Method mustdrop_method();
Method cdpruner_method();
Method divprune_method();
Method fastervlm_method();
Method ficoco_v_method();
Method hired_method();
Method holov_method();
Method nuwa_method();
Method prumerge_method();
Method prumerge_plus_method();
Method tome_method();
Method uniform_grid_method();
Method uniform_pool_method();
Method visionzip_method();
Method vispruner_method();

}  // namespace clasp::methods
