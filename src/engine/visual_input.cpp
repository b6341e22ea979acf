#include "engine/visual_input.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "base/sha256.h"
#include "base/stopwatch.h"
#include "clasp/image.h"
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
FeatureKey feature_key(std::span<const float> pixels, const std::string& model_id, model::Compat compat) {
    base::Sha256 hash;
    hash.update(model_id);
    hash.update(compat == model::Compat::Original ? "original" : "llama.cpp");
    hash.update(std::as_bytes(pixels));
    return base::to_hex(hash.finish());
}

}  // namespace

Result<VisualInput> prepare_images(const std::vector<ImageSource>& images, const VisualRequest& request,
                                   model::VisionSession& session, const std::string& model_id,
                                   FeatureCache* cache) {
    VisualInput input;
    const model::VisionInfo& info = session.model().info();
    const std::vector<std::size_t> needed = model::layers_of(request.mix);
    model::EncodeRequest encode;
    encode.compat = request.compat;
    encode.layers = needed;
    if (cache != nullptr) {
        for (const std::size_t layer : request.extra_layers) {
            if (layer < info.n_blocks) encode.layers.push_back(layer);
        }
        std::sort(encode.layers.begin(), encode.layers.end());
        encode.layers.erase(std::unique(encode.layers.begin(), encode.layers.end()), encode.layers.end());
    }
    for (const ImageSource& source : images) {
        base::Stopwatch watch;
        CLASP_ASSIGN_OR_RETURN(const Image picture, read_image(source, request.compat));
        for (const std::string& warning : picture.warnings) {
            input.notes.push_back(source.path.empty() ? warning : source.path + ": " + warning);
        }
        CLASP_ASSIGN_OR_RETURN(const std::vector<float> pixels, preprocess(picture, info, request.compat));
        const FeatureKey key =
            cache != nullptr ? feature_key(pixels, model_id, request.compat) : FeatureKey();
        std::optional<model::VisionLayers> layers =
            cache != nullptr ? cache->find(key, needed) : std::nullopt;
        input.image_ms += watch.elapsed_ms();
        if (!layers) {
            CLASP_ASSIGN_OR_RETURN(layers, session.encode(pixels, encode, request.cancel));
            input.encode_ms += layers->encode_ms;
            if (cache != nullptr) cache->store(key, *layers);
        }
        CLASP_ASSIGN_OR_RETURN(
            model::VisionTokens tokens,
            session.project(*layers, request.mix, {.gram = request.want_gram}, request.cancel));
        input.fuse_ms += tokens.fuse_ms;
        input.project_ms += tokens.project_ms;
        input.gram_ms += tokens.gram_ms;
        input.images.push_back(std::move(tokens));
    }
    return input;
}

}  // namespace clasp::engine
