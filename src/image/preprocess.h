// From a decoded picture to what a vision tower reads: geometry, then normalised planes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "clasp/image.h"
#include "image/resize.h"

namespace clasp::image {

// LLaVA-1.5's padding: CLIP's mean colour, int(mean * 255).
inline constexpr Colour kClipMeanColour = {122, 116, 104};

struct Normalisation {
    std::array<float, 3> mean = {0.48145466F, 0.4578275F, 0.40821073F};  // CLIP's
    std::array<float, 3> deviation = {0.26862954F, 0.26130258F, 0.27577711F};
};

// How a picture is brought to a size, as data: laid on a ground or not, resampled, laid on another or not.
// Known from the picture's size alone.
struct Fit {
    Canvas before;  // 0 x 0: the picture is resampled as it is
    Size resized;   // what resampling gives
    Canvas after;   // 0 x 0: that is all
    Filter filter = Filter::Bicubic;

    [[nodiscard]] Size size() const { return after.size == Size{} ? resized : after.size; }
};

// To `target` whatever the aspect.
Fit stretch_fit(Size target, Filter filter);

// On a square of side `side`, centred, bicubic.
//   Original: pads to a square with `colour` first, then resizes that square (LLaVA's own pipeline).
//   LlamaCpp: resizes first, sides rounded up, then pads.
Fit square_fit(Size picture, int side, const Colour& colour, Compat compat);

// Scaled to fit `target` with its aspect kept (sides rounded up), centred on `colour`.
// This is how LLaVA-NeXT fits a picture into its chosen resolution; LlamaCpp's LLaVA-1.5 too.
Fit padded_fit(Size picture, Size target, const Colour& colour, Filter filter, Compat compat);

// Errors: those of resize() and paint_on_canvas(); a picture that is not of the size of the fit.
Result<Image> apply_fit(const Image& image, const Fit& fit);

// Planes of float: 3 x height x width, each sample (value / 255 - mean) / deviation.
struct PixelPlanes {
    int width = 0;
    int height = 0;
    std::vector<float> values;
};

// Original multiplies by 1/255 in double before rounding to float, as the original processors do;
// LlamaCpp divides in float.
Result<PixelPlanes> normalise(const Image& image, const Normalisation& normalisation, Compat compat);

}  // namespace clasp::image
