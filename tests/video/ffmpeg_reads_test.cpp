// What is read for a clip: nothing but its own bytes, and for a frame no more of them than it needs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "support/made_clip.h"
#include "support/paths.h"
#include "video/clip.h"
#include "video/ffmpeg_clip.h"

namespace clasp::video {
namespace {

namespace fs = std::filesystem;

std::string scratch(const std::string& name) {
    return std::string(test::scratch_dir()) + "/reads-" + name + "-" + std::to_string(getpid());
}

std::string bytes_at(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string bytes_of(const test::MadeClip& made) {
    const std::string path = scratch("made");
    EXPECT_TRUE(test::make_clip(made, path)) << made.format << " with " << made.codec;
    std::string bytes = bytes_at(path);
    fs::remove(path);
    return bytes;
}

// A clip in memory that the module itself reads, counted.
class CountedClip {
   public:
    explicit CountedClip(std::string bytes) : bytes_(std::move(bytes)), functions_(*ffmpeg().value()) {
        const ClaspClipSource source = {this, static_cast<std::int64_t>(bytes_.size()), read,
                                        [](void*) { return 0; }};
        const ClaspClipRequest request = {"mov", 1 << 24, 1 << 14, 10'000, 64, 3600.0, 1};
        std::array<char, CLASP_FFMPEG_MESSAGE_BYTES> message = {};
        EXPECT_EQ(functions_.open(&source, &request, &clip_, message.data()), 0) << message.data();
    }
    ~CountedClip() { functions_.close(clip_); }
    CountedClip(const CountedClip&) = delete;
    CountedClip& operator=(const CountedClip&) = delete;

    // The share of the file that decoding one frame reads.
    double share_read_for(std::int64_t frame) {
        n_read_ = 0;
        const ClaspFrameSink sink = {
            this, [](void*, std::int64_t, const std::uint8_t*, std::int64_t, int) { return 0; }};
        std::array<char, CLASP_FFMPEG_MESSAGE_BYTES> message = {};
        EXPECT_EQ(functions_.decode(clip_, &frame, 1, &sink, message.data()), 0) << message.data();
        return static_cast<double>(n_read_) / static_cast<double>(bytes_.size());
    }

   private:
    static std::int64_t read(void* self, std::int64_t offset, std::uint8_t* out, std::int64_t n) {
        auto& clip = *static_cast<CountedClip*>(self);
        const std::int64_t left = static_cast<std::int64_t>(clip.bytes_.size()) - offset;
        n = std::clamp<std::int64_t>(left, 0, n);
        std::copy_n(clip.bytes_.begin() + offset, n, out);
        clip.n_read_ += n;
        return n;
    }

    std::string bytes_;
    const ClaspFfmpeg& functions_;
    ClaspClip* clip_ = nullptr;
    std::int64_t n_read_ = 0;
};

constexpr int kFrames = 60;

std::string noisy_clip(int key_every) {
    std::string bytes = bytes_of(
        {.width = 320, .height = 240, .n_frames = kFrames, .key_every = key_every, .is_noisy = true});
    EXPECT_GT(bytes.size(), 1'000'000U) << "buffers of 65,536 bytes must not matter";
    return bytes;
}

TEST(ClipReads, DecodingBeginsAtTheKeyFrameBefore) {
    CountedClip clip(noisy_clip(5));
    EXPECT_LT(clip.share_read_for(kFrames - 1), 0.25);
    EXPECT_LT(clip.share_read_for(kFrames / 2), 0.25);
    CountedClip one_key(noisy_clip(300));
    EXPECT_GT(one_key.share_read_for(kFrames - 1), 0.9) << "nothing but the first frame can be begun with";
}

TEST(ClipReads, DecodingEndsBehindTheLastFrameNeeded) {
    CountedClip clip(noisy_clip(300));
    EXPECT_LT(clip.share_read_for(0), 0.25);
    EXPECT_LT(clip.share_read_for(10), 0.4);
}

// ---- other files ----

std::string number_of(std::size_t value, int n_bytes) {
    std::string bytes;
    for (int i = n_bytes - 1; i >= 0; --i) bytes += static_cast<char>(value >> (8 * i) & 0xFFU);
    return bytes;
}

// The data reference of a track that says: my frames are in the file at `path`. As QuickTime writes it.
std::string reference_to(const std::string& path) {
    std::string alias(10, '\0');                               // sizes and versions
    alias += '\1' + std::string("v") + std::string(26, '\0');  // the volume
    alias += std::string(12, '\0');                            // dates
    alias += '\1' + std::string("f") + std::string(62, '\0');  // the file
    alias += std::string(16, '\0');                            // numbers and kinds
    alias += number_of(0, 2) + number_of(0, 2) +
             std::string(16, '\0');  // folders up and down: none, it is absolute
    const std::string whole = path + std::string(path.size() % 2, '\0');
    alias += number_of(2, 2) + number_of(whole.size(), 2) + whole;  // the path
    alias += number_of(0xFFFF, 2) + number_of(0, 2);
    const std::string entry = "alis" + number_of(0, 4) + alias;
    return number_of(entry.size() + 4, 4) + entry;
}

// Puts `entry` in the place of the one data reference of a MOV file whose index is behind the frames.
std::string with_reference(std::string file, const std::string& entry) {
    const std::size_t dref = file.find("dref");
    EXPECT_NE(dref, std::string::npos);
    constexpr std::size_t kHead = 12;  // name, version, number of entries
    constexpr std::size_t kEntry = 12;
    file.replace(dref + kHead, kEntry, entry);
    const std::size_t more = entry.size() - kEntry;
    // It and the boxes around it, which begin before it, the innermost last.
    for (const char* name : {"dref", "dinf", "minf", "mdia", "trak", "moov"}) {
        const std::size_t at = file.rfind(name, dref) - 4;
        std::size_t size = 0;
        for (std::size_t i = 0; i < 4; ++i) size = size << 8U | static_cast<unsigned char>(file[at + i]);
        file.replace(at, 4, number_of(size + more, 4));
    }
    return file;
}

// How often somebody has opened a file since.
class Watch {
   public:
    explicit Watch(const std::string& path) : events_(inotify_init1(IN_NONBLOCK)) {
        EXPECT_GE(inotify_add_watch(events_, path.c_str(), IN_OPEN), 0);
    }
    ~Watch() { close(events_); }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    [[nodiscard]] std::size_t n_opened() const {
        alignas(inotify_event) std::array<char, 4096> found = {};
        const ssize_t n = ::read(events_, found.data(), found.size());
        return n > 0 ? static_cast<std::size_t>(n) / sizeof(inotify_event) : 0;
    }

   private:
    int events_;
};

// A track whose frames are said to be in another file, which is there and would do.
TEST(ClipReads, NoOtherFileIsOpened) {
    const std::string own = bytes_of({.format = "mov", .codec = "mjpeg"});
    const std::string other = scratch("other");
    std::ofstream(other, std::ios::binary) << own;
    const std::string path = scratch("refers");
    std::ofstream(path, std::ios::binary) << with_reference(own, reference_to(other));
    const Watch watch(other);
    const auto clip = open_clip({.path = path}, {});
    EXPECT_EQ(clip.status().code(), Code::Corrupt) << clip.status().message();
    EXPECT_THAT(clip.status().message(), testing::HasSubstr("the clip holds no frames"));
    EXPECT_EQ(watch.n_opened(), 0U);
    // The file can be seen to be opened, and the one that names it is whole but for its frames.
    EXPECT_TRUE(open_clip({.path = other}, {}).ok());
    EXPECT_GE(watch.n_opened(), 1U);
    fs::remove(path);
    fs::remove(other);
}

}  // namespace
}  // namespace clasp::video
