#include "clasp/image.h"

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "image/decoders.h"
#include "image/exif.h"
#include "image/sniff.h"

namespace clasp {

namespace {

Status not_a_picture(std::span<const std::uint8_t> bytes) {
    const std::string noun = image::describe_foreign(bytes);
    const std::string what =
        noun.empty() ? "the content is no known picture format" : "the content is " + noun;
    return {Code::Unsupported, what + "; pictures must be JPEG, PNG, WebP, GIF or BMP"};
}

Status too_many_bytes(const ImageLimits& limits) {
    return {Code::TooLarge,
            "the picture file exceeds the limit of " + std::to_string(limits.max_file_bytes) + " bytes"};
}

Result<Image> decode_stored(std::span<const std::uint8_t> bytes, const ImageLimits& limits) {
    switch (sniff_image(bytes)) {
        case ImageFormat::Jpeg: return image::decode_jpeg(bytes, limits);
        case ImageFormat::Png: return image::decode_png(bytes, limits);
        case ImageFormat::Webp: return image::decode_webp(bytes, limits);
        case ImageFormat::Gif: return image::decode_gif(bytes, limits);
        case ImageFormat::Bmp: return image::decode_bmp(bytes, limits);
        case ImageFormat::Unknown: break;
    }
    return not_a_picture(bytes);
}

struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
};

// At most limit + 1 bytes, so that an endless or growing file is found out without reading it all.
Result<std::vector<std::uint8_t>> read_file(const std::string& path, std::size_t limit) {
    errno = 0;
    const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
    if (file == nullptr) {
        const Code code = errno == ENOENT || errno == ENOTDIR ? Code::NotFound : Code::Unavailable;
        return Status(code, std::string("the file cannot be opened: ") + std::strerror(errno));
    }
    std::vector<std::uint8_t> bytes;
    constexpr std::size_t kChunk = std::size_t{1} << 16;
    while (bytes.size() <= limit) {
        const std::size_t held = bytes.size();
        bytes.resize(held + kChunk);
        const std::size_t got = std::fread(bytes.data() + held, 1, kChunk, file.get());
        bytes.resize(held + got);
        if (std::ferror(file.get()) != 0) {
            return Status(Code::Unavailable, std::string("the file cannot be read: ") + std::strerror(errno));
        }
        if (got == 0) break;
    }
    return bytes;
}

}  // namespace

Result<Image> decode_image(std::span<const std::uint8_t> bytes, const ImageOptions& options) {
    if (bytes.empty()) return Status(Code::Corrupt, "the picture file is empty");
    if (bytes.size() > options.limits.max_file_bytes) return too_many_bytes(options.limits);
    try {
        CLASP_ASSIGN_OR_RETURN(Image stored, decode_stored(bytes, options.limits));
        if (!options.apply_orientation) return stored;
        return image::turn_upright(std::move(stored));
    } catch (const std::bad_alloc&) {
        return Status(Code::OutOfMemory, "not enough memory to decode the picture");
    }
}

Result<Image> load_image(const std::string& path, const ImageOptions& options) {
    try {
        auto bytes = read_file(path, options.limits.max_file_bytes);
        if (!bytes.ok()) return bytes.status().with_context(path);
        auto image = decode_image(*bytes, options);
        if (!image.ok()) return image.status().with_context(path);
        return image;
    } catch (const std::bad_alloc&) {
        return Status(Code::OutOfMemory, path + ": not enough memory to read the file");
    }
}

}  // namespace clasp
