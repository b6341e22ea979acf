// Video-LLaVA's two towers: every layer, class attention, keys and tokens against plain loops; what the
// authors' model and its port have in common; plans of pictures and clips; what files share.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "model/vision_model.h"
#include "support/gguf_edit.h"
#include "support/random_mmproj.h"
#include "support/reference_videollava.h"
#include "support/vision_fixture.h"

namespace clasp::model {
namespace {

using test::EditedGguf;
using test::Matrix;
using test::MmprojSpec;
using test::relative_error;
using test::VideoParts;
using testing::HasSubstr;

constexpr std::size_t kFrames = 4;

ClipFrames clip_of(PixelSize size, std::size_t n) {
    ClipFrames clip = {size, {}, 2.0};
    for (std::size_t i = 0; i < n; ++i) clip.seconds.push_back(0.5 * static_cast<double>(i));
    return clip;
}

struct LoadedVideo {
    std::string file;
    std::shared_ptr<const VisionModel> model;
    std::unique_ptr<VisionSession> session;
};

LoadedVideo load_video(const std::string& file,
                       const VisionOptions& options = {.weights = VisionWeights::File}) {
    LoadedVideo loaded;
    loaded.file = file;
    auto compute = Compute::create({.n_threads = 1, .use_gpu = false});
    auto model = VisionModel::load_bytes(test::bytes_of(loaded.file), options, *compute);
    EXPECT_TRUE(model.ok()) << model.status().message();
    if (!model.ok()) return loaded;
    loaded.model = *model;
    auto session = VisionSession::create(*model);
    EXPECT_TRUE(session.ok());
    loaded.session = std::move(*session);
    return loaded;
}

// Frames of the tower's own size with random pixels.
std::vector<PiecePixels> random_clip(const VisionModel& model, std::size_t n, bool are_equal = false) {
    const auto side = static_cast<int>(model.info().image_size);
    const auto plan = model.plan_clip(clip_of({side, side}, n), {});
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    std::vector<PiecePixels> pieces;
    for (std::size_t i = 0; i < n && plan.ok(); ++i) {
        pieces.push_back(
            {plan->pieces[i], test::random_pixels(model.info().image_size, are_equal ? 3 : 3 + i)});
    }
    return pieces;
}

// In the groups of its plan.
std::vector<VisionLayers> encode_clip(LoadedVideo& loaded, const std::vector<PiecePixels>& pieces,
                                      const EncodeRequest& request) {
    const std::size_t n_at_once = loaded.model->info().clip->has_temporal_part ? pieces.size() : 1;
    std::vector<VisionLayers> all;
    for (std::size_t first = 0; first < pieces.size(); first += n_at_once) {
        auto layers = loaded.session->encode_group(std::span(pieces).subspan(first, n_at_once), request);
        EXPECT_TRUE(layers.ok()) << layers.status().message();
        if (!layers.ok()) return all;
        for (VisionLayers& piece : *layers) all.push_back(std::move(piece));
    }
    return all;
}

std::vector<std::size_t> blocks_of(const VisionModel& model) {
    std::vector<std::size_t> blocks(model.info().n_blocks);
    for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = i;
    return blocks;
}

struct VideoCase {
    const char* name;
    MmprojSpec spec;
    VisionWeights weights;
    double tolerance;
};

MmprojSpec video_spec(const VideoParts& parts, ggml_type type, bool use_gelu = true) {
    MmprojSpec spec = test::videollava_mmproj(parts);
    spec.matrix_type = type;
    spec.use_gelu = use_gelu;
    return spec;
}

// More rows than one tile of the attention kernel, and a rest of pixels without a patch.
MmprojSpec wide_video(bool has_time) {
    MmprojSpec spec = video_spec({.n_frames = 3, .has_time = has_time}, GGML_TYPE_F32);
    spec.image_size = 100;
    spec.patch_size = 12;
    spec.n_blocks = 3;
    return spec;
}

class VideoLlavaReference : public testing::TestWithParam<VideoCase> {};

TEST_P(VideoLlavaReference, EveryLayerAttentionKeysAndTokensOfFrames) {
    LoadedVideo loaded = load_video(test::random_mmproj(GetParam().spec), {.weights = GetParam().weights});
    ASSERT_NE(loaded.session, nullptr);
    const double tolerance = GetParam().tolerance;
    const std::size_t n = loaded.model->info().clip->n_frames;
    const std::vector<PiecePixels> pieces = random_clip(*loaded.model, n);
    std::vector<std::vector<float>> frames;
    for (const PiecePixels& piece : pieces) frames.push_back(piece.values);
    const auto reader = GgufReader::parse(test::bytes_of(loaded.file));
    ASSERT_TRUE(reader.ok());
    const test::ReferenceVideoLlava reference(*reader);
    const test::ReferenceClip wanted = reference.encode_clip(frames);
    const auto blocks = blocks_of(*loaded.model);
    const auto got = encode_clip(
        loaded, pieces, {.layers = blocks, .class_attention = blocks, .keys = blocks, .class_query = blocks});
    ASSERT_EQ(got.size(), n);
    const std::size_t native = loaded.model->info().feature_layer;
    for (std::size_t f = 0; f < n; ++f) {
        SCOPED_TRACE("frame " + std::to_string(f));
        const test::ReferenceOutput& frame = wanted.frames[f];
        for (const std::size_t block : blocks) {
            EXPECT_LT(relative_error(got[f].layers[block].values, frame.layers[block].values), tolerance);
            EXPECT_TRUE(got[f].layers[block].class_row.empty()) << "it is a token";
            EXPECT_LT(relative_error(got[f].keys[block].values, frame.keys[block].values), tolerance);
            EXPECT_LT(
                relative_error(got[f].class_attention[block].per_head, frame.class_attention[block].values),
                3 * tolerance);
            EXPECT_EQ(got[f].class_query[block].values.size(), loaded.model->info().width);
        }
        const auto tokens = loaded.session->project(
            got[f], {{.layer = 0, .weight = 0.25}, {.layer = native, .weight = 0.75}});
        ASSERT_TRUE(tokens.ok()) << tokens.status().message();
        Matrix fused = frame.layers[0];
        for (std::size_t i = 0; i < fused.values.size(); ++i) {
            fused.values[i] = 0.25 * fused.values[i] + 0.75 * frame.layers[native].values[i];
        }
        EXPECT_EQ(tokens->n_tokens(), fused.rows) << "the class row is one";
        EXPECT_LT(relative_error(tokens->values, reference.project(fused).values), tolerance);
    }
}

// The tower for pictures is LLaVA's, whose class row is no token.
TEST_P(VideoLlavaReference, EveryLayerAndTheTokensOfPictures) {
    LoadedVideo loaded = load_video(test::random_mmproj(GetParam().spec), {.weights = GetParam().weights});
    ASSERT_NE(loaded.session, nullptr);
    const std::size_t size = loaded.model->info().image_size;
    const PiecePixels pixels = test::whole_piece(*loaded.model, test::random_pixels(size, 5));
    const auto reader = GgufReader::parse(test::bytes_of(loaded.file));
    ASSERT_TRUE(reader.ok());
    const test::ReferenceVit reference(*reader);
    const test::ReferenceOutput wanted = reference.encode(pixels.values);
    const auto blocks = blocks_of(*loaded.model);
    const auto got = loaded.session->encode(pixels, {.layers = blocks, .class_attention = blocks});
    ASSERT_TRUE(got.ok()) << got.status().message();
    for (const std::size_t block : blocks) {
        const Matrix patches = test::patches_of(wanted.layers[block]);
        EXPECT_LT(relative_error(got->layers[block].values, patches.values), GetParam().tolerance);
        EXPECT_LT(relative_error(got->class_attention[block].per_head, wanted.class_attention[block].values),
                  3 * GetParam().tolerance);
    }
    const auto tokens = loaded.session->project(*got, {{.layer = blocks.back(), .weight = 1.0}});
    ASSERT_TRUE(tokens.ok());
    EXPECT_LT(
        relative_error(tokens->values, reference.project(test::patches_of(wanted.layers.back())).values),
        GetParam().tolerance);
}

INSTANTIATE_TEST_SUITE_P(
    Files, VideoLlavaReference,
    testing::Values(
        VideoCase{"AuthorsF32", video_spec({.n_frames = kFrames}, GGML_TYPE_F32), VisionWeights::File, 1e-5},
        VideoCase{"AuthorsF16", video_spec({.n_frames = 2}, GGML_TYPE_F16), VisionWeights::File, 3e-3},
        VideoCase{"AuthorsQ8_0", video_spec({.n_frames = kFrames}, GGML_TYPE_Q8_0), VisionWeights::File,
                  4e-2},
        VideoCase{"AuthorsQuickGelu", video_spec({.n_frames = kFrames}, GGML_TYPE_F32, false),
                  VisionWeights::File, 1e-3},
        VideoCase{"AuthorsWide", wide_video(true), VisionWeights::File, 1e-5},
        VideoCase{"AuthorsWideAsI16", wide_video(true), VisionWeights::I16, 4e-3},
        VideoCase{"AuthorsAsI16", video_spec({.n_frames = 8}, GGML_TYPE_F32), VisionWeights::I16, 4e-3},
        VideoCase{"PortF32",
                  video_spec({.n_frames = kFrames, .has_time = false, .is_port = true}, GGML_TYPE_F32),
                  VisionWeights::File, 1e-5},
        VideoCase{"PortWideAsI16", wide_video(false), VisionWeights::I16, 4e-3}),
    [](const auto& test) { return test.param.name; });

// ---- What the two models have in common ----

void fill_zeros(EditedGguf& file, const std::string& part) {
    for (test::EditedTensor& tensor : file.tensors) {
        if (tensor.name.find(part) != std::string::npos) tensor.data.assign(tensor.data.size(), '\0');
    }
}

std::string without_time(EditedGguf file) {
    std::erase_if(file.tensors, [](const test::EditedTensor& tensor) {
        return tensor.name.find(".t_") != std::string::npos;
    });
    file.key("clip.video.temporal_attention").set(GgufType::Bool, std::uint8_t{0});
    return file.bytes();
}

std::vector<float> last_layers(LoadedVideo& loaded, const std::vector<PiecePixels>& pieces) {
    const std::size_t last = loaded.model->info().n_blocks - 1;
    std::vector<float> all;
    for (const VisionLayers& piece : encode_clip(loaded, pieces, {.layers = {last}})) {
        all.insert(all.end(), piece.layers[0].values.begin(), piece.layers[0].values.end());
    }
    return all;
}

// Neither a frame's own vector nor what is seen in other frames: each frame is what the port sees alone.
TEST(VideoLlava, WithoutItsTemporalPartTheAuthorsTowerIsThePorts) {
    for (const VisionWeights weights : {VisionWeights::File, VisionWeights::I16}) {
        EditedGguf file =
            EditedGguf::parse(test::random_mmproj(video_spec({.n_frames = kFrames}, GGML_TYPE_F32)));
        const std::string port = without_time(file);
        LoadedVideo whole = load_video(file.bytes(), {.weights = weights});
        fill_zeros(file, ".t_embd");
        LoadedVideo no_vectors = load_video(file.bytes(), {.weights = weights});
        fill_zeros(file, ".t_attn_out");
        LoadedVideo nothing = load_video(file.bytes(), {.weights = weights});
        LoadedVideo alone = load_video(port, {.weights = weights});
        ASSERT_NE(alone.session, nullptr);
        const auto pieces = random_clip(*alone.model, kFrames);
        const auto wanted = last_layers(alone, pieces);
        EXPECT_LT(relative_error(last_layers(nothing, pieces), wanted), 1e-5);
        EXPECT_GT(relative_error(last_layers(no_vectors, pieces), wanted), 1e-2) << "attention matters";
        EXPECT_GT(relative_error(last_layers(whole, pieces), last_layers(no_vectors, pieces)), 1e-2)
            << "vectors matter";
    }
}

TEST(VideoLlava, EqualFramesGiveEqualRowsInThePortAndOthersInTheAuthorsModel) {
    for (const bool has_time : {false, true}) {
        LoadedVideo loaded =
            load_video(test::random_mmproj(video_spec({.n_frames = 8, .has_time = has_time}, GGML_TYPE_F16)));
        const auto layers = encode_clip(loaded, random_clip(*loaded.model, 8, true), {.layers = {3}});
        ASSERT_EQ(layers.size(), 8U);
        for (std::size_t f = 1; f < 8; ++f) {
            EXPECT_EQ(layers[f].layers[0].values == layers[0].layers[0].values, !has_time) << f;
        }
    }
}

// Where no vector tells frames apart, attention over equal frames gives each the same.
TEST(VideoLlava, FramesDifferByTheirVectorsAlone) {
    EditedGguf file =
        EditedGguf::parse(test::random_mmproj(video_spec({.n_frames = kFrames}, GGML_TYPE_F32)));
    fill_zeros(file, ".t_embd");
    LoadedVideo loaded = load_video(file.bytes());
    const auto layers = encode_clip(loaded, random_clip(*loaded.model, kFrames, true), {.layers = {3}});
    for (std::size_t f = 1; f < kFrames; ++f) {
        EXPECT_LT(relative_error(layers[f].layers[0].values, layers[0].layers[0].values), 1e-6);
    }
}

TEST(VideoLlava, WhatTheTowerForFramesLacksIsThatForPictures) {
    const std::string sparse =
        test::random_mmproj(video_spec({.n_frames = kFrames, .has_own_tower = false}, GGML_TYPE_F16));
    EditedGguf full = EditedGguf::parse(sparse);
    const std::size_t n_before = full.tensors.size();
    for (std::size_t i = 0; i < n_before; ++i) {
        const std::string name = full.tensors[i].name;
        if (!name.starts_with("v.") || full.tensor("v" + name) != nullptr) continue;
        test::EditedTensor copy = full.tensors[i];
        copy.name = "v" + name;
        full.tensors.push_back(copy);
    }
    // One of three matrices that are kept as one.
    EditedGguf mixed = full;
    std::erase_if(mixed.tensors, [](const test::EditedTensor& tensor) {
        return tensor.name == "vv.blk.1.attn_k.weight" || tensor.name == "vv.blk.2.ln1.bias";
    });
    for (const VisionWeights weights : {VisionWeights::File, VisionWeights::I16}) {
        LoadedVideo some = load_video(sparse, {.weights = weights});
        LoadedVideo all = load_video(full.bytes(), {.weights = weights});
        LoadedVideo most = load_video(mixed.bytes(), {.weights = weights});
        ASSERT_NE(most.session, nullptr);
        const auto pieces = random_clip(*some.model, kFrames);
        EXPECT_EQ(last_layers(some, pieces), last_layers(all, pieces));
        EXPECT_EQ(last_layers(most, pieces), last_layers(all, pieces));
        EXPECT_LT(some.model->info().n_parameters, all.model->info().n_parameters) << "kept once";
    }
}

TEST(VideoLlava, APartOfTheBlocksGivesTheSameLayers) {
    LoadedVideo loaded = load_video(test::random_mmproj(video_spec({.n_frames = kFrames}, GGML_TYPE_F32)));
    const auto pieces = random_clip(*loaded.model, kFrames);
    const auto all = encode_clip(loaded, pieces, {.layers = {0, 1, 3}});
    const auto early = encode_clip(loaded, pieces, {.layers = {1}, .keys = {2}});
    for (std::size_t f = 0; f < kFrames; ++f) {
        EXPECT_EQ(early[f].layers[0].values, all[f].layers[1].values);
    }
}

// ---- Plans ----

TEST(VideoLlavaPlan, SaysWhatItIs) {
    const auto info = inspect_vision(test::bytes_of(test::random_mmproj(test::videollava_mmproj())));
    ASSERT_TRUE(info.ok()) << info.status().message();
    EXPECT_EQ(info->family, "videollava");
    EXPECT_EQ(info->n_tokens(), 16U);
    EXPECT_EQ(info->feature_layer, 3U);
    ASSERT_TRUE(info->clip.has_value());
    EXPECT_EQ(info->clip->n_frames, 8U);
    EXPECT_EQ(info->clip->n_tokens, 8U * 17U);
    EXPECT_TRUE(info->clip->has_class_rows && info->clip->has_temporal_part);
    EXPECT_FALSE(info->is_in_llama_cpp);
    EXPECT_EQ(info->sampling.places, video::SampleRule::Places::Floor);
    EXPECT_TRUE(info->sampling.repeats && info->sampling.is_fixed);
    const auto port = inspect_vision(
        test::bytes_of(test::random_mmproj(test::videollava_mmproj({.has_time = false, .is_port = true}))));
    ASSERT_TRUE(port.ok()) << port.status().message();
    EXPECT_EQ(port->sampling.places, video::SampleRule::Places::Starts);
    EXPECT_TRUE(port->sampling.repeats && !port->sampling.is_fixed);
}

// The 7B model's shape: 8 x 257 tokens of a clip, 256 of a picture.
TEST(VideoLlavaPlan, AClipIsItsFramesWithTheirClassRows) {
    MmprojSpec spec = test::videollava_mmproj();
    spec.image_size = 224;
    const LoadedVideo loaded = load_video(test::random_mmproj(spec));
    const auto plan = loaded.model->plan_clip(clip_of({640, 360}, 8), {});
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_EQ(plan->layout.n_tokens(), 2056U);
    EXPECT_EQ(plan->layout.n_steps, 8U);
    EXPECT_EQ(plan->pieces_at_once, 8U);
    ASSERT_EQ(plan->layout.regions.size(), 8U);
    for (const TokenRegion& region : plan->layout.regions) {
        EXPECT_TRUE(region.has_class);
        EXPECT_EQ(region.n_tokens(), 257U);
        // 640 x 360 becomes 398 x 224, of which 224 columns from 87 on are seen.
        EXPECT_DOUBLE_EQ(region.area.left, 87.0 * 640.0 / 398.0);
    }
    // The class row has no place on the picture; the next token is the first cell.
    EXPECT_EQ(plan->layout.cell(257).width, 0.0);
    EXPECT_EQ(plan->layout.cell(257).height, 0.0);
    EXPECT_GT(plan->layout.cell(258).width, 0.0);
    EXPECT_DOUBLE_EQ(plan->layout.cell(258).left, plan->layout.regions[1].area.left);
    const auto cells = token_cells(*plan);
    EXPECT_EQ(cells[257], (TokenCell{.piece = 1, .cell = 0}));
    EXPECT_EQ(cells[258], (TokenCell{.piece = 1, .cell = 1}));
    const auto still = loaded.model->plan({640, 360}, {});
    ASSERT_TRUE(still.ok());
    EXPECT_EQ(still->layout.n_tokens(), 256U);
    EXPECT_DOUBLE_EQ(still->layout.regions[0].area.top, -140.0) << "a picture is laid on a square";
}

TEST(VideoLlavaPlan, RefusesWhatTheModelCannotSee) {
    const LoadedVideo loaded = load_video(test::random_mmproj(test::videollava_mmproj()));
    const auto few = loaded.model->plan_clip(clip_of({64, 48}, 3), {});
    ASSERT_FALSE(few.ok());
    EXPECT_THAT(few.status().message(), HasSubstr("the model sees 8 frames of every clip, not 3"));
    for (const auto& refused : {loaded.model->plan_clip(clip_of({64, 48}, 8), {.compat = Compat::LlamaCpp}),
                                loaded.model->plan({64, 48}, {.compat = Compat::LlamaCpp})}) {
        ASSERT_FALSE(refused.ok());
        EXPECT_EQ(refused.status().code(), Code::Unsupported);
        EXPECT_THAT(refused.status().message(), HasSubstr("llama.cpp does not know the vision tower"));
    }
    const auto thin = loaded.model->plan_clip(clip_of({1, 20000}, 8), {});
    ASSERT_FALSE(thin.ok());
    EXPECT_THAT(thin.status().message(), HasSubstr("too narrow"));
}

// The authors' order: mean and deviation first, then the shorter side to the tower's, two samples per axis,
// then the square in the middle. Plain loops.
std::vector<float> authors_pixels(const Image& frame, int side, const VisionInfo& info) {
    const double scale =
        static_cast<double>(std::max(frame.width, frame.height)) / std::min(frame.width, frame.height);
    const int longer = static_cast<int>(std::floor(scale * side));
    const int width = frame.width < frame.height ? side : longer;
    const int height = frame.width < frame.height ? longer : side;
    const int left = static_cast<int>(std::nearbyint((width - side) / 2.0));
    const int top = static_cast<int>(std::nearbyint((height - side) / 2.0));
    const auto at = [&](std::size_t c, int x, int y) {
        const auto place = static_cast<std::size_t>(y * frame.width + x) * 3 + c;
        return (frame.rgb[place] / 255.0 - static_cast<double>(info.mean[c])) /
               static_cast<double>(info.std[c]);
    };
    std::vector<float> pixels;
    for (std::size_t c = 0; c < 3; ++c) {
        for (int row = top; row < top + side; ++row) {
            for (int column = left; column < left + side; ++column) {
                const double x = std::max(0.0, (column + 0.5) * frame.width / width - 0.5);
                const double y = std::max(0.0, (row + 0.5) * frame.height / height - 0.5);
                const int x0 = static_cast<int>(x);
                const int y0 = static_cast<int>(y);
                const int x1 = std::min(x0 + 1, frame.width - 1);
                const int y1 = std::min(y0 + 1, frame.height - 1);
                pixels.push_back(static_cast<float>(
                    (1 - (y - y0)) * ((1 - (x - x0)) * at(c, x0, y0) + (x - x0) * at(c, x1, y0)) +
                    (y - y0) * ((1 - (x - x0)) * at(c, x0, y1) + (x - x0) * at(c, x1, y1))));
            }
        }
    }
    return pixels;
}

Image noise(int width, int height, unsigned seed) {
    Image image;
    image.width = width;
    image.height = height;
    for (int i = 0; i < 3 * width * height; ++i) {
        seed = seed * 1664525U + 1013904223U;
        image.rgb.push_back(static_cast<std::uint8_t>(seed >> 24U));
    }
    return image;
}

TEST(VideoLlavaPlan, FramesAreResampledAsTheAuthorsDo) {
    const LoadedVideo loaded = load_video(test::random_mmproj(test::videollava_mmproj({.n_frames = 2})));
    for (const PixelSize size : {PixelSize{200, 113}, {60, 101}, {56, 56}, {20, 15}, {333, 57}}) {
        SCOPED_TRACE(std::to_string(size.width) + " x " + std::to_string(size.height));
        const auto plan = loaded.model->plan_clip(clip_of(size, 2), {});
        ASSERT_TRUE(plan.ok()) << plan.status().message();
        PieceRenderer renderer(*plan);
        const std::vector<Image> frames = {noise(size.width, size.height, 1),
                                           noise(size.width, size.height, 2)};
        for (std::size_t i = 0; i < 2; ++i) ASSERT_TRUE(renderer.add(frames[i], i).ok());
        const auto pieces = loaded.model->pieces_of(renderer, Compat::Original);
        ASSERT_TRUE(pieces.ok()) << pieces.status().message();
        for (std::size_t i = 0; i < 2; ++i) {
            const auto wanted = authors_pixels(frames[i], 56, loaded.model->info());
            // Places are in single precision.
            EXPECT_LT(relative_error((*pieces)[i].values, wanted), 1e-4);
        }
    }
}

// The port's frames and pictures alike: bicubic, rounded to bytes, the square in the middle.
TEST(VideoLlavaPlan, ThePortResamplesFramesAsPictures) {
    const LoadedVideo loaded = load_video(test::random_mmproj(test::videollava_mmproj(
        {.n_frames = 2, .has_time = false, .is_port = true, .is_language_bind = false})));
    const Image picture = noise(120, 77, 4);
    const auto still = loaded.model->plan({120, 77}, {});
    ASSERT_TRUE(still.ok()) << still.status().message();
    EXPECT_EQ(still->layout.resized, (PixelSize{87, 56}));
    EXPECT_EQ(still->pieces[0].left, 15);
    const auto pixels = loaded.model->preprocess(picture, *still, Compat::Original);
    ASSERT_TRUE(pixels.ok());
    const auto small = image::resize(picture, {87, 56}, image::Filter::Bicubic);
    const auto square = image::crop(*small, 15, 0, {56, 56});
    image::Normalisation normalisation;
    EXPECT_EQ(pixels->front().values, image::normalise(*square, normalisation, Compat::Original)->values);
    const auto plan = loaded.model->plan_clip(clip_of({120, 77}, 3), {});
    ASSERT_TRUE(plan.ok()) << plan.status().message() << ": any number of frames";
    EXPECT_EQ(plan->pieces_at_once, 1U);
    PieceRenderer renderer(*plan);
    for (std::size_t i = 0; i < 3; ++i) ASSERT_TRUE(renderer.add(picture, i).ok());
    const auto pieces = loaded.model->pieces_of(renderer, Compat::Original);
    ASSERT_TRUE(pieces.ok());
    EXPECT_EQ((*pieces)[2].values, pixels->front().values);
}

}  // namespace
}  // namespace clasp::model
