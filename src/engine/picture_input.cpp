#include "engine/picture_input.h"

#include <cstring>
#include <span>
#include <utility>

#include "base/file.h"
#include "base/sha256.h"
#include "clasp/image.h"

namespace clasp::engine {

namespace {

std::span<const std::uint8_t> as_pixels(std::string_view bytes) {
    return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

ImageOptions image_options(Compat compat, const std::atomic<bool>* cancel) {
    ImageOptions options;
    options.cancel = cancel;
    options.apply_orientation = compat == Compat::Original;  // llama.cpp does not turn pictures
    return options;
}

Status in_context(const Status& status, const std::string& path) {
    const bool is_named = !path.empty() && status.code() != Code::Cancelled;
    return is_named ? status.with_context(path) : status;
}

Result<PlannedPicture> plan_picture(const ImageSource& source, const model::VisionModel& model,
                                    const model::PlanOptions& planning, const std::atomic<bool>* cancel) {
    const ImageOptions options = image_options(planning.compat, cancel);
    PlannedPicture picture;
    picture.path = source.path;
    picture.given = source.bytes;
    picture.planning = planning;
    if (!source.path.empty()) {
        CLASP_ASSIGN_OR_RETURN(picture.file, base::read_file(source.path, options.limits.max_file_bytes));
    }
    const auto header = read_image_header(as_pixels(picture.bytes()), options);
    if (!header.ok()) return in_context(header.status(), picture.path);
    auto plan = model.plan(header->size, planning);
    if (!plan.ok()) return in_context(plan.status(), picture.path);
    picture.plan = std::move(*plan);
    return picture;
}

// What a piece's layers depend on: its pixels say how the picture was treated, its shape what the encoder
// makes of them.
FeatureKey feature_key(const model::PiecePixels& piece, const base::Digest& pixels,
                       const std::string& model_id, Compat compat) {
    base::Sha256 hash;
    hash.update(model_id);
    hash.update(compat == Compat::Original ? "original" : "llama.cpp");
    const model::PieceShape& shape = piece.piece.shape;
    for (const std::size_t number :
         {static_cast<std::size_t>(piece.piece.size.width), static_cast<std::size_t>(piece.piece.size.height),
          shape.patches.height, shape.patches.width, shape.n_prefix, shape.merge}) {
        hash.update(" " + std::to_string(number));
    }
    hash.update(std::as_bytes(std::span(pixels)));
    return base::to_hex(hash.finish());
}

// The digest of all pieces: of one, it is that piece's own.
base::Digest digest_of(const std::vector<base::Digest>& pieces) {
    if (pieces.size() == 1) return pieces.front();
    base::Sha256 hash;
    for (const base::Digest& piece : pieces) hash.update(std::as_bytes(std::span(piece)));
    return hash.finish();
}

}  // namespace

Result<std::vector<PlannedPicture>> plan_pictures(const std::vector<ImageSource>& sources,
                                                  const model::VisionModel& model,
                                                  const model::PlanOptions& planning,
                                                  const std::atomic<bool>* cancel) {
    std::vector<PlannedPicture> pictures;
    for (const ImageSource& source : sources) {
        CLASP_ASSIGN_OR_RETURN(PlannedPicture picture, plan_picture(source, model, planning, cancel));
        pictures.push_back(std::move(picture));
    }
    return pictures;
}

Result<std::shared_ptr<const PreparedPicture>> prepare_picture(const PlannedPicture& picture,
                                                               const model::VisionModel& model,
                                                               bool wants_image, VisionMemory* memory,
                                                               const std::atomic<bool>* cancel) {
    const Compat compat = picture.planning.compat;
    std::string name;
    if (memory != nullptr) {
        name = picture_name(picture.bytes(), picture.planning);
        const auto known = memory->find_picture(name);
        if (known != nullptr && (known->image != nullptr || !wants_image)) return known;
    }
    auto decoded = decode_image(as_pixels(picture.bytes()), image_options(compat, cancel));
    if (!decoded.ok()) return in_context(decoded.status(), picture.path);
    auto image = std::make_shared<Image>(std::move(*decoded));
    auto prepared = std::make_shared<PreparedPicture>();
    prepared->plan = picture.plan;
    const PixelSize size = {image->width, image->height};
    if (size != picture.plan.layout.picture) {
        // A header that was not the truth; what depends on it is only how many tokens there are.
        CLASP_ASSIGN_OR_RETURN(prepared->plan, model.plan(size, picture.planning));
        if (prepared->plan.layout.n_tokens() != picture.plan.layout.n_tokens() ||
            prepared->plan.layout.n_fixed != picture.plan.layout.n_fixed) {
            return in_context({Code::Corrupt, "the picture is not of the size that its header says"},
                              picture.path);
        }
    }
    CLASP_ASSIGN_OR_RETURN(prepared->pieces, model.preprocess(*image, prepared->plan, compat));
    prepared->warnings = std::move(image->warnings);
    std::vector<base::Digest> digests;
    for (const model::PiecePixels& piece : prepared->pieces) {
        digests.push_back(base::sha256(std::as_bytes(std::span(piece.values))));
        if (memory != nullptr) {
            prepared->keys.push_back(feature_key(piece, digests.back(), memory->model_id(), compat));
        }
    }
    const base::Digest digest = digest_of(digests);
    std::memcpy(&prepared->number, digest.data(), sizeof prepared->number);
    prepared->name = base::to_hex(digest);
    if (wants_image) prepared->image = std::move(image);
    if (memory != nullptr) memory->keep_picture(std::move(name), prepared);
    return std::shared_ptr<const PreparedPicture>(std::move(prepared));
}

}  // namespace clasp::engine
