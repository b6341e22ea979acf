#include "image/animation.h"

#include <limits>
#include <new>
#include <string>

namespace clasp::image {

namespace {

// The options of a picture, with room for the work of many.
ImageOptions animation_options(const ImageOptions& options) {
    ImageOptions more = options;
    const std::uint64_t most = std::numeric_limits<std::uint64_t>::max() / kAnimationWork;
    more.limits.max_work = std::min(options.limits.max_work, most) * kAnimationWork;
    more.limits.max_seconds *= static_cast<double>(kAnimationWork);
    return more;
}

Status check_animation_bytes(Bytes bytes, const ImageLimits& limits) {
    if (bytes.empty()) return {Code::Corrupt, "the picture file is empty"};
    if (bytes.size() <= limits.max_file_bytes) return ok_status();
    return {Code::TooLarge,
            "the picture file exceeds the limit of " + std::to_string(limits.max_file_bytes) + " bytes"};
}

Status not_animated() {
    return {Code::Unsupported, "the content is no animated GIF, WebP or PNG picture"};
}

Result<Animation> read_stored(Bytes bytes, const ImageLimits& limits, Work& work) {
    switch (sniff_image(bytes)) {
        case ImageFormat::Gif: return read_gif_animation(bytes, limits, work);
        case ImageFormat::Webp: return read_webp_animation(bytes, limits, work);
        case ImageFormat::Png: return read_png_animation(bytes, limits, work);
        default: return not_animated();
    }
}

}  // namespace

Result<Animation> read_animation(Bytes bytes, const ImageOptions& options) {
    CLASP_RETURN_IF_ERROR(check_animation_bytes(bytes, options.limits));
    const ImageOptions more = animation_options(options);
    try {
        Work work(more);
        CLASP_ASSIGN_OR_RETURN(Animation animation, read_stored(bytes, more.limits, work));
        if (animation.seconds.size() > kMaxAnimationFrames) {
            return Status(Code::TooLarge, "the animation has more than the limit of " +
                                              std::to_string(kMaxAnimationFrames) + " frames");
        }
        return animation;
    } catch (const std::bad_alloc&) {
        return Status(Code::OutOfMemory, "not enough memory to read the animation");
    }
}

bool is_animated(Bytes bytes) {
    const auto animation = read_animation(bytes, {});
    return animation.ok() && animation->seconds.size() > 1;
}

Status decode_animation(Bytes bytes, const ImageOptions& options, std::size_t n_frames,
                        const FrameSink& sink) {
    CLASP_RETURN_IF_ERROR(check_animation_bytes(bytes, options.limits));
    const ImageOptions more = animation_options(options);
    try {
        Work work(more);
        switch (sniff_image(bytes)) {
            case ImageFormat::Gif: return decode_gif_animation(bytes, more.limits, work, n_frames, sink);
            case ImageFormat::Webp: return decode_webp_animation(bytes, more.limits, work, n_frames, sink);
            case ImageFormat::Png: return decode_png_animation(bytes, more.limits, work, n_frames, sink);
            default: return not_animated();
        }
    } catch (const std::bad_alloc&) {
        return {Code::OutOfMemory, "not enough memory to decode the animation"};
    }
}

}  // namespace clasp::image
