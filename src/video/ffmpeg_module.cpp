// Video files through FFmpeg's libraries, as a module (ffmpeg_module.h). Nothing is opened but the bytes that
// the caller gives: no protocol, no file that another one names, one demuxer and the decoders of a short
// list.
#include "video/ffmpeg_module.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/dict.h>
#include <libavutil/display.h>
#include <libavutil/imgutils.h>
#include <libavutil/mathematics.h>
#include <libavutil/mem.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
}

#include "clasp/status.h"
#include "video/frame_rate.h"

using clasp::Code;

namespace {

constexpr const char* kDecoders =
    "h264,hevc,vp8,vp9,libvpx,libvpx-vp9,av1,libdav1d,libaom-av1,mpeg4,mpeg1video,mpeg2video,mjpeg,h263,"
    "h263p,"
    "msmpeg4,msmpeg4v1,msmpeg4v2";
constexpr int kBufferBytes = 1 << 16;
constexpr std::int64_t kProbeBytes = 5 << 20;
constexpr std::int64_t kProbePixels = 1 << 25;
constexpr std::size_t kMaxAllocation = std::size_t{1} << 30;
constexpr int kRowAlignment = 64;

struct FreeFormat {
    void operator()(AVFormatContext* format) const { avformat_close_input(&format); }
};
struct FreeIo {
    void operator()(AVIOContext* io) const {
        av_freep(&io->buffer);
        avio_context_free(&io);
    }
};
struct FreeCodec {
    void operator()(AVCodecContext* codec) const { avcodec_free_context(&codec); }
};
struct FreePacket {
    void operator()(AVPacket* packet) const { av_packet_free(&packet); }
};
struct FreeFrame {
    void operator()(AVFrame* frame) const { av_frame_free(&frame); }
};
struct FreeScale {
    void operator()(SwsContext* scale) const { sws_freeContext(scale); }
};

// What went wrong, as a code and a sentence.
struct Problem {
    Code code = Code::Ok;
    std::string message;
};

Problem problem(Code code, std::string message) {
    return {code, std::move(message)};
}

std::string text_of(int error) {
    std::array<char, AV_ERROR_MAX_STRING_SIZE> text = {};
    av_strerror(error, text.data(), text.size());
    return text.data();
}

Problem damaged(const char* what, int error) {
    if (error == AVERROR(ENOMEM)) return problem(Code::OutOfMemory, "not enough memory to read the clip");
    return problem(Code::Corrupt, std::string(what) + ": " + text_of(error));
}

int refuse_open(AVFormatContext* /*format*/, AVIOContext** /*io*/, const char* /*url*/, int /*flags*/,
                AVDictionary** /*options*/) {
    return AVERROR(EACCES);
}

// Frames in the order in which they are shown.
struct Entry {
    std::int64_t time = 0;   // in units of the stream
    std::int64_t shown = 0;  // how long; 0: not said
    bool is_key = false;
};

}  // namespace

struct ClaspClip {
    ClaspClipSource source = {};
    ClaspClipRequest request = {};
    std::int64_t offset = 0;  // of the next byte that is read
    std::unique_ptr<AVIOContext, FreeIo> io;
    std::unique_ptr<AVFormatContext, FreeFormat> format;  // uses io, so it goes first
    std::unique_ptr<AVCodecContext, FreeCodec> codec;
    std::unique_ptr<AVPacket, FreePacket> packet;
    std::unique_ptr<AVFrame, FreeFrame> frame;  // the last one decoded
    std::unique_ptr<AVFrame, FreeFrame> held;   // the one before it
    std::unique_ptr<SwsContext, FreeScale> scale;
    int stream = -1;
    std::vector<Entry> entries;
    std::vector<double> seconds;
    ClaspClipShape shape = {};
    bool is_at_end = false;    // of the packets
    bool has_frame = false;    // in `frame`
    bool has_held = false;     // in `held`
    bool is_begun = false;     // decoding has a place in the file
    std::int64_t reached = 0;  // time of the last frame decoded

