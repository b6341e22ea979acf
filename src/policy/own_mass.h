// What a name says about masses.
#pragma once

#include "clasp/policy.h"
#include "methods/method.h"

namespace clasp::policy {

// A name is the method as published: masses come with a method that has them, or from the policy that chose
// the method (null: somebody named it).
inline MassRule own_mass(const methods::Method& method, const Policy* chooser) {
    if (method.uses_masses) return MassRule::Nearest;
    return chooser != nullptr ? chooser->mass : MassRule::None;
}

}  // namespace clasp::policy
