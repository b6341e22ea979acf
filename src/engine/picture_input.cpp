#include "engine/picture_input.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "base/file.h"
#include "base/sha256.h"
#include "clasp/image.h"
#include "engine/key_hash.h"

namespace clasp::engine {

namespace {

std::span<const std::uint8_t> as_pixels(std::string_view bytes) {
    return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

ImageOptions image_options(const model::VisionInfo& info, Compat compat, const std::atomic<bool>* cancel) {
    ImageOptions options;
    options.cancel = cancel;
    options.apply_orientation = compat == Compat::Original;  // llama.cpp does not turn pictures
    if (compat == Compat::Original && info.lays_on_white) options.alpha = Alpha::OnWhite;
    return options;
}

Status in_context(const Status& status, const std::string& path) {
    const bool is_named = !path.empty() && status.code() != Code::Cancelled;
    return is_named ? status.with_context(path) : status;
}

Status plan_clip(const model::VisionModel& model, const video::SampleRule& rule, const ClipChoice& choice,
                 PlannedPicture& picture) {
    const video::Clip& clip = *picture.clip;
    const bool is_sampled = clip.format() == video::ClipFormat::Frames;
    CLASP_ASSIGN_OR_RETURN(picture.sample,
                           video::sample_clip(clip.seconds(), clip.fps(), is_sampled, rule, choice));
    CLASP_ASSIGN_OR_RETURN(
        picture.plan,
        model.plan_clip({clip.size(), picture.sample.seconds, picture.sample.fps}, picture.planning));
    return ok_status();
}

Result<PlannedPicture> plan_picture(const ImageSource& source, const model::VisionModel& model,
                                    const model::PlanOptions& planning, const ClipChoice& choice,
                                    const std::atomic<bool>* cancel) {
    const ImageOptions options = image_options(model.info(), planning.compat, cancel);
    PlannedPicture picture;
    picture.path = source.path;
    picture.given = source.bytes;
    picture.planning = planning;
    video::ClipOptions clip_options;
    clip_options.apply_orientation = options.apply_orientation;
    clip_options.cancel = cancel;
    if (!source.is_still) {
        CLASP_ASSIGN_OR_RETURN(picture.clip,
                               video::open_clip({source.path, source.bytes, source.frames}, clip_options));
    }
    if (picture.clip != nullptr) {
        const Status planned = plan_clip(model, model.info().sampling, choice, picture);
        if (!planned.ok()) return in_context(planned, picture.path);
        return picture;
    }
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

// What a piece's layers depend on: its pixels, and those of the pieces that it is encoded with, say how the
// picture was treated, its shape what the encoder makes of them.
FeatureKey feature_key(const model::PiecePixels& piece, std::span<const base::Digest> group,
                       std::size_t number_in_group, const std::string& model_id, Compat compat,
                       const std::string& scope) {
    base::Sha256 hash;
    if (!scope.empty()) hash.update("scope " + std::to_string(scope.size()) + " " + scope);
    hash.update(model_id);
    hash.update(compat == Compat::Original ? "original" : "llama.cpp");
    const model::PieceShape& shape = piece.piece.shape;
    for (const std::size_t number :
         {static_cast<std::size_t>(piece.piece.size.width), static_cast<std::size_t>(piece.piece.size.height),
          shape.patches.height, shape.patches.width, shape.n_prefix, shape.merge,
          static_cast<std::size_t>(shape.projects_prefix), shape.tower, number_in_group}) {
        hash.update(" " + std::to_string(number));
    }
    for (const base::Digest& pixels : group) hash.update(std::as_bytes(std::span(pixels)));
    return base::to_hex(hash.finish());
}

// The digest of all pieces: of one, it is that piece's own.
base::Digest digest_of(const std::vector<base::Digest>& pieces) {
    if (pieces.size() == 1) return pieces.front();
    base::Sha256 hash;
    for (const base::Digest& piece : pieces) hash.update(std::as_bytes(std::span(piece)));
    return hash.finish();
}

// Names and numbers of what was prepared, by its pixels.
void identify(PreparedPicture& prepared, const VisionMemory* memory, Compat compat,
              const std::string& scope) {
    std::vector<base::Digest> digests;
    for (const model::PiecePixels& piece : prepared.pieces) {
        digests.push_back(base::sha256(std::as_bytes(std::span(piece.values))));
    }
    const std::size_t n_at_once = prepared.plan.pieces_at_once;
    for (std::size_t i = 0; i < digests.size() && memory != nullptr; ++i) {
        const auto group = std::span(digests).subspan(i / n_at_once * n_at_once, n_at_once);
        prepared.keys.push_back(
            feature_key(prepared.pieces[i], group, i % n_at_once, memory->model_id(), compat, scope));
    }
    const base::Digest digest = digest_of(digests);
    std::memcpy(&prepared.number, digest.data(), sizeof prepared.number);
    prepared.name = base::to_hex(digest);
}

// Frames of a map are kept as they were decoded, up to so many bytes.
constexpr std::size_t kMaxKeptFrameBytes = std::size_t{2} << 30U;

Status check_kept_frames(const PlannedPicture& picture, const video::SampleRule& rule) {
    const PixelSize size = picture.clip->size();
    const std::size_t n_bytes = picture.sample.frames.size() * 3 * static_cast<std::size_t>(size.width) *
                                static_cast<std::size_t>(size.height);
    if (n_bytes <= kMaxKeptFrameBytes) return ok_status();
    return {Code::TooLarge, "to be drawn, " + std::to_string(picture.sample.frames.size()) + " frames of " +
                                std::to_string(size.width) + " x " + std::to_string(size.height) +
                                " pixels take " + std::to_string(n_bytes) +
                                " bytes, more than the limit of " + std::to_string(kMaxKeptFrameBytes) +
                                (rule.is_fixed ? "; ask without a map" : "; ask for fewer frames")};
}

// Decodes the frames that were sampled; each is cut as it comes.
Result<std::shared_ptr<const PreparedPicture>> prepare_clip(const PlannedPicture& picture,
                                                            const model::VisionModel& model, bool wants_image,
                                                            VisionMemory* memory) {
    const Compat compat = picture.planning.compat;
    if (wants_image) CLASP_RETURN_IF_ERROR(check_kept_frames(picture, model.info().sampling));
    auto prepared = std::make_shared<PreparedPicture>();
    prepared->plan = picture.plan;
    model::PieceRenderer renderer(prepared->plan);
    const Status decoded =
        picture.clip->decode(picture.sample.frames, [&](std::size_t number, Image&& frame) -> Status {
            CLASP_RETURN_IF_ERROR(renderer.add(frame, number));
            if (wants_image) prepared->frames.push_back(std::make_shared<const Image>(std::move(frame)));
            return ok_status();
        });
    if (!decoded.ok()) return in_context(decoded, picture.path);
    CLASP_ASSIGN_OR_RETURN(prepared->pieces, model.pieces_of(renderer, compat));
    prepared->warnings = picture.clip->notes();
    identify(*prepared, memory, compat, picture.scope);
    if (wants_image) prepared->image = prepared->frames.front();
    return std::shared_ptr<const PreparedPicture>(std::move(prepared));
}

// What a clip is remembered by: which it is, and what was to be seen of it how.
std::string clip_name(const PlannedPicture& picture) {
    std::string text = "clip " + picture.clip->identity();
    for (const std::size_t frame : picture.sample.frames) text += " " + std::to_string(frame);
    return picture_name(text, picture.planning);
}

}  // namespace

Result<std::vector<PlannedPicture>> plan_pictures(const std::vector<ImageSource>& sources,
                                                  const model::VisionModel& model,
                                                  const model::PlanOptions& planning,
                                                  const std::atomic<bool>* cancel, const ClipChoice& choice) {
    std::vector<PlannedPicture> pictures;
    for (const ImageSource& source : sources) {
        CLASP_ASSIGN_OR_RETURN(PlannedPicture picture, plan_picture(source, model, planning, choice, cancel));
        pictures.push_back(std::move(picture));
    }
    return pictures;
}

std::size_t most_frames_of_ours(const model::VisionModel& model, const ClipChoice& choice,
                                const std::vector<PlannedPicture>& pictures) {
    if (choice.n_frames || choice.fps || model.info().sampling.is_fixed) return 0;
    std::size_t most = 0;
    for (const PlannedPicture& picture : pictures) {
        if (picture.clip == nullptr || picture.clip->format() == video::ClipFormat::Frames) continue;
        most = std::max(most, picture.sample.frames.size());
    }
    return most;
}

Status see_fewer_frames(const model::VisionModel& model, const ClipChoice& choice, std::size_t max_frames,
                        std::vector<PlannedPicture>& pictures) {
    video::SampleRule rule = model.info().sampling;
    rule.n_frames = std::min(rule.n_frames, max_frames);
    rule.max_frames = std::min(rule.max_frames, max_frames);
    for (PlannedPicture& picture : pictures) {
        if (picture.clip == nullptr || picture.clip->format() == video::ClipFormat::Frames) continue;
        const Status planned = plan_clip(model, rule, choice, picture);
        if (!planned.ok()) return in_context(planned, picture.path);
    }
    return ok_status();
}

Result<std::shared_ptr<const PreparedPicture>> prepare_picture(const PlannedPicture& picture,
                                                               const model::VisionModel& model,
                                                               bool wants_image, VisionMemory* memory,
                                                               const std::atomic<bool>* cancel) {
    const Compat compat = picture.planning.compat;
    std::string name;
    if (memory != nullptr) {
        name = picture.clip != nullptr ? clip_name(picture) : picture_name(picture.bytes(), picture.planning);
        if (!picture.scope.empty()) {
            KeyHash hash("scope");
            hash.add(picture.scope);
            hash.add(name);
            name = hash.finish();
        }
        const auto known = memory->find_picture(name);
        if (known != nullptr && (known->image != nullptr || !wants_image)) return known;
    }
    if (picture.clip != nullptr) {
        CLASP_ASSIGN_OR_RETURN(auto prepared, prepare_clip(picture, model, wants_image, memory));
        if (memory != nullptr) memory->keep_picture(std::move(name), prepared);
        return prepared;
    }
    auto decoded = decode_image(as_pixels(picture.bytes()), image_options(model.info(), compat, cancel));
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
    identify(*prepared, memory, compat, picture.scope);
    if (wants_image) prepared->image = std::move(image);
    if (memory != nullptr) memory->keep_picture(std::move(name), prepared);
    return std::shared_ptr<const PreparedPicture>(std::move(prepared));
}

}  // namespace clasp::engine
