// Clips from outside: a video file, an animated picture, or pictures that are its frames. What a clip is, is
// told by content, never by name; what it says of itself is checked against limits before memory is taken;
// frames are decoded on demand, upright 8-bit RGB as pictures are.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/image.h"
#include "clasp/status.h"

namespace clasp::video {

enum class ClipFormat : std::uint8_t { None, Mp4, Matroska, Avi, Animation, Frames };

// Video files by their first bytes; None for everything else, animated pictures included.
ClipFormat sniff_video(std::span<const std::uint8_t> bytes);

// The same of a file; Frames for a folder, and None for what cannot be read: opening says why.
ClipFormat sniff_file(const std::string& path);

// Going over one gives Code::TooLarge.
struct ClipLimits {
    std::uint64_t max_file_bytes = std::uint64_t{8} << 30U;  // of a video file
    double max_seconds = 6.0 * 3600.0;
    std::size_t max_frames = 1'500'000;   // stored, not sampled
    std::size_t max_pixels = 35'400'000;  // of a frame: 7680 x 4320 and a little more
    std::size_t max_side = 16'384;        // pixels
    std::size_t max_streams = 64;         // of a video file: pictures, sound, subtitles, data
    std::size_t max_pictures = 10'000;    // that are given as frames
    double max_work_seconds = 120.0;      // by the clock on the wall, for opening and again for decoding
    ImageLimits picture;                  // of animated pictures and of pictures that are frames
};

struct ClipOptions {
    ClipLimits limits;
    bool apply_orientation = true;  // turn frames upright as the file says
    // Set from any thread to stop: the result is then Code::Cancelled. May be null.
    const std::atomic<bool>* cancel = nullptr;
};

// Where a clip comes from: one of the three.
struct ClipSource {
    std::string path = {};                 // of a file or of a folder of frames
    std::string_view bytes = {};           // of a file; borrowed as long as the clip is used
    std::vector<std::string> frames = {};  // paths of pictures, in their order
};

// Called with each frame that was asked for, in their order, once for each time.
using ClipSink = std::function<Status(std::size_t number, Image&& image)>;

class Clip {
   public:
    virtual ~Clip() = default;

    [[nodiscard]] virtual ClipFormat format() const = 0;
    // Of a frame, turned upright.
    [[nodiscard]] virtual PixelSize size() const = 0;
    // When each frame is shown, in seconds from the first; rising. At least one.
    [[nodiscard]] virtual std::span<const double> seconds() const = 0;
    // Frames per second, on average; never 0.
    [[nodiscard]] virtual double fps() const = 0;
    // Sentences about what was found wrong and could be lived with, here or while decoding.
    [[nodiscard]] virtual const std::vector<std::string>& notes() const = 0;
    // What tells this clip from others: its content's digest, or what identifies its file.
    [[nodiscard]] virtual const std::string& identity() const = 0;

    // `frames` are indices that never fall and may repeat; nothing behind the last is decoded. Errors: what
    // decoding finds, what the sink returns, cancelled.
    virtual Status decode(std::span<const std::size_t> frames, const ClipSink& sink) = 0;
};

// Null: no clip, but perhaps a still picture. Errors: a clip that cannot be read, with the reason; messages
// name the path.
Result<std::unique_ptr<Clip>> open_clip(const ClipSource& source, const ClipOptions& options);

// Whether open_clip() would find one, by first bytes alone, and of pictures by their blocks. False also for
// what cannot be read: opening says why.
bool is_clip(const ClipSource& source);

// The kinds of clips. Names in messages are the callers' affair.
Result<std::unique_ptr<Clip>> open_animation(std::string bytes, const ClipOptions& options);
Result<std::unique_ptr<Clip>> open_frames(std::vector<std::string> paths, std::vector<std::string> notes,
                                          const ClipOptions& options);

// Frames that are given as pictures have no times of their own: they follow each other at this rate, which
// the authors of Qwen's models assume.
inline constexpr double kPicturesPerSecond = 2.0;

}  // namespace clasp::video
