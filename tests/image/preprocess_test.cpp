#include "image/preprocess.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>

#include "image/test_images.h"

namespace clasp::image {

using testing::hash_of;
using testing::noise_image;

namespace {

Result<Image> fit_square(const Image& image, int side, const Colour& colour, Compat compat) {
    return apply_fit(image, square_fit({image.width, image.height}, side, colour, compat));
}

struct Reference {
    Size from;
    std::uint64_t hash;
};

// LLaVA-1.5's own pipeline: made by tests/data/images/pillow_reference.py with Pillow 9.4.0.
constexpr Reference kPillow[] = {
    {{97, 61}, 0x11DA8CE31E852C4B},   {{61, 97}, 0x5E578DB9AD664481},   {{50, 50}, 0x7504D3DBE259EFB0},
    {{400, 301}, 0x5D68FEFD403C7449}, {{336, 336}, 0x01E37E1BA29DF92D}, {{337, 20}, 0x25C63BD391257909},
    {{3, 500}, 0x51D4B05FF36DB100},
};

TEST(FitSquare, OriginalEqualsPadThenResizeInPillow) {
    for (const Reference& reference : kPillow) {
        const auto image = fit_square(noise_image(reference.from.width, reference.from.height), 336,
                                      kClipMeanColour, Compat::Original);
        ASSERT_TRUE(image.ok()) << image.status().message();
        EXPECT_EQ(hash_of(*image), reference.hash) << reference.from.width << " x " << reference.from.height;
    }
}

TEST(FitSquare, LlamaCppResizesFirstAndPadsWithTheColour) {
    const Image wide = noise_image(100, 30);
    const auto image = fit_square(wide, 64, kClipMeanColour, Compat::LlamaCpp);
    ASSERT_TRUE(image.ok());
    // 30 * 0.64 = 19.2 rows, rounded up to 20: rows 22 to 41 hold the picture.
    const auto strip = resize(wide, {64, 20}, Filter::Bicubic);
    ASSERT_TRUE(strip.ok());
    EXPECT_EQ(crop(*image, 0, 22, {64, 20})->rgb, strip->rgb);
    for (const int row : {0, 21, 42, 63}) {
        const auto line = crop(*image, 0, row, {64, 1});
        for (std::size_t i = 0; i < line->rgb.size(); ++i)
            ASSERT_EQ(line->rgb[i], kClipMeanColour[i % 3]) << row;
    }
}

TEST(FitSquare, SquaresNeedNoPaddingSoBothAgree) {
    const Image square = noise_image(90, 90);
    EXPECT_EQ(fit_square(square, 48, kClipMeanColour, Compat::Original)->rgb,
              fit_square(square, 48, kClipMeanColour, Compat::LlamaCpp)->rgb);
}

TEST(FitSquare, ThinPicturesDoNotTakeASquareOfMemory) {
    const Image thin = noise_image(16384, 82);
    const auto image = fit_square(thin, 32, kClipMeanColour, Compat::Original);
    ASSERT_TRUE(image.ok());
    EXPECT_EQ(image->width, 32);
    EXPECT_EQ(image->height, 32);
}

TEST(FitPadded, RoundsTheShortSideUpAndCentres) {
    const Fit fit = padded_fit({640, 488}, {672, 672}, {0, 0, 0}, Filter::Bicubic, Compat::Original);
    EXPECT_EQ(fit.resized, (Size{672, 513}));
    EXPECT_EQ(fit.size(), (Size{672, 672}));
    const auto image = apply_fit(noise_image(640, 488), fit);
    ASSERT_TRUE(image.ok());
    // 488 * 1.05 = 512.4, so 513 rows from row 79.
    const auto above = crop(*image, 0, 78, {672, 1});
    const auto first = crop(*image, 0, 79, {672, 1});
    const auto last = crop(*image, 0, 591, {672, 1});
    const auto below = crop(*image, 0, 592, {672, 1});
    const auto is_black = [](const Image& row) {
        for (const auto value : row.rgb) {
            if (value != 0) return false;
        }
        return true;
    };
    EXPECT_TRUE(is_black(*above));
    EXPECT_FALSE(is_black(*first));
    EXPECT_FALSE(is_black(*last));
    EXPECT_TRUE(is_black(*below));
}

TEST(StretchFit, IsAPlainResize) {
    const Image image = noise_image(30, 20);
    const Fit fit = stretch_fit({14, 28}, Filter::Bilinear);
    EXPECT_EQ(fit.size(), (Size{14, 28}));
    EXPECT_EQ(apply_fit(image, fit)->rgb, resize(image, {14, 28}, Filter::Bilinear)->rgb);
}

TEST(Normalise, MakesPlanesOfNormalisedSamples) {
    const Image image = noise_image(5, 4);
    const Normalisation clip;
    for (const Compat compat : {Compat::Original, Compat::LlamaCpp}) {
        const auto planes = normalise(image, clip, compat);
        ASSERT_TRUE(planes.ok());
        EXPECT_EQ(planes->width, 5);
        EXPECT_EQ(planes->height, 4);
        ASSERT_EQ(planes->values.size(), 60U);
        for (std::size_t channel = 0; channel < 3; ++channel) {
            for (std::size_t i = 0; i < 20; ++i) {
                const double want =
                    (image.rgb[i * 3 + channel] / 255.0 - static_cast<double>(clip.mean[channel])) /
                    static_cast<double>(clip.deviation[channel]);
                EXPECT_NEAR(static_cast<double>(planes->values[channel * 20 + i]), want, 1e-6);
            }
        }
    }
}

TEST(Normalise, LlamaCppDividesInFloat) {
    Image image = noise_image(256, 1);
    for (std::size_t i = 0; i < image.rgb.size(); ++i) image.rgb[i] = static_cast<std::uint8_t>(i / 3);
    const Normalisation clip;
    const auto planes = normalise(image, clip, Compat::LlamaCpp);
    ASSERT_TRUE(planes.ok());
    for (std::size_t i = 0; i < 256; ++i) {
        const float unit = static_cast<float>(i) / 255.0F;
        EXPECT_EQ(planes->values[i], (unit - clip.mean[0]) / clip.deviation[0]);
    }
}

TEST(Normalise, RefusesImpossibleDeviationsAndEmptyPictures) {
    Normalisation zero;
    zero.deviation[1] = 0.0F;
    EXPECT_EQ(normalise(noise_image(2, 2), zero, Compat::Original).status().code(), Code::InvalidArgument);
    Normalisation nan;
    nan.deviation[2] = std::nanf("");
    EXPECT_EQ(normalise(noise_image(2, 2), nan, Compat::Original).status().code(), Code::InvalidArgument);
    EXPECT_EQ(normalise(Image{}, {}, Compat::Original).status().code(), Code::InvalidArgument);
    EXPECT_EQ(fit_square(Image{}, 8, {}, Compat::Original).status().code(), Code::InvalidArgument);
}

}  // namespace

}  // namespace clasp::image
