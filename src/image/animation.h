// All frames of an animated GIF, WebP or PNG picture, each as it would be shown: painted on the canvas over
// what the frames before it left there. Colours are those of decode_image(): alpha decides what is painted
// over what, and is then dropped.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "clasp/image.h"
#include "image/decoders.h"
#include "image/work.h"

namespace clasp::image {

// What the blocks of a file say, without a pixel decoded.
struct Animation {
    PixelSize size;               // of the canvas
    std::vector<double> seconds;  // per frame: how long it is shown, as stored
    bool is_cut = false;          // the file ends early; the frames are those that are whole
};

// Frames beyond this many are refused.
inline constexpr std::size_t kMaxAnimationFrames = 10'000;

// Whether the bytes are a picture of a format that moves, and have at least two frames. Looks at headers and
// blocks alone; damaged bytes are no animation.
bool is_animated(Bytes bytes);

// Errors: those of decode_image(); unsupported when the bytes are no animation.
Result<Animation> read_animation(Bytes bytes, const ImageOptions& options);

// Called with every frame from the first on, in order. True: go on. The image may be moved from only as a
// copy.
using FrameSink = std::function<bool(std::size_t frame, const Image& image)>;

// Decodes frames until the sink wants no more or `n_frames` are done. The limits hold for each frame, the
// work for all together times kAnimationWork. Errors: as decode_image(); a frame that is damaged is one.
Status decode_animation(Bytes bytes, const ImageOptions& options, std::size_t n_frames,
                        const FrameSink& sink);

// An animation may cost so many times what a picture may.
inline constexpr std::uint64_t kAnimationWork = 16;

// One pair of functions per format, as above.
Result<Animation> read_gif_animation(Bytes bytes, const ImageLimits& limits, Work& work);
Result<Animation> read_webp_animation(Bytes bytes, const ImageLimits& limits, Work& work);
Result<Animation> read_png_animation(Bytes bytes, const ImageLimits& limits, Work& work);
Status decode_gif_animation(Bytes bytes, const ImageLimits& limits, Work& work, std::size_t n_frames,
                            const FrameSink& sink);
Status decode_webp_animation(Bytes bytes, const ImageLimits& limits, Work& work, std::size_t n_frames,
                             const FrameSink& sink);
Status decode_png_animation(Bytes bytes, const ImageLimits& limits, Work& work, std::size_t n_frames,
                            const FrameSink& sink);

// A PNG picture with its alpha, 4 bytes a pixel; opaque where it has none. Damage is an error here.
struct RgbaPicture {
    std::size_t width = 0;
    std::size_t height = 0;
    std::vector<std::uint8_t> rgba;
};
Result<RgbaPicture> decode_png_rgba(Bytes bytes, const ImageLimits& limits, Work& work);

}  // namespace clasp::image
