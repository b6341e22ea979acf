#include "video/ffmpeg_clip.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <utility>

#include "base/text.h"
#include "image/exif.h"
#include "image/work.h"

namespace clasp::video {

namespace {

namespace fs = std::filesystem;

constexpr const char* kModuleName = "clasp-ffmpeg.so";
constexpr int kDecoderThreads = 2;

Status no_module(const std::string& why) {
    return {Code::Unavailable,
            "video files are read with FFmpeg's libraries, and the module for them " + why +
                "; scripts/setup video installs what it needs, and building again makes it"};
}

Result<const ClaspFfmpeg*> load_ffmpeg() {
    std::string wrong;
    for (const std::string& place : ffmpeg_places()) {
        std::error_code error;
        if (!fs::exists(place, error)) continue;
        void* module = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed
        if (module == nullptr) {
            const char* why = dlerror();
            wrong = "cannot be loaded: " + base::printable(why != nullptr ? why : "unknown");
            continue;
        }
        const auto entry = reinterpret_cast<ClaspFfmpegEntry>(dlsym(module, CLASP_FFMPEG_SYMBOL));
        const ClaspFfmpeg* functions = entry != nullptr ? entry() : nullptr;
        if (functions != nullptr && functions->version == CLASP_FFMPEG_VERSION) return functions;
        wrong = "at " + base::path_in_quotes(place) + " belongs to another version of the program";
    }
    return no_module(wrong.empty() ? "was not built" : wrong);
}

const char* demuxer_of(ClipFormat format) {
    switch (format) {
        case ClipFormat::Matroska: return "matroska";
        case ClipFormat::Avi: return "avi";
        default: return "mov";
    }
}

class VideoClip final : public Clip {
   public:
    VideoClip(const ClaspFfmpeg& functions, ByteSource source, ClipFormat format, const ClipOptions& options)
        : functions_(functions), source_(std::move(source)), format_(format), options_(options) {}
    ~VideoClip() override {
        if (clip_ != nullptr) functions_.close(clip_);
    }
    VideoClip(const VideoClip&) = delete;
    VideoClip& operator=(const VideoClip&) = delete;

    Status open() {
        if (source_.size() > options_.limits.max_file_bytes) {
            return {Code::TooLarge, "the clip has " + std::to_string(source_.size()) +
                                        " bytes, more than the limit of " +
                                        std::to_string(options_.limits.max_file_bytes)};
        }
        start_clock();
        const ClaspClipSource bytes = {
            this, static_cast<int64_t>(source_.size()),
            [](void* self, int64_t offset, uint8_t* out, int64_t n) {
                return static_cast<VideoClip*>(self)->source_.read(static_cast<std::uint64_t>(offset), out,
                                                                   static_cast<std::size_t>(n));
            },
            [](void* self) { return static_cast<VideoClip*>(self)->is_stopped() ? 1 : 0; }};
        const ClipLimits& limits = options_.limits;
        const ClaspClipRequest request = {demuxer_of(format_),
                                          static_cast<int64_t>(limits.max_pixels),
                                          static_cast<int64_t>(limits.max_side),
                                          static_cast<int64_t>(limits.max_frames),
                                          static_cast<int64_t>(limits.max_streams),
                                          limits.max_seconds,
                                          kDecoderThreads};
        std::array<char, CLASP_FFMPEG_MESSAGE_BYTES> message = {};
        CLASP_RETURN_IF_ERROR(
            status_of(functions_.open(&bytes, &request, &clip_, message.data()), message.data()));
        functions_.shape(clip_, &shape_);
        if (shape_.n_said > shape_.n_frames) {
            notes_.push_back("the clip is damaged or ends early: it says that it has " +
                             std::to_string(shape_.n_said) + " frames, and " +
                             std::to_string(shape_.n_frames) + " could be found");
        }
        if (shape_.is_oddly_turned != 0) {
            notes_.emplace_back("the clip is to be turned by an odd angle, which was not done");
        }
        identity_ = source_.identity();
        return ok_status();
    }

    [[nodiscard]] ClipFormat format() const override { return format_; }
    [[nodiscard]] PixelSize size() const override {
        const bool is_on_its_side = options_.apply_orientation && shape_.quarter_turns % 2 != 0;
        return is_on_its_side ? PixelSize{shape_.height, shape_.width}
                              : PixelSize{shape_.width, shape_.height};
    }
    [[nodiscard]] std::span<const double> seconds() const override {
        return {shape_.seconds, static_cast<std::size_t>(shape_.n_frames)};
    }
    [[nodiscard]] double fps() const override { return shape_.fps; }
    [[nodiscard]] const std::vector<std::string>& notes() const override { return notes_; }
    [[nodiscard]] const std::string& identity() const override { return identity_; }

