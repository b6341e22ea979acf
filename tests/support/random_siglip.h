// Vision files with SigLIP's tower and random weights.
#pragma once

#include <ostream>

#include "support/random_mmproj.h"

namespace clasp::test {

// Small towers of SmolVLM (32 pixels, patches of 8, tiles up to twice as long) and of Gemma 3.
MmprojSpec smolvlm_mmproj();
MmprojSpec gemma3_mmproj();

// projector_type: "idefics3" (SmolVLM), "gemma3", "janus_pro" or "phi4".
void write_siglip_mmproj(const MmprojSpec& spec, std::ostream& out);

}  // namespace clasp::test