    [[nodiscard]] AVStream* video() const { return format->streams[stream]; }
    [[nodiscard]] bool is_stopped() const { return source.is_stopped(source.self) != 0; }

    Problem open();
    Problem decode(const std::int64_t* frames, std::int64_t n_frames, const ClaspFrameSink& sink);

   private:
    Problem open_file();
    [[nodiscard]] Problem check_size(const AVCodecParameters& about) const;
    Problem probe_streams();
    Problem choose_stream();
    Problem open_decoder();
    Problem read_entries();
    [[nodiscard]] double in_seconds(double units) const;
    [[nodiscard]] double length() const;
    Problem rewind_to(std::int64_t time);
    void find_turn();
    // False at the end of the clip; errors in single packets are stepped over.
    bool next_frame();
    Problem find_frame(std::int64_t time, AVFrame** found, bool& is_other);
    Problem give(const AVFrame& shown, std::int64_t number, bool is_other, const ClaspFrameSink& sink,
                 bool& goes_on);
};

namespace {

int read_packet(void* opaque, std::uint8_t* out, int n_bytes) {
    auto* clip = static_cast<ClaspClip*>(opaque);
    if (clip->is_stopped()) return AVERROR_EXIT;
    const std::int64_t n = clip->source.read(clip->source.self, clip->offset, out, n_bytes);
    if (n < 0) return AVERROR(EIO);
    if (n == 0) return AVERROR_EOF;
    clip->offset += n;
    return static_cast<int>(n);
}

std::int64_t seek_bytes(void* opaque, std::int64_t offset, int whence) {
    auto* clip = static_cast<ClaspClip*>(opaque);
    const std::int64_t size = clip->source.n_bytes;
    if (whence == AVSEEK_SIZE) return size;
    whence &= ~AVSEEK_FORCE;
    std::int64_t base = 0;
    if (whence == SEEK_CUR) base = clip->offset;
    if (whence == SEEK_END) base = size;
    if (offset > size - base || offset < -base) return AVERROR(EINVAL);
    clip->offset = base + offset;
    return clip->offset;
}

int is_interrupted(void* opaque) {
    return static_cast<ClaspClip*>(opaque)->is_stopped() ? 1 : 0;
}

// Not a picture that lies beside the sound.
bool is_video(const AVStream& stream) {
    return stream.codecpar->codec_type == AVMEDIA_TYPE_VIDEO &&
           (stream.disposition & AV_DISPOSITION_ATTACHED_PIC) == 0;
}

std::int64_t time_of(const AVPacket& packet) {
    return packet.pts != AV_NOPTS_VALUE ? packet.pts : packet.dts;
}

}  // namespace

Problem ClaspClip::open_file() {
    auto* buffer = static_cast<unsigned char*>(av_malloc(kBufferBytes));
    if (buffer == nullptr) return damaged("", AVERROR(ENOMEM));
    io.reset(avio_alloc_context(buffer, kBufferBytes, 0, this, read_packet, nullptr, seek_bytes));
    if (io == nullptr) {
        av_free(buffer);
        return damaged("", AVERROR(ENOMEM));
    }
    const AVInputFormat* demuxer = av_find_input_format(request.demuxer);
    if (demuxer == nullptr) {
        return problem(Code::Unsupported, "this FFmpeg cannot read files of this kind (no demuxer " +
                                              std::string(request.demuxer) + ")");
    }
    AVFormatContext* context = avformat_alloc_context();
    if (context == nullptr) return damaged("", AVERROR(ENOMEM));
    context->pb = io.get();
    context->flags |= AVFMT_FLAG_CUSTOM_IO;
    context->io_open = refuse_open;
    context->interrupt_callback = {is_interrupted, this};
    // FFmpeg's own limit of 1000 streams would end in "not enough memory"; choose_stream() knows a lower one.
    context->probesize = kProbeBytes;
    context->max_probe_packets = 1000;
    context->protocol_whitelist = av_strdup("");
    context->format_whitelist = av_strdup(demuxer->name);
    context->codec_whitelist = av_strdup(kDecoders);
    const int error = avformat_open_input(&context, nullptr, demuxer, nullptr);  // frees it on failure
    if (error < 0) {
        return damaged(
            "the clip cannot be opened, its index is missing or damaged as in a file that was cut off",
            error);
    }
    format.reset(context);
    return {};
}

