// Methods that only choose at the policy's decoder stages.
#pragma once

#include "methods/method.h"

namespace clasp::methods {

// The setup's stages as a program, all in the policy's mode, with the same needs.
Program staged_program(const Setup& setup, const StageNeeds& needs);

}  // namespace clasp::methods