    Status decode(std::span<const std::size_t> frames, const ClipSink& sink) override {
        start_clock();
        const std::vector<int64_t> numbers(frames.begin(), frames.end());
        Taking taking = {this, &sink, 0, ok_status()};
        const ClaspFrameSink take = {
            &taking, [](void* self, int64_t number, const uint8_t* rgb, int64_t row_bytes, int is_other) {
                auto* to = static_cast<Taking*>(self);
                to->n_others += is_other != 0 ? 1 : 0;
                to->status = to->clip->give(static_cast<std::size_t>(number), rgb, row_bytes, *to->sink);
                return to->status.ok() ? 0 : 1;
            }};
        std::array<char, CLASP_FFMPEG_MESSAGE_BYTES> message = {};
        const int code = functions_.decode(clip_, numbers.data(), static_cast<int64_t>(numbers.size()), &take,
                                           message.data());
        CLASP_RETURN_IF_ERROR(taking.status);
        CLASP_RETURN_IF_ERROR(status_of(code, message.data()));
        if (taking.n_others > 0) {
            notes_.push_back(std::to_string(taking.n_others) +
                             " of the frames could not be decoded; those before them stand for them");
        }
        return ok_status();
    }

   private:
    struct Taking {
        VideoClip* clip;
        const ClipSink* sink;
        std::size_t n_others;
        Status status;
    };

    void start_clock() { start_ = std::chrono::steady_clock::now(); }
    [[nodiscard]] bool is_cancelled() const {
        return options_.cancel != nullptr && options_.cancel->load(std::memory_order_relaxed);
    }
    [[nodiscard]] bool is_late() const {
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
        return elapsed.count() > options_.limits.max_work_seconds;
    }
    [[nodiscard]] bool is_stopped() const { return is_cancelled() || is_late(); }

    [[nodiscard]] Status status_of(int code, const char* message) const {
        if (code == 0) return ok_status();
        if (is_cancelled()) return {Code::Cancelled, "stopped while the clip was read"};
        if (is_late()) {
            return {Code::TooLarge, "reading the clip takes longer than the limit of " +
                                        base::format_exact(options_.limits.max_work_seconds) + " s"};
        }
        return {static_cast<Code>(code), base::printable(message)};
    }

    Status give(std::size_t number, const std::uint8_t* rgb, std::int64_t row_bytes, const ClipSink& sink) {
        try {
            Image image;
            image.width = shape_.width;
            image.height = shape_.height;
            const std::size_t line = static_cast<std::size_t>(shape_.width) * 3;
            image.rgb.resize(line * static_cast<std::size_t>(shape_.height));
            for (int y = 0; y < shape_.height; ++y) {
                std::copy_n(rgb + y * row_bytes, line, image.rgb.data() + static_cast<std::size_t>(y) * line);
            }
            if (!options_.apply_orientation || shape_.quarter_turns == 0)
                return sink(number, std::move(image));
            constexpr std::array<int, 4> kOrientations = {1, 6, 3, 8};  // as Exif numbers them
            image.orientation = kOrientations[static_cast<std::size_t>(shape_.quarter_turns)];
            ImageOptions picture;
            picture.cancel = options_.cancel;
            image::Work work(picture);
            CLASP_ASSIGN_OR_RETURN(Image upright, image::turn_upright(std::move(image), work));
            return sink(number, std::move(upright));
        } catch (const std::bad_alloc&) {
            return {Code::OutOfMemory, "not enough memory for a frame of the clip"};
        }
    }

    const ClaspFfmpeg& functions_;
    ByteSource source_;
    ClipFormat format_;
    ClipOptions options_;
    ClaspClip* clip_ = nullptr;
    ClaspClipShape shape_ = {};
    std::vector<std::string> notes_;
    std::string identity_;
    std::chrono::steady_clock::time_point start_;
};

}  // namespace

std::vector<std::string> ffmpeg_places() {
    std::vector<std::string> places;
    if (const char* named = std::getenv("CLASP_FFMPEG_MODULE"); named != nullptr) return {named};
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    if (!error) {
        const fs::path folder = program.parent_path();
        places.push_back((folder / kModuleName).string());
        places.push_back((folder / "../lib/clasp" / kModuleName).lexically_normal().string());
    }
    places.emplace_back(built_ffmpeg_module());
    return places;
}

Result<const ClaspFfmpeg*> ffmpeg() {
    static const Result<const ClaspFfmpeg*> functions = load_ffmpeg();
    return functions;
}

Result<std::unique_ptr<Clip>> open_video(ByteSource source, ClipFormat format, const ClipOptions& options) {
    CLASP_ASSIGN_OR_RETURN(const ClaspFfmpeg* functions, ffmpeg());
    auto clip = std::make_unique<VideoClip>(*functions, std::move(source), format, options);
    CLASP_RETURN_IF_ERROR(clip->open());
    return std::unique_ptr<Clip>(std::move(clip));
}

}  // namespace clasp::video
