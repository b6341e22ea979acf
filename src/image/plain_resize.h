// Resampling in floating point, for models whose pictures were never rounded to bytes in between: two samples
// per axis, whatever the scale, as torch's interpolate() takes them (bilinear, corners not aligned, without
// antialiasing).
#pragma once

#include <vector>

#include "clasp/image.h"
#include "clasp/status.h"
#include "image/preprocess.h"

namespace clasp::image {

// The rectangle of `part` at left, top of what resampling the picture to `target` gives, with values from 0
// to 255. Errors: InvalidArgument for an empty picture or a part that does not lie inside; OutOfMemory.
Result<PixelPlanes> resize_plain(const Image& image, Size target, int left, int top, Size part);

// As normalise() of a picture: (value / 255 - mean) / deviation.
Result<std::vector<float>> normalise(const PixelPlanes& planes, const Normalisation& normalisation);

}  // namespace clasp::image
