#include "request/model_choice.h"

#include <algorithm>
#include <vector>

#include "video/clip.h"

namespace clasp::request {

std::string usual_model(const Settings& settings, bool has_clip_model) {
    if (settings.is_given("model") || !has_clip_model) return settings.model;
    const std::vector<ImageSource>& images = settings.request.images;
    const bool shows_clip = std::any_of(images.begin(), images.end(), [](const ImageSource& image) {
        return video::is_clip({image.path, image.bytes, image.frames});
    });
    return shows_clip ? kClipModel : settings.model;
}

}  // namespace clasp::request
