#include "image/exif.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "image/test_images.h"

namespace clasp::image {

namespace {

struct Field {
    std::uint16_t tag;
    std::uint16_t type;
    std::uint32_t count;
    std::uint32_t value;
};

class TiffWriter {
   public:
    explicit TiffWriter(bool is_big) : is_big_(is_big) {
        bytes_ = is_big ? std::vector<std::uint8_t>{'M', 'M'} : std::vector<std::uint8_t>{'I', 'I'};
        put(42, 2);
    }
    void put(std::uint32_t value, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) {
            const std::size_t shift = 8 * (is_big_ ? n - 1 - i : i);
            bytes_.push_back(static_cast<std::uint8_t>(value >> shift));
        }
    }
    std::vector<std::uint8_t> bytes_;

   private:
    bool is_big_;
};

std::vector<std::uint8_t> tiff(bool is_big, const std::vector<Field>& fields) {
    TiffWriter writer(is_big);
    writer.put(8, 4);
    writer.put(static_cast<std::uint32_t>(fields.size()), 2);
    for (const Field& field : fields) {
        writer.put(field.tag, 2);
        writer.put(field.type, 2);
        writer.put(field.count, 4);
        writer.put(field.value, field.type == 3 ? 2 : 4);
        if (field.type == 3) writer.put(0, 2);
    }
    return writer.bytes_;
}

TEST(Exif, ReadsBothByteOrdersAndBothIntegerTypes) {
    for (const bool is_big : {false, true}) {
        for (const std::uint16_t type : {std::uint16_t{3}, std::uint16_t{4}}) {
            for (std::uint32_t value = 1; value <= 8; ++value) {
                const auto block = tiff(is_big, {{0x010F, 4, 1, 7}, {0x0112, type, 1, value}});
                EXPECT_EQ(exif_orientation(block), static_cast<int>(value));
            }
        }
    }
}

TEST(Exif, AnythingOddCountsAsUpright) {
    EXPECT_EQ(exif_orientation({}), 1);
    EXPECT_EQ(exif_orientation(tiff(false, {})), 1);
    EXPECT_EQ(exif_orientation(tiff(false, {{0x0112, 3, 1, 0}})), 1);
    EXPECT_EQ(exif_orientation(tiff(false, {{0x0112, 3, 1, 9}})), 1);
    EXPECT_EQ(exif_orientation(tiff(false, {{0x0112, 3, 1U << 30, 6}})), 1);
    EXPECT_EQ(exif_orientation(tiff(false, {{0x0112, 2, 1, 6}})), 1);
    auto wrong_magic = tiff(false, {{0x0112, 3, 1, 6}});
    wrong_magic[2] = 43;
    EXPECT_EQ(exif_orientation(wrong_magic), 1);
    auto far_directory = tiff(false, {{0x0112, 3, 1, 6}});
    far_directory[7] = 0xFF;
    EXPECT_EQ(exif_orientation(far_directory), 1);
}

TEST(Exif, EveryTruncationIsUprightOrRight) {
    const auto block = tiff(true, {{0x0112, 3, 1, 6}});
    for (std::size_t size = 0; size < block.size(); ++size) {
        const int orientation = exif_orientation(std::span(block).first(size));
        EXPECT_TRUE(orientation == 1 || orientation == 6) << size;
    }
}

TEST(Exif, PrefixIsDroppedOnlyWhenThere) {
    const std::vector<std::uint8_t> with = {'E', 'x', 'i', 'f', 0, 0, 'I'};
    EXPECT_EQ(strip_exif_prefix(with).size(), 1U);
    const std::vector<std::uint8_t> without = {'I', 'I'};
    EXPECT_EQ(strip_exif_prefix(without).size(), 2U);
}

// The corners of a 3 x 2 picture: a b c / d e f.
Image letters(int orientation) {
    Image image;
    image.width = 3;
    image.height = 2;
    for (std::uint8_t value = 'a'; value <= 'f'; ++value) image.rgb.insert(image.rgb.end(), 3, value);
    image.orientation = orientation;
    return image;
}

std::string shown(const Image& image) {
    std::string text;
    for (std::size_t i = 0; i < image.rgb.size(); i += 3) {
        if (i > 0 && i / 3 % static_cast<std::size_t>(image.width) == 0) text += '/';
        text += static_cast<char>(image.rgb[i]);
    }
    return text;
}

TEST(TurnUpright, MovesEveryPixelWhereTheTagSays) {
    const char* const want[] = {"abc/def",  "cba/fed",  "fed/cba",  "def/abc",
                                "ad/be/cf", "da/eb/fc", "fc/eb/da", "cf/be/ad"};
    for (int orientation = 1; orientation <= 8; ++orientation) {
        Work work({});
        const auto upright = turn_upright(letters(orientation), work);
        ASSERT_TRUE(upright.ok());
        EXPECT_EQ(shown(*upright), want[orientation - 1]) << orientation;
        EXPECT_EQ(upright->orientation, orientation);
    }
}

}  // namespace

}  // namespace clasp::image
