#include "clasp/image.h"

#include <cstddef>
#include <new>
#include <string>
#include <utility>

#include "base/file.h"
#include "image/decoders.h"
#include "image/exif.h"
#include "image/limits.h"
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

Result<Image> decode_stored(std::span<const std::uint8_t> bytes, const ImageLimits& limits, image::Work& work,
                            Alpha alpha) {
    switch (sniff_image(bytes)) {
        case ImageFormat::Jpeg: return image::decode_jpeg(bytes, limits, work);
        case ImageFormat::Png: return image::decode_png(bytes, limits, work, alpha);
        case ImageFormat::Webp: return image::decode_webp(bytes, limits, work, alpha);
        case ImageFormat::Gif: return image::decode_gif(bytes, limits, work);
        case ImageFormat::Bmp: return image::decode_bmp(bytes, limits, work);
        case ImageFormat::Unknown: break;
    }
    return not_a_picture(bytes);
}

Result<image::StoredHeader> read_stored_header(std::span<const std::uint8_t> bytes, const ImageLimits& limits,
                                               image::Work& work) {
    switch (sniff_image(bytes)) {
        case ImageFormat::Jpeg: return image::read_jpeg_header(bytes, limits, work);
        case ImageFormat::Png: return image::read_png_header(bytes, limits, work);
        case ImageFormat::Webp: return image::read_webp_header(bytes, limits, work);
        case ImageFormat::Gif: return image::read_gif_header(bytes, limits, work);
        case ImageFormat::Bmp: return image::read_bmp_header(bytes, limits, work);
        case ImageFormat::Unknown: break;
    }
    return not_a_picture(bytes);
}

Status check_bytes(std::span<const std::uint8_t> bytes, const ImageLimits& limits) {
    if (bytes.empty()) return {Code::Corrupt, "the picture file is empty"};
    return bytes.size() > limits.max_file_bytes ? too_many_bytes(limits) : ok_status();
}

}  // namespace

Result<ImageHeader> read_image_header(std::span<const std::uint8_t> bytes, const ImageOptions& options) {
    CLASP_RETURN_IF_ERROR(check_bytes(bytes, options.limits));
    try {
        image::Work work(options);
        if (!work.spend(image::kMarkerWork)) return work.status();
        CLASP_ASSIGN_OR_RETURN(const image::StoredHeader stored,
                               read_stored_header(bytes, options.limits, work));
        CLASP_RETURN_IF_ERROR(image::check_size(stored.width, stored.height, options.limits));
        ImageHeader header;
        header.format = sniff_image(bytes);
        header.orientation = stored.orientation;
        header.size = {static_cast<int>(stored.width), static_cast<int>(stored.height)};
        if (options.apply_orientation && image::swaps_sides(stored.orientation)) {
            std::swap(header.size.width, header.size.height);
        }
        return header;
    } catch (const std::bad_alloc&) {
        return Status(Code::OutOfMemory, "not enough memory to read the picture's header");
    }
}

Result<Image> decode_image(std::span<const std::uint8_t> bytes, const ImageOptions& options) {
    CLASP_RETURN_IF_ERROR(check_bytes(bytes, options.limits));
    try {
        image::Work work(options);
        CLASP_ASSIGN_OR_RETURN(Image stored, decode_stored(bytes, options.limits, work, options.alpha));
        if (!options.apply_orientation) return stored;
        return image::turn_upright(std::move(stored), work);
    } catch (const std::bad_alloc&) {
        return Status(Code::OutOfMemory, "not enough memory to decode the picture");
    }
}

Result<Image> load_image(const std::string& path, const ImageOptions& options) {
    CLASP_ASSIGN_OR_RETURN(const std::string file, base::read_file(path, options.limits.max_file_bytes));
    auto image = decode_image({reinterpret_cast<const std::uint8_t*>(file.data()), file.size()}, options);
    if (!image.ok() && image.status().code() != Code::Cancelled) return image.status().with_context(path);
    return image;
}

}  // namespace clasp