Problem ClaspClip::check_size(const AVCodecParameters& about) const {
    const std::int64_t n_pixels = std::int64_t{about.width} * about.height;
    if (about.width <= request.max_side && about.height <= request.max_side && n_pixels <= request.max_pixels)
        return {};
    return problem(Code::TooLarge, "the clip's frames of " + std::to_string(about.width) + " x " +
                                       std::to_string(about.height) + " pixels exceed the limits of " +
                                       std::to_string(request.max_pixels) + " pixels and " +
                                       std::to_string(request.max_side) + " a side");
}

// Probing may decode frames, with decoders of its own: what the container says is checked before, and what
// they find has the limit of ours, or the one that always holds, so that a smaller one can name the size.
Problem ClaspClip::probe_streams() {
    for (unsigned i = 0; i < format->nb_streams; ++i) {
        if (!is_video(*format->streams[i])) {
            format->streams[i]->discard = AVDISCARD_ALL;
            continue;
        }
        Problem found = check_size(*format->streams[i]->codecpar);
        if (found.code != Code::Ok) return found;
    }
    std::vector<AVDictionary*> options(format->nb_streams, nullptr);
    const std::int64_t max_pixels = std::max(request.max_pixels, kProbePixels);
    for (AVDictionary*& one : options) av_dict_set_int(&one, "max_pixels", max_pixels, 0);
    const int error = avformat_find_stream_info(format.get(), options.data());
    for (AVDictionary*& one : options) av_dict_free(&one);
    return error < 0 ? damaged("the clip's streams cannot be read", error) : Problem();
}

Problem ClaspClip::choose_stream() {
    if (static_cast<std::int64_t>(format->nb_streams) > request.max_streams) {
        return problem(Code::TooLarge, "the clip has more than the limit of " +
                                           std::to_string(request.max_streams) + " streams");
    }
    Problem found = probe_streams();
    if (found.code != Code::Ok) return found;
    for (unsigned i = 0; i < format->nb_streams; ++i) {
        AVStream& one = *format->streams[i];
        const bool is_better = stream < 0 || ((one.disposition & AV_DISPOSITION_DEFAULT) != 0 &&
                                              (video()->disposition & AV_DISPOSITION_DEFAULT) == 0);
        if (is_video(one) && is_better) stream = static_cast<int>(i);
    }
    if (stream < 0) return problem(Code::Unsupported, "the clip has no video stream");
    for (unsigned i = 0; i < format->nb_streams; ++i) {
        format->streams[i]->discard = static_cast<int>(i) == stream ? AVDISCARD_DEFAULT : AVDISCARD_ALL;
    }
    const AVCodecParameters& about = *video()->codecpar;
    if (about.width < 1 || about.height < 1) {
        return problem(Code::Corrupt,
                       "the size of the clip's frames cannot be found, or exceeds the limit of " +
                           std::to_string(request.max_pixels) + " pixels");
    }
    shape.width = about.width;
    shape.height = about.height;
    return check_size(about);
}

void ClaspClip::find_turn() {
    const auto* matrix = reinterpret_cast<const std::int32_t*>(
        av_stream_get_side_data(video(), AV_PKT_DATA_DISPLAYMATRIX, nullptr));
    if (matrix == nullptr) return;
    const double clockwise = -av_display_rotation_get(matrix);
    if (!std::isfinite(clockwise)) return;
    const auto quarters = std::lround(clockwise / 90.0);
    shape.quarter_turns = static_cast<int>(((quarters % 4) + 4) % 4);
    if (std::abs(clockwise - 90.0 * static_cast<double>(quarters)) > 1.0) {
        shape.quarter_turns = 0;
        shape.is_oddly_turned = 1;
    }
}

