// The seam between the program and its module that knows FFmpeg. The module is a shared library of its own,
// loaded when the first video file is opened: programs that never see one neither need FFmpeg nor spend the
// time to load it. Plain C, so that the two share nothing but this page.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// Increased with every change of this page; both sides must agree.
#define CLASP_FFMPEG_VERSION 1
#define CLASP_FFMPEG_SYMBOL "clasp_ffmpeg"
#define CLASP_FFMPEG_MESSAGE_BYTES 512

// The bytes of a clip, and whether anybody still wants it. Functions get `self`.
struct ClaspClipSource {
    void* self;
    int64_t n_bytes;
    int64_t (*read)(void* self, int64_t offset, uint8_t* out, int64_t n_bytes);  // as ByteSource::read
    int (*is_stopped)(void* self);
};

struct ClaspClipRequest {
    const char* demuxer;  // FFmpeg's name: "mov", "matroska", "avi"
    int64_t max_pixels;
    int64_t max_side;
    int64_t max_frames;
    int64_t max_streams;
    double max_seconds;
    int n_threads;
};

struct ClaspClipShape {
    int width;  // as stored
    int height;
    int quarter_turns;      // clockwise, 0 to 3, to stand upright
    int is_oddly_turned;    // the file asks for another angle, which is left alone
    int64_t n_frames;       // that the file holds
    int64_t n_said;         // that it says it holds; 0: nothing
    const double* seconds;  // n_frames times from the first on, rising; the clip's
    double fps;
};

struct ClaspFrameSink {
    void* self;
    // Rows of 3 * width bytes, row_bytes apart, valid during the call. is_other: the frame itself could not
    // be decoded, this is the one before. Other than 0: stop.
    int (*take)(void* self, int64_t number, const uint8_t* rgb, int64_t row_bytes, int is_other);
};

struct ClaspClip;

// Functions return a clasp::Code as a number, and write a sentence to message (CLASP_FFMPEG_MESSAGE_BYTES)
// unless it is 0. A clip is used by one thread at a time.
struct ClaspFfmpeg {
    int version;
    // The source is copied; what it points to must outlive the clip. Reads every packet's header once.
    int (*open)(const ClaspClipSource* source, const ClaspClipRequest* request, ClaspClip** clip,
                char* message);
    void (*shape)(const ClaspClip* clip, ClaspClipShape* shape);
    // Frames by number, never falling.
    int (*decode)(ClaspClip* clip, const int64_t* frames, int64_t n_frames, const ClaspFrameSink* sink,
                  char* message);
    void (*close)(ClaspClip* clip);
};

const ClaspFfmpeg* clasp_ffmpeg(void);
typedef const ClaspFfmpeg* (*ClaspFfmpegEntry)(void);

}  // extern "C"
