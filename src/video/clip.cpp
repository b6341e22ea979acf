#include "video/clip.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "image/animation.h"
#include "video/byte_source.h"
#include "video/ffmpeg_clip.h"

namespace clasp::video {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHeadBytes = 64;

bool has_word(std::span<const std::uint8_t> bytes, std::size_t offset, std::string_view word) {
    return bytes.size() >= offset + word.size() &&
           std::equal(word.begin(), word.end(), bytes.begin() + static_cast<std::ptrdiff_t>(offset),
                      [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; });
}

std::span<const std::uint8_t> as_head(std::string_view bytes) {
    return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

// Empty when it cannot be read.
std::string head_of(const base::InputFile& file) {
    auto head = file.read(0, kHeadBytes);
    return head.ok() ? std::move(*head) : std::string();
}

bool names_picture(const fs::path& path) {
    constexpr std::array<std::string_view, 6> kEndings = {".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp"};
    const std::string ending = base::lower(path.extension().string());
    return std::find(kEndings.begin(), kEndings.end(), ending) != kEndings.end();
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// frame9 comes before frame10: runs of digits are compared as numbers.
bool comes_before(const std::string& a, const std::string& b) {
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < a.size() && j < b.size()) {
        if (!is_digit(a[i]) || !is_digit(b[j])) {
            if (a[i] != b[j]) return a[i] < b[j];
            ++i;
            ++j;
            continue;
        }
        const auto run = [](const std::string& text, std::size_t& at) {
            while (at < text.size() && text[at] == '0') ++at;
            const std::size_t begin = at;
            while (at < text.size() && is_digit(text[at])) ++at;
            return std::string_view(text).substr(begin, at - begin);
        };
        const std::string_view left = run(a, i);
        const std::string_view right = run(b, j);
        if (left.size() != right.size()) return left.size() < right.size();
        if (left != right) return left < right;
    }
    return a.size() - i != b.size() - j ? a.size() - i < b.size() - j : a < b;
}

Result<std::unique_ptr<Clip>> open_folder(const std::string& path, const ClipOptions& options) {
    std::vector<std::string> names;
    std::size_t n_others = 0;
    std::error_code error;
    for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        if (name.starts_with(".")) continue;
        if (!names_picture(name)) {
            ++n_others;
            continue;
        }
        names.push_back(name);
        if (names.size() > options.limits.max_pictures) {
            return Status(Code::TooLarge, "the folder has more than the limit of " +
                                              std::to_string(options.limits.max_pictures) + " pictures");
        }
    }
    if (error) return Status(Code::Unavailable, "the folder cannot be read: " + error.message());
    if (names.empty()) {
        return Status(Code::InvalidArgument,
                      "the folder has no pictures; the frames of a clip are its JPEG, PNG, WebP, GIF or BMP "
                      "files");
    }
    std::sort(names.begin(), names.end(), comes_before);
    for (std::string& name : names) name = (fs::path(path) / name).string();
    std::vector<std::string> notes;
    if (n_others > 0) {
        notes.push_back(std::to_string(n_others) +
                        " other files of the folder are no pictures and were left out");
    }
    return open_frames(std::move(names), std::move(notes), options);
}

Result<std::unique_ptr<Clip>> open_file(const std::string& path, const ClipOptions& options) {
    CLASP_ASSIGN_OR_RETURN(base::InputFile file, base::InputFile::open(path));
    CLASP_ASSIGN_OR_RETURN(const std::string head, file.read(0, kHeadBytes));
    const ClipFormat format = sniff_video(as_head(head));
    if (format != ClipFormat::None) return open_video(ByteSource(std::move(file)), format, options);
    const ImageFormat picture = sniff_image(as_head(head));
    if (picture != ImageFormat::Gif && picture != ImageFormat::Webp && picture != ImageFormat::Png) {
        return std::unique_ptr<Clip>();
    }
    // A picture that is too large is refused where pictures are read.
    if (file.size() > options.limits.picture.max_file_bytes) return std::unique_ptr<Clip>();
    CLASP_ASSIGN_OR_RETURN(std::string bytes, file.read(0, file.size()));
    if (!image::is_animated(as_head(bytes))) return std::unique_ptr<Clip>();
    return open_animation(std::move(bytes), options);
}

Result<std::unique_ptr<Clip>> open_bytes(std::string_view bytes, const ClipOptions& options) {
    const ClipFormat format = sniff_video(as_head(bytes));
    if (format != ClipFormat::None) return open_video(ByteSource(bytes), format, options);
    if (bytes.size() > options.limits.picture.max_file_bytes || !image::is_animated(as_head(bytes))) {
        return std::unique_ptr<Clip>();
    }
    return open_animation(std::string(bytes), options);
}

}  // namespace

ClipFormat sniff_video(std::span<const std::uint8_t> bytes) {
    if (has_word(bytes, 0, "\x1A\x45\xDF\xA3")) return ClipFormat::Matroska;
    if (has_word(bytes, 0, "RIFF") && has_word(bytes, 8, "AVI ")) return ClipFormat::Avi;
    if (has_word(bytes, 4, "ftyp")) {
        // Pictures in the same container.
        for (const std::string_view still : {"avif", "avis", "hei", "mif1", "msf1"}) {
            if (has_word(bytes, 8, still)) return ClipFormat::None;
        }
        return ClipFormat::Mp4;
    }
    // Old MOV files begin with any box.
    for (const std::string_view box : {"moov", "mdat", "wide", "free", "skip", "pnot"}) {
        if (has_word(bytes, 4, box)) return ClipFormat::Mp4;
    }
    return ClipFormat::None;
}

ClipFormat sniff_file(const std::string& path) {
    std::error_code error;
    if (fs::is_directory(path, error)) return ClipFormat::Frames;
    auto file = base::InputFile::open(path);
    return file.ok() ? sniff_video(as_head(head_of(*file))) : ClipFormat::None;
}

bool is_clip(const ClipSource& source) {
    if (!source.frames.empty()) return true;
    const auto moves = [](std::string_view bytes) {
        return sniff_video(as_head(bytes)) != ClipFormat::None || image::is_animated(as_head(bytes));
    };
    if (source.path.empty()) return moves(source.bytes);
    std::error_code error;
    if (fs::is_directory(source.path, error)) return true;
    auto file = base::InputFile::open(source.path);
    if (!file.ok()) return false;
    const std::string head = head_of(*file);
    if (sniff_video(as_head(head)) != ClipFormat::None) return true;
    const ImageFormat picture = sniff_image(as_head(head));
    const bool may_move =
        picture == ImageFormat::Gif || picture == ImageFormat::Webp || picture == ImageFormat::Png;
    if (!may_move || file->size() > ImageLimits().max_file_bytes) return false;
    const auto bytes = file->read(0, file->size());
    return bytes.ok() && moves(*bytes);
}

Result<std::unique_ptr<Clip>> open_clip(const ClipSource& source, const ClipOptions& options) {
    if (!source.frames.empty()) return open_frames(source.frames, {}, options);
    if (source.path.empty()) return open_bytes(source.bytes, options);
    std::error_code error;
    auto clip = fs::is_directory(source.path, error) ? open_folder(source.path, options)
                                                     : open_file(source.path, options);
    // Messages about the file itself name it already.
    const bool is_named = clip.ok() || clip.status().code() == Code::Cancelled ||
                          clip.status().message().find(source.path) != std::string::npos;
    if (!is_named) return clip.status().with_context(source.path);
    return clip;
}

}  // namespace clasp::video