Problem ClaspClip::open_decoder() {
    const AVCodecParameters* about = video()->codecpar;
    const AVCodec* decoder = avcodec_find_decoder(about->codec_id);
    const std::string list = "," + std::string(kDecoders) + ",";
    if (decoder == nullptr || list.find("," + std::string(decoder->name) + ",") == std::string::npos) {
        return problem(Code::Unsupported, "the clip's video is coded as " +
                                              std::string(avcodec_get_name(about->codec_id)) +
                                              ", which is not decoded here");
    }
    codec.reset(avcodec_alloc_context3(decoder));
    if (codec == nullptr || avcodec_parameters_to_context(codec.get(), about) < 0) {
        return damaged("", AVERROR(ENOMEM));
    }
    codec->pkt_timebase = video()->time_base;
    codec->max_pixels = request.max_pixels;
    codec->thread_count = request.n_threads;
    const int error = avcodec_open2(codec.get(), decoder, nullptr);
    if (error < 0) return damaged("the clip's video decoder cannot be opened", error);
    return {};
}

// Every packet is one frame; when it is shown and whether decoding can begin there is all that is kept.
Problem ClaspClip::read_entries() {
    int error = 0;
    while ((error = av_read_frame(format.get(), packet.get())) >= 0) {
        const bool is_frame =
            packet->stream_index == stream && (packet->flags & AV_PKT_FLAG_DISCARD) == 0 && packet->size > 0;
        if (is_frame) {
            Entry entry = {time_of(*packet), packet->duration, (packet->flags & AV_PKT_FLAG_KEY) != 0};
            if (entry.time == AV_NOPTS_VALUE) {
                entry.time =
                    entries.empty() ? 0 : entries.back().time + std::max<std::int64_t>(packet->duration, 1);
            }
            entries.push_back(entry);
        }
        av_packet_unref(packet.get());
        if (static_cast<std::int64_t>(entries.size()) > request.max_frames) {
            return problem(Code::TooLarge, "the clip has more than the limit of " +
                                               std::to_string(request.max_frames) + " frames");
        }
        if (is_stopped()) return problem(Code::Cancelled, "stopped");
    }
    if (entries.empty()) return damaged("the clip holds no frames", error);
    std::stable_sort(entries.begin(), entries.end(),
                     [](const Entry& a, const Entry& b) { return a.time < b.time; });
    entries.erase(std::unique(entries.begin(), entries.end(),
                              [](const Entry& a, const Entry& b) { return a.time == b.time; }),
                  entries.end());
    for (const Entry& entry : entries) {
        seconds.push_back(
            in_seconds(static_cast<double>(entry.time) - static_cast<double>(entries.front().time)));
    }
    if (!std::isfinite(seconds.back()) || seconds.back() > request.max_seconds) {
        return problem(Code::TooLarge, "the clip takes longer than the limit of " +
                                           std::to_string(static_cast<std::int64_t>(request.max_seconds)) +
                                           " s");
    }
    shape.n_frames = static_cast<std::int64_t>(entries.size());
    shape.n_said = video()->nb_frames;
    shape.seconds = seconds.data();
    shape.fps = clasp::video::frame_rate(seconds.size(), length(), av_q2d(video()->avg_frame_rate));
    return {};
}

// One division, so that 3840 units of 1/12800 s are the 0.3 that somebody writes.
double ClaspClip::in_seconds(double units) const {
    const AVRational unit = video()->time_base;
    return units * unit.num / unit.den;
}

// From the first frame to the end of the last; 0: not known.
double ClaspClip::length() const {
    const double said = in_seconds(static_cast<double>(entries.back().shown));
    if (said > 0.0 && seconds.back() + said <= request.max_seconds) return seconds.back() + said;
    if (seconds.size() < 2) return 0.0;
    const auto n = static_cast<double>(seconds.size());
    return seconds.back() * n / (n - 1.0);  // the last one as long as the others on average
}

