// Where tests find what lies in the source tree, and where they may write.
#pragma once

namespace clasp::test {

// The root of the checkout.
const char* source_dir();

// A folder of this process alone inside the build tree; it exists, and is removed at the end.
const char* scratch_dir();

// The source tree of the pinned llama.cpp (vocabularies, a test image); empty when it is not there.
const char* llama_source_dir();

}  // namespace clasp::test
