#include "video/ffmpeg_clip.h"

namespace clasp::video {

const char* built_ffmpeg_module() {
    return CLASP_FFMPEG_BUILT;
}

}  // namespace clasp::video
