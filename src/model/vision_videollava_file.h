// What a vision file of Video-LLaVA says of itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "clasp/status.h"
#include "model/gguf_reader.h"
#include "model/vision_types.h"
#include "model/vision_weights.h"

namespace clasp::model {

struct VideoLlavaFile {
    // Whose numbers and prompts: the authors' checkpoint, or the port of it to Hugging Face's library.
    enum class Source : std::uint8_t { Authors, Port };
    // How frames are resampled. LanguageBind: in floating point, two samples per axis; Clip: as pictures are.
    enum class Preprocess : std::uint8_t { LanguageBind, Clip };

    VisionInfo info;  // but for what the projector's tensors tell
    Source source = Source::Authors;
    Preprocess preprocess = Preprocess::LanguageBind;
    std::size_t n_frames = 0;
    bool keeps_class_rows = true;   // of frames; those of pictures never are tokens
    bool has_temporal_part = true;  // frames see each other
};

// Errors: a key that is missing or makes no sense, keys and tensors that contradict each other.
Result<VideoLlavaFile> read_videollava_file(const GgufReader& reader);

// Error: a tensor of the towers or the projector that no graph reads, which would change what the model
// computes in silence.
Status check_videollava_tensors(const GgufReader& reader, const std::vector<WeightSpec>& specs);

}  // namespace clasp::model
