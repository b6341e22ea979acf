// Video-LLaVA's tower for frames of clips as plain loops in double precision, written from the description of
// the model: no ggml graph, no shared code with the engine beyond the file reader.
#pragma once

#include <cstddef>
#include <vector>

#include "support/reference_vit.h"

namespace clasp::test {

// Per frame: one matrix per block.
struct ReferenceClip {
    std::vector<ReferenceOutput> frames;
};

class ReferenceVideoLlava : public ReferenceVit {
   public:
    // The file must be one that random_mmproj() wrote, with a tower of its own for frames.
    using ReferenceVit::ReferenceVit;

    [[nodiscard]] ReferenceClip encode_clip(const std::vector<std::vector<float>>& frames) const;

   private:
    [[nodiscard]] Matrix embed_frame(const std::vector<float>& pixels) const;
    void attend_over_time(std::vector<Matrix>& frames, const std::string& block) const;
    void attend_over_places(Matrix& x, const std::string& block, ReferenceOutput& output) const;
    void feed(Matrix& x, const std::string& block) const;
};

}  // namespace clasp::test