Problem ClaspClip::open() {
    packet.reset(av_packet_alloc());
    frame.reset(av_frame_alloc());
    held.reset(av_frame_alloc());
    if (packet == nullptr || frame == nullptr || held == nullptr) return damaged("", AVERROR(ENOMEM));
    for (const auto step : {&ClaspClip::open_file, &ClaspClip::choose_stream, &ClaspClip::open_decoder,
                            &ClaspClip::read_entries}) {
        Problem found = (this->*step)();
        if (found.code != Code::Ok) return found;
    }
    find_turn();
    return {};
}

Problem ClaspClip::rewind_to(std::int64_t time) {
    const int error = av_seek_frame(format.get(), stream, time, AVSEEK_FLAG_BACKWARD);
    if (error < 0) return damaged("the clip cannot be read from the middle", error);
    avcodec_flush_buffers(codec.get());
    av_frame_unref(frame.get());
    av_frame_unref(held.get());
    has_frame = has_held = is_at_end = false;
    is_begun = true;
    reached = time;
    return {};
}

bool ClaspClip::next_frame() {
    std::swap(frame, held);
    has_held = has_frame;
    has_frame = false;
    while (!is_stopped()) {
        const int got = avcodec_receive_frame(codec.get(), frame.get());
        if (got >= 0) {
            has_frame = true;
            reached =
                frame->best_effort_timestamp != AV_NOPTS_VALUE ? frame->best_effort_timestamp : reached + 1;
            return true;
        }
        if (got == AVERROR_EOF) return false;
        if (is_at_end) {
            if (got != AVERROR(EAGAIN)) continue;
            return false;
        }
        const int error = av_read_frame(format.get(), packet.get());
        if (error < 0) {
            is_at_end = true;
            avcodec_send_packet(codec.get(), nullptr);
            continue;
        }
        if (packet->stream_index == stream) avcodec_send_packet(codec.get(), packet.get());
        av_packet_unref(packet.get());
    }
    return false;
}

// The last frame that is shown at `time` or before.
Problem ClaspClip::find_frame(std::int64_t time, AVFrame** found, bool& is_other) {
    const auto key = std::find_if(entries.rbegin(), entries.rend(),
                                  [&](const Entry& entry) { return entry.is_key && entry.time <= time; });
    const std::int64_t from = key != entries.rend() ? key->time : entries.front().time;
    // Going on is never dearer than beginning anew before the place that is reached.
    if (!is_begun || from > reached) {
        Problem lost = rewind_to(from);
        if (lost.code != Code::Ok) return lost;
    }
    while (!has_frame || reached < time) {
        if (!next_frame()) break;
    }
    if (is_stopped()) return problem(Code::Cancelled, "stopped");
    is_other = !has_frame || reached != time;
    if (has_frame && (reached <= time || !has_held)) {
        *found = frame.get();
    } else if (has_held) {
        *found = held.get();
    } else {
        return problem(Code::Corrupt, "no frame of the clip could be decoded");
    }
    return {};
}

