// Any bytes as a clip: containers, animations, their limits, and the frames at both ends.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "video/clip.h"
#include "video/ffmpeg_clip.h"
#include "video/sampling.h"

#ifdef CLASP_FFMPEG_IS_BUILT
// Without the module every container would end in a sentence about that, and nothing would be tried.
extern "C" int LLVMFuzzerInitialize(int* /*n_arguments*/, char*** /*arguments*/) {
    const auto& module = clasp::video::ffmpeg();
    if (module.ok()) return 0;
    std::fprintf(stderr, "%s\n", module.status().message().c_str());
    std::abort();
}
#endif

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace clasp;
    video::ClipOptions options;
    options.limits.max_pixels = 1 << 18;
    options.limits.max_side = 2048;
    options.limits.max_frames = 1000;
    options.limits.max_work_seconds = 4.0;
    options.limits.picture.max_pixels = 1 << 18;
    options.limits.picture.max_side = 2048;
    options.limits.picture.min_side = 1;
    options.limits.picture.max_work = std::uint64_t{1} << 22;
    const auto opened =
        video::open_clip({.path = {}, .bytes = {reinterpret_cast<const char*>(data), size}}, options);
    if (!opened.ok()) {
        if (opened.status().message().empty()) std::abort();
        return 0;
    }
    if (*opened == nullptr) return 0;
    video::Clip& clip = **opened;
    const auto seconds = clip.seconds();
    if (seconds.empty() || seconds.front() != 0.0 || !(clip.fps() > 0.0)) std::abort();
    for (std::size_t i = 1; i < seconds.size(); ++i) {
        if (!(seconds[i] >= seconds[i - 1])) std::abort();
    }
    const PixelSize frame = clip.size();
    if (frame.width < 1 || frame.height < 1 || frame.width > 2048 || frame.height > 2048) std::abort();
    const auto sample = video::sample_clip(seconds, clip.fps(), false, {.n_frames = 3}, {});
    if (!sample.ok()) std::abort();
    std::size_t n = 0;
    const Status decoded = clip.decode(sample->frames, [&](std::size_t number, Image&& image) {
        if (number != n++ || PixelSize{image.width, image.height} != frame) std::abort();
        if (image.rgb.size() !=
            3 * static_cast<std::size_t>(frame.width) * static_cast<std::size_t>(frame.height)) {
            std::abort();
        }
        return ok_status();
    });
    if (decoded.ok() ? n != sample->frames.size() : decoded.message().empty()) std::abort();
    return 0;
}
