// Tests of video files need the module that knows FFmpeg. Where the build has made it, one that cannot be
// loaded is a failure; where FFmpeg's libraries are missing, the test is skipped.
#pragma once

#include <gtest/gtest.h>

#include "video/ffmpeg_clip.h"

#ifdef CLASP_FFMPEG_IS_BUILT
#define CLASP_WITHOUT_FFMPEG() FAIL()
#else
#define CLASP_WITHOUT_FFMPEG() GTEST_SKIP()
#endif

#define CLASP_NEEDS_FFMPEG()                                           \
    if (const auto& module = ::clasp::video::ffmpeg(); !module.ok()) { \
        CLASP_WITHOUT_FFMPEG() << module.status().message();           \
    }                                                                  \
    static_assert(true, "for the semicolon")
