#include "support/made_clip.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/dict.h>
#include <libavutil/frame.h>
}

namespace clasp::test {

namespace {

struct Freer {
    void operator()(AVCodecContext* codec) const { avcodec_free_context(&codec); }
    void operator()(AVFrame* frame) const { av_frame_free(&frame); }
    void operator()(AVPacket* packet) const { av_packet_free(&packet); }
    void operator()(AVFormatContext* format) const {
        avio_closep(&format->pb);
        avformat_free_context(format);
    }
};
template <typename T>
using Owned = std::unique_ptr<T, Freer>;

// How long the frame that begins at `tick` is shown.
std::int64_t shown_for(const MadeClip& clip, std::int64_t tick) {
    const auto next = std::find_if(clip.ticks.begin(), clip.ticks.end(), [&](int one) { return one > tick; });
    return next == clip.ticks.end() ? 1 : *next - tick;
}

void paint(const MadeClip& clip, int number, AVFrame& frame) {
    for (int plane = 0; plane < 3; ++plane) {
        const int rows = plane == 0 ? clip.height : clip.height / 2;
        std::memset(frame.data[plane], plane == 0 ? brightness_of(number) : 128,
                    static_cast<std::size_t>(frame.linesize[plane]) * static_cast<std::size_t>(rows));
    }
    if (!clip.is_noisy) return;
    std::uint32_t state = static_cast<std::uint32_t>(number) + 1;
    for (int i = 0; i < clip.width * clip.height; ++i) {
        state = state * 1664525U + 1013904223U;
        std::uint8_t& luma = frame.data[0][i / clip.width * frame.linesize[0] + i % clip.width];
        luma = static_cast<std::uint8_t>(luma + (state >> 28U));
    }
}

bool drain(const MadeClip& clip, AVCodecContext& codec, AVFormatContext& format, const AVStream& stream,
           AVPacket& packet) {
    while (avcodec_receive_packet(&codec, &packet) >= 0) {
        packet.duration = shown_for(clip, packet.pts);
        av_packet_rescale_ts(&packet, codec.time_base, stream.time_base);
        packet.stream_index = stream.index;
        if (av_interleaved_write_frame(&format, &packet) < 0) return false;
    }
    return true;
}

}  // namespace

bool make_clip(const MadeClip& clip, const std::string& path) {
    av_log_set_level(AV_LOG_QUIET);
    AVFormatContext* opened = nullptr;
    if (avformat_alloc_output_context2(&opened, nullptr, clip.format.c_str(), nullptr) < 0) return false;
    const Owned<AVFormatContext> format(opened);
    const AVCodec* encoder = avcodec_find_encoder_by_name(clip.codec.c_str());
    if (encoder == nullptr) return false;
    const Owned<AVCodecContext> codec(avcodec_alloc_context3(encoder));
    codec->width = clip.width;
    codec->height = clip.height;
    codec->time_base = {1, clip.fps};
    codec->framerate = {clip.fps, 1};
    codec->gop_size = clip.key_every;
    codec->max_b_frames = clip.n_between;
    codec->pix_fmt = clip.codec == "mjpeg" ? AV_PIX_FMT_YUVJ420P : AV_PIX_FMT_YUV420P;
    codec->bit_rate = 2'000'000;
    codec->thread_count = 1;
    if ((format->oformat->flags & AVFMT_GLOBALHEADER) != 0) codec->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    AVDictionary* options = nullptr;
    // Key frames where they are asked for: noise is no change of scene.
    av_dict_set(&options, "sc_threshold", "1000000000", 0);
    const int error = avcodec_open2(codec.get(), encoder, &options);
    av_dict_free(&options);
    if (error < 0) return false;
    AVStream* stream = avformat_new_stream(format.get(), nullptr);
    stream->time_base = codec->time_base;
    stream->avg_frame_rate = codec->framerate;
    if (avcodec_parameters_from_context(stream->codecpar, codec.get()) < 0) return false;
    AVStream* sound = nullptr;
    if (clip.with_sound) {
        sound = avformat_new_stream(format.get(), nullptr);
        sound->codecpar->codec_type = AVMEDIA_TYPE_AUDIO;
        sound->codecpar->codec_id = AV_CODEC_ID_PCM_S16LE;
        sound->codecpar->sample_rate = 8000;
        av_channel_layout_default(&sound->codecpar->ch_layout, 1);
        sound->codecpar->block_align = 2;
        sound->time_base = {1, 8000};
    }
    if (avio_open(&format->pb, path.c_str(), AVIO_FLAG_WRITE) < 0) return false;
    if (avformat_write_header(format.get(), nullptr) < 0) return false;
    const Owned<AVPacket> packet(av_packet_alloc());
    const Owned<AVFrame> frame(av_frame_alloc());
    frame->format = codec->pix_fmt;
    frame->width = clip.width;
    frame->height = clip.height;
    if (av_frame_get_buffer(frame.get(), 0) < 0) return false;
    for (int i = 0; i < clip.n_frames; ++i) {
        if (av_frame_make_writable(frame.get()) < 0) return false;
        paint(clip, i, *frame);
        frame->pts = clip.ticks.empty() ? i : clip.ticks[static_cast<std::size_t>(i)];
        if (avcodec_send_frame(codec.get(), frame.get()) < 0 ||
            !drain(clip, *codec, *format, *stream, *packet)) {
            return false;
        }
        if (sound != nullptr) {
            const int n_bytes = 2 * 8000 / clip.fps;
            if (av_new_packet(packet.get(), n_bytes) < 0) return false;
            std::memset(packet->data, 0, static_cast<std::size_t>(n_bytes));
            packet->pts = packet->dts = av_rescale_q(i, codec->time_base, sound->time_base);
            packet->duration = 8000 / clip.fps;
            packet->stream_index = sound->index;
            if (av_interleaved_write_frame(format.get(), packet.get()) < 0) return false;
        }
    }
    if (avcodec_send_frame(codec.get(), nullptr) < 0 || !drain(clip, *codec, *format, *stream, *packet))
        return false;
    return av_write_trailer(format.get()) >= 0;
}

}  // namespace clasp::test
