// Clips that the image front end reads: animated pictures, and pictures that are frames.
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/file.h"
#include "base/sha256.h"
#include "base/text.h"
#include "image/animation.h"
#include "video/clip.h"

namespace clasp::video {

namespace {

// Frames that are to be shown for less are shown for kUsualDelay, as programs that play them do.
constexpr double kShortestDelay = 0.02;
constexpr double kUsualDelay = 0.1;

// Delays are hundredths, thousandths or fractions of a second. Their sum is not exact, its nearest
// microsecond is: 100 times 0.1 s are 10 s, and 90 times 1/30 s are 3 s.
double in_microseconds(double seconds) {
    return std::nearbyint(seconds * 1e6) / 1e6;
}

std::span<const std::uint8_t> as_pixels(const std::string& bytes) {
    return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

ImageOptions picture_options(const ClipOptions& options) {
    ImageOptions picture;
    picture.limits = options.limits.picture;
    picture.apply_orientation = options.apply_orientation;
    picture.cancel = options.cancel;
    return picture;
}

Status check_duration(double seconds, const ClipLimits& limits) {
    if (seconds <= limits.max_seconds) return ok_status();
    return {Code::TooLarge, "the clip takes " + base::format_exact(seconds) + " s, more than the limit of " +
                                base::format_exact(limits.max_seconds) + " s"};
}

class AnimationClip final : public Clip {
   public:
    AnimationClip(std::string bytes, const image::Animation& animation, const ClipOptions& options)
        : bytes_(std::move(bytes)), options_(picture_options(options)), size_(animation.size) {
        double at = 0.0;
        for (const double shown : animation.seconds) {
            seconds_.push_back(in_microseconds(at));
            at += shown < kShortestDelay ? kUsualDelay : shown;
        }
        duration_ = in_microseconds(at);
        if (animation.is_cut) {
            notes_.push_back("the animation is damaged or ends early: only its first " +
                             std::to_string(seconds_.size()) + " frames are whole");
        }
        identity_ = base::sha256_hex(bytes_);
    }

    [[nodiscard]] ClipFormat format() const override { return ClipFormat::Animation; }
    [[nodiscard]] PixelSize size() const override { return size_; }
    [[nodiscard]] std::span<const double> seconds() const override { return seconds_; }
    [[nodiscard]] double fps() const override { return static_cast<double>(seconds_.size()) / duration_; }
    [[nodiscard]] const std::vector<std::string>& notes() const override { return notes_; }
    [[nodiscard]] const std::string& identity() const override { return identity_; }
    [[nodiscard]] double duration() const { return duration_; }

    Status decode(std::span<const std::size_t> frames, const ClipSink& sink) override {
        if (frames.empty()) return ok_status();
        std::size_t next = 0;
        Status status;
        CLASP_RETURN_IF_ERROR(image::decode_animation(
            as_pixels(bytes_), options_, frames.back() + 1, [&](std::size_t frame, const Image& image) {
                for (; next < frames.size() && frames[next] == frame && status.ok(); ++next) {
                    status = sink(next, Image(image));
                }
                return status.ok() && next < frames.size();
            }));
        return status;
    }

   private:
    std::string bytes_;
    ImageOptions options_;
    PixelSize size_;
    std::vector<double> seconds_;
    double duration_ = 0.0;
    std::vector<std::string> notes_;
    std::string identity_;
};

class FramesClip final : public Clip {
   public:
    FramesClip(std::vector<std::string> paths, std::vector<std::string> notes, const ClipOptions& options)
        : paths_(std::move(paths)), options_(picture_options(options)), notes_(std::move(notes)) {
        for (std::size_t i = 0; i < paths_.size(); ++i) {
            seconds_.push_back(static_cast<double>(i) / kPicturesPerSecond);
        }
    }

    // Reads every header; all frames must have the size of the first.
    Status read_sizes() {
        base::Sha256 hash;
        for (std::size_t i = 0; i < paths_.size(); ++i) {
            CLASP_ASSIGN_OR_RETURN(const std::string bytes,
                                   base::read_file(paths_[i], options_.limits.max_file_bytes));
            const auto header = read_image_header(as_pixels(bytes), options_);
            if (!header.ok()) return named(header.status(), i);
            if (i == 0) size_ = header->size;
            if (header->size != size_) {
                return {Code::InvalidArgument,
                        paths_[i] + " has " + std::to_string(header->size.width) + " x " +
                            std::to_string(header->size.height) + " pixels and the first frame " +
                            std::to_string(size_.width) + " x " + std::to_string(size_.height) +
                            "; the frames of a clip have one size"};
            }
            hash.update(base::sha256_hex(bytes));
        }
        identity_ = base::to_hex(hash.finish());
        return ok_status();
    }

    [[nodiscard]] ClipFormat format() const override { return ClipFormat::Frames; }
    [[nodiscard]] PixelSize size() const override { return size_; }
    [[nodiscard]] std::span<const double> seconds() const override { return seconds_; }
    [[nodiscard]] double fps() const override { return kPicturesPerSecond; }
    [[nodiscard]] const std::vector<std::string>& notes() const override { return notes_; }
    [[nodiscard]] const std::string& identity() const override { return identity_; }

    Status decode(std::span<const std::size_t> frames, const ClipSink& sink) override {
        for (std::size_t i = 0; i < frames.size(); ++i) {
            CLASP_ASSIGN_OR_RETURN(Image image, load_image(paths_[frames[i]], options_));
            if (PixelSize{image.width, image.height} != size_) {
                return {Code::Corrupt, paths_[frames[i]] + " is not of the size that its header says"};
            }
            for (const std::string& warning : image.warnings) {
                notes_.push_back(paths_[frames[i]] + ": " + warning);
            }
            CLASP_RETURN_IF_ERROR(sink(i, std::move(image)));
        }
        return ok_status();
    }

   private:
    [[nodiscard]] Status named(const Status& status, std::size_t i) const {
        return status.code() == Code::Cancelled ? status : status.with_context(paths_[i]);
    }

    std::vector<std::string> paths_;
    ImageOptions options_;
    PixelSize size_;
    std::vector<double> seconds_;
    std::vector<std::string> notes_;
    std::string identity_;
};

}  // namespace

Result<std::unique_ptr<Clip>> open_animation(std::string bytes, const ClipOptions& options) {
    CLASP_ASSIGN_OR_RETURN(const image::Animation animation,
                           image::read_animation(as_pixels(bytes), picture_options(options)));
    auto clip = std::make_unique<AnimationClip>(std::move(bytes), animation, options);
    CLASP_RETURN_IF_ERROR(check_duration(clip->duration(), options.limits));
    return std::unique_ptr<Clip>(std::move(clip));
}

Result<std::unique_ptr<Clip>> open_frames(std::vector<std::string> paths, std::vector<std::string> notes,
                                          const ClipOptions& options) {
    if (paths.empty()) return Status(Code::InvalidArgument, "a clip needs at least one frame");
    if (paths.size() > options.limits.max_pictures) {
        return Status(Code::TooLarge, std::to_string(paths.size()) + " frames are more than the limit of " +
                                          std::to_string(options.limits.max_pictures));
    }
    auto clip = std::make_unique<FramesClip>(std::move(paths), std::move(notes), options);
    CLASP_RETURN_IF_ERROR(clip->read_sizes());
    return std::unique_ptr<Clip>(std::move(clip));
}

}  // namespace clasp::video