Problem ClaspClip::give(const AVFrame& shown, std::int64_t number, bool is_other, const ClaspFrameSink& sink,
                        bool& goes_on) {
    const auto from = static_cast<AVPixelFormat>(shown.format);
    if (shown.width < 1 || shown.height < 1 || av_pix_fmt_desc_get(from) == nullptr ||
        sws_isSupportedInput(from) == 0) {
        return problem(Code::Unsupported, "the clip's frames have pixels of a kind that is not converted");
    }
    SwsContext* cached = sws_getCachedContext(
        scale.release(), shown.width, shown.height, from, shape.width, shape.height, AV_PIX_FMT_RGB24,
        SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT, nullptr, nullptr, nullptr);
    scale.reset(cached);
    if (scale == nullptr) return damaged("", AVERROR(ENOMEM));
    int* in_table = nullptr;
    int* out_table = nullptr;
    int in_full = 0;
    int out_full = 0;
    int brightness = 0;
    int contrast = 0;
    int saturation = 0;
    if (sws_getColorspaceDetails(scale.get(), &in_table, &in_full, &out_table, &out_full, &brightness,
                                 &contrast, &saturation) >= 0) {
        const int* wanted = sws_getCoefficients(shown.colorspace);
        if (shown.color_range == AVCOL_RANGE_JPEG) in_full = 1;
        sws_setColorspaceDetails(scale.get(), wanted, in_full, out_table, out_full, brightness, contrast,
                                 saturation);
    }
    std::array<std::uint8_t*, 4> data = {};
    std::array<int, 4> row_bytes = {};
    if (av_image_alloc(data.data(), row_bytes.data(), shape.width, shape.height, AV_PIX_FMT_RGB24,
                       kRowAlignment) < 0) {
        return damaged("", AVERROR(ENOMEM));
    }
    sws_scale(scale.get(), shown.data, shown.linesize, 0, shown.height, data.data(), row_bytes.data());
    goes_on = sink.take(sink.self, number, data[0], row_bytes[0], is_other ? 1 : 0) == 0;
    av_freep(data.data());
    return {};
}

Problem ClaspClip::decode(const std::int64_t* frames, std::int64_t n_frames, const ClaspFrameSink& sink) {
    for (std::int64_t i = 0; i < n_frames; ++i) {
        if (frames[i] < 0 || frames[i] >= shape.n_frames || (i > 0 && frames[i] < frames[i - 1])) {
            return problem(Code::InvalidArgument,
                           "frames of a clip are wanted that it does not have in this order");
        }
        AVFrame* found = nullptr;
        bool is_other = false;
        Problem lost = find_frame(entries[static_cast<std::size_t>(frames[i])].time, &found, is_other);
        if (lost.code != Code::Ok) return lost;
        bool goes_on = true;
        lost = give(*found, i, is_other, sink, goes_on);
        if (lost.code != Code::Ok) return lost;
        if (!goes_on) return problem(Code::Cancelled, "nobody wants more frames");
    }
    is_begun = false;  // another call may want earlier ones
    return {};
}

namespace {

// Runs something that may find a problem or not enough memory, and says it in C.
template <typename Call>
int told(char* message, const Call& call) {
    Problem found;
    try {
        found = call();
    } catch (const std::bad_alloc&) {
        found = {Code::OutOfMemory, "not enough memory to read the clip"};
    }
    std::snprintf(message, CLASP_FFMPEG_MESSAGE_BYTES, "%s", found.message.c_str());
    return static_cast<int>(found.code);
}

int open_clip(const ClaspClipSource* source, const ClaspClipRequest* request, ClaspClip** clip,
              char* message) {
    av_log_set_level(AV_LOG_QUIET);
    av_max_alloc(kMaxAllocation);
    return told(message, [&] {
        auto made = std::make_unique<ClaspClip>();
        made->source = *source;
        made->request = *request;
        Problem found = made->open();
        if (found.code == Code::Ok) *clip = made.release();
        return found;
    });
}

void shape_of(const ClaspClip* clip, ClaspClipShape* shape) {
    *shape = clip->shape;
}

int decode_frames(ClaspClip* clip, const std::int64_t* frames, std::int64_t n_frames,
                  const ClaspFrameSink* sink, char* message) {
    return told(message, [&] { return clip->decode(frames, n_frames, *sink); });
}

void close_clip(ClaspClip* clip) {
    delete clip;
}

constexpr ClaspFfmpeg kFunctions = {CLASP_FFMPEG_VERSION, open_clip, shape_of, decode_frames, close_clip};

}  // namespace

extern "C" __attribute__((visibility("default"))) const ClaspFfmpeg* clasp_ffmpeg(void) {
    return &kFunctions;
}
