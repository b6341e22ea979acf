// Whether a method can work with a tower and with what its pictures become.
#pragma once

#include <vector>

#include "clasp/image_layout.h"
#include "clasp/status.h"
#include "methods/method.h"
#include "model/vision_types.h"

namespace clasp::engine {

// Error: unsupported, with what the method needs and the model or a picture does not have.
Status check_method_fit(const methods::Method& method, const methods::Program& program,
                        const model::VisionCapabilities& tower, const std::vector<ImageLayout>& images);

}  // namespace clasp::engine
