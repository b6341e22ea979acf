#include "engine/visual_input.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "base/sha256.h"
#include "base/stopwatch.h"
#include "clasp/image.h"
#include "engine/reduce_image.h"
#include "image/preprocess.h"

namespace clasp::engine {

namespace {

Result<Image> read_image(const ImageSource& source, model::Compat compat) {
    ImageOptions options;
    options.apply_orientation = compat == model::Compat::Original;  // llama.cpp does not turn pictures
    if (!source.path.empty()) return load_image(source.path, options);
    return decode_image({reinterpret_cast<const std::uint8_t*>(source.bytes.data()), source.bytes.size()},
                        options);
}

Result<std::vector<float>> preprocess(const Image& picture, const model::VisionInfo& info,
                                      model::Compat compat) {
    const auto arithmetic =
        compat == model::Compat::Original ? image::Arithmetic::Original : image::Arithmetic::LlamaCpp;
    CLASP_ASSIGN_OR_RETURN(const Image square, image::fit_square(picture, static_cast<int>(info.image_size),
                                                                 image::kClipMeanColour, arithmetic));
    image::Normalisation normalisation;
    normalisation.mean = info.mean;
    normalisation.deviation = info.std;
    CLASP_ASSIGN_OR_RETURN(image::PixelPlanes planes, image::normalise(square, normalisation, arithmetic));
    return std::move(planes.values);
}

// The preprocessed pixels already say how the picture was treated, so pixels, model and numbers are all
// that the layers depend on.
FeatureKey feature_key(const base::Digest& pixels, const std::string& model_id, model::Compat compat) {
    base::Sha256 hash;
    hash.update(model_id);
    hash.update(compat == model::Compat::Original ? "original" : "llama.cpp");
    hash.update(std::as_bytes(std::span(pixels)));
    return base::to_hex(hash.finish());
}

// What the mix and the method read.
model::EncodeRequest needed_blocks(const VisualRequest& request) {
    model::EncodeRequest needed;
    needed.compat = request.compat;
    needed.layers = model::layers_of(request.mix);
    if (request.run == nullptr) return needed;
    const methods::EncoderNeeds& needs = request.run->program().encoder;
    add_blocks(needed.layers, needs.layers);
    needed.class_attention = needs.class_attention;
    needed.class_query = needs.class_query;
    needed.keys = needs.keys;
    return needed;
}

template <typename Parts>
bool has_blocks(const Parts& parts, const std::vector<std::size_t>& wanted) {
    return std::all_of(wanted.begin(), wanted.end(), [&](std::size_t block) {
        return std::any_of(parts.begin(), parts.end(), [&](const auto& part) { return part.layer == block; });
    });
}

template <typename Parts>
void add_parts(std::vector<std::size_t>& blocks, const Parts& parts) {
    std::vector<std::size_t> more;
    for (const auto& part : parts) more.push_back(part.layer);
    add_blocks(blocks, more);
}

bool has_all(const model::VisionLayers& layers, const model::EncodeRequest& needed, bool needs_class_row) {
    const bool has_class_rows =
        std::none_of(layers.layers.begin(), layers.layers.end(),
                     [](const model::LayerOutput& layer) { return layer.class_row.empty(); });
    return has_blocks(layers.layers, needed.layers) &&
           has_blocks(layers.class_attention, needed.class_attention) &&
           has_blocks(layers.class_query, needed.class_query) && has_blocks(layers.keys, needed.keys) &&
           (has_class_rows || !needs_class_row);
}

// The layers of an image from memory, or else encoded: together with what is there already and with what
// other questions would need, so that methods which take turns do not push each other out.
Result<model::VisionLayers> find_layers(const PreparedPicture& picture, const VisualRequest& request,
                                        model::VisionSession& session, VisionMemory* memory,
                                        double& encode_ms) {
    const model::EncodeRequest needed = needed_blocks(request);
    model::EncodeRequest wanted = needed;
    const bool needs_class_row = request.run != nullptr && request.run->program().has_after_encoder;
    if (memory != nullptr) {
        std::optional<model::VisionLayers> known = memory->layers().find(picture.key, needed.layers);
        if (!known) known = memory->layers().find(picture.key, {});
        if (known && has_all(*known, needed, needs_class_row)) return std::move(*known);
        wanted = memory->to_encode(needed);
        if (known) {
            add_parts(wanted.layers, known->layers);
            add_parts(wanted.class_attention, known->class_attention);
            add_parts(wanted.class_query, known->class_query);
            add_parts(wanted.keys, known->keys);
        }
        std::vector<std::size_t> extra = request.extra_layers;
        std::erase_if(extra, [&](std::size_t layer) { return layer >= session.model().info().n_blocks; });
        add_blocks(wanted.layers, extra);
    }
    CLASP_ASSIGN_OR_RETURN(model::VisionLayers layers,
                           session.encode(picture.pixels, wanted, request.cancel));
    encode_ms += layers.encode_ms;
    if (memory != nullptr) {
        memory->note_encoded(needed);
        memory->layers().store(picture.key, layers);
    }
    return layers;
}

Result<SeenImage> see_image(const PreparedPicture& picture, const VisualRequest& request, std::size_t image,
                            model::VisionSession& session, VisionMemory* memory, VisualInput& input) {
    const bool merges_inside = request.run != nullptr && !request.run->program().encoder_blocks.empty();
    if (!merges_inside) {
        CLASP_ASSIGN_OR_RETURN(const model::VisionLayers layers,
                               find_layers(picture, request, session, memory, input.encode_ms));
        return reduce_image(request, image, layers, nullptr, session, input);
    }
    if (request.mix.size() != 1) {
        return Status(Code::InvalidArgument,
                      "the method merges tokens inside the encoder, where layers hold different tokens, so "
                      "layers cannot be mixed; ask for no fusion");
    }
    const model::MergePlace place = {image, request.keep[image], request.pool};
    CLASP_ASSIGN_OR_RETURN(
        const model::MergedLayers merged,
        session.encode_merging(picture.pixels, needed_blocks(request), *request.run, place, request.cancel));
    input.encode_ms += merged.layers.encode_ms - merged.merge_ms;
    input.select_ms += merged.merge_ms;
    return reduce_image(request, image, merged.layers, &merged.members, session, input);
}

Result<std::shared_ptr<const PreparedPicture>> prepare(const ImageSource& source, model::Compat compat,
                                                       const model::VisionInfo& info, VisionMemory* memory) {
    const bool is_named = memory != nullptr && source.path.empty();  // a file may change between two requests
    std::string name;
    if (is_named) {
        name = picture_name(source.bytes, compat);
        if (auto known = memory->find_picture(name)) return known;
    }
    CLASP_ASSIGN_OR_RETURN(Image picture, read_image(source, compat));
    auto prepared = std::make_shared<PreparedPicture>();
    CLASP_ASSIGN_OR_RETURN(prepared->pixels, preprocess(picture, info, compat));
    prepared->warnings = std::move(picture.warnings);
    const base::Digest digest = base::sha256(std::as_bytes(std::span(prepared->pixels)));
    std::memcpy(&prepared->number, digest.data(), sizeof prepared->number);
    if (memory != nullptr) prepared->key = feature_key(digest, memory->model_id(), compat);
    if (is_named) memory->keep_picture(std::move(name), prepared);
    return std::shared_ptr<const PreparedPicture>(std::move(prepared));
}

}  // namespace

Result<VisualInput> prepare_images(const std::vector<ImageSource>& images, const VisualRequest& request,
                                   model::VisionSession& session, VisionMemory* memory) {
    VisualInput input;
    for (std::size_t i = 0; i < images.size(); ++i) {
        const ImageSource& source = images[i];
        base::Stopwatch watch;
        CLASP_ASSIGN_OR_RETURN(const auto picture,
                               prepare(source, request.compat, session.model().info(), memory));
        for (const std::string& warning : picture->warnings) {
            input.notes.push_back(source.path.empty() ? warning : source.path + ": " + warning);
        }
        input.image_ms += watch.elapsed_ms();
        CLASP_ASSIGN_OR_RETURN(SeenImage seen, see_image(*picture, request, i, session, memory, input));
        seen.picture = picture->number;
        input.images.push_back(std::move(seen));
    }
    return input;
}

}  // namespace clasp::engine
