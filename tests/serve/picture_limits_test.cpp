// Limits on pictures, each at the limit and one above, by their headers alone: nothing is decoded for a
// count.
#include <gtest/gtest.h>

#include "serve_fixture.h"

namespace clasp::serve {
namespace {

using base::Json;

// A PNG whose header says that size.
std::string sized_png(unsigned width, unsigned height, std::size_t n_bytes = 0) {
    std::string bytes = picture_bytes();
    for (unsigned i = 0; i < 4; ++i) {
        bytes[16 + i] = static_cast<char>((width >> (24U - 8U * i)) & 255U);
        bytes[20 + i] = static_cast<char>((height >> (24U - 8U * i)) & 255U);
    }
    if (n_bytes > bytes.size()) bytes.resize(n_bytes, 'x');
    return bytes;
}

class PictureLimits : public testing::Test {
   protected:
    static void SetUpTestSuite() { server_ = start_server().release(); }
    static void TearDownTestSuite() { delete server_; }

    static Reply count(const std::vector<std::string>& pictures) {
        Json parts = Json::array({Json::object({{"type", "text"}, {"text", "What is this?"}})});
        for (const std::string& picture : pictures) {
            parts.push_back({{"type", "image_url"}, {"image_url", encode_base64(picture)}});
        }
        const Json message = {{"role", "user"}, {"content", parts}};
        return send(*server_, "/chat/completions/input_tokens",
                    Json::object({{"messages", Json::array({message})}}));
    }
    static std::string refusal_code(const std::vector<std::string>& pictures) {
        const Reply reply = count(pictures);
        return reply.status == 200 ? "" : refused(reply).code;
    }
    static Server* server_;
};
Server* PictureLimits::server_ = nullptr;

TEST_F(PictureLimits, PixelsSideRatioAndLeastSide) {
    EXPECT_EQ(refusal_code({sized_png(10000, 5000)}), "");
    EXPECT_EQ(refusal_code({sized_png(10000, 5001)}), "image_too_large");
    EXPECT_EQ(refusal_code({sized_png(16384, 100)}), "");
    EXPECT_EQ(refusal_code({sized_png(16385, 100)}), "image_too_large");
    EXPECT_EQ(refusal_code({sized_png(2000, 10)}), "");
    EXPECT_NE(refusal_code({sized_png(2010, 10)}), "");
    EXPECT_EQ(refusal_code({sized_png(2, 2)}), "");
    EXPECT_NE(refusal_code({sized_png(1, 1)}), "");
}

TEST_F(PictureLimits, PixelsOfAllTogether) {
    EXPECT_EQ(refusal_code({sized_png(10000, 5000), sized_png(10000, 5000)}), "");
    EXPECT_EQ(refusal_code({sized_png(10000, 5000), sized_png(10000, 5000), sized_png(2, 2)}),
              "image_too_large");
}

TEST_F(PictureLimits, NumberOfPictures) {
    const std::string small = sized_png(20, 20);
    EXPECT_EQ(refusal_code(std::vector<std::string>(16, small)), "");
    EXPECT_EQ(refusal_code(std::vector<std::string>(17, small)), "out_of_range");
}

// Three frames of one colour each: red, green, blue.
std::string moving_gif() {
    constexpr unsigned kSide = 32;
    const auto number = [](unsigned value) {
        return std::string{static_cast<char>(value & 255U), static_cast<char>(value >> 8U)};
    };
    std::string gif = "GIF89a" + number(kSide) + number(kSide);
    gif += std::string("\x81\x00\x00\xFF\x00\x00\x00\xFF\x00\x00\x00\xFF\xFF\xFF\xFF", 15);
    for (unsigned colour = 0; colour < 3; ++colour) {
        gif += std::string("\x21\xF9\x04\x00\x0A\x00\x00\x00,", 9) + number(0) + number(0) + number(kSide) +
               number(kSide) + std::string("\x00\x02", 2);
        // Codes of three bits, with a new beginning after every second pixel.
        std::string data;
        unsigned bits = 0;
        unsigned n_bits = 0;
        const auto put = [&](unsigned code) {
            bits |= code << n_bits;
            for (n_bits += 3; n_bits >= 8; n_bits -= 8, bits >>= 8U) data += static_cast<char>(bits & 255U);
        };
        for (unsigned i = 0; i < kSide * kSide; ++i) {
            if (i % 2 == 0) put(4);
            put(colour);
        }
        put(5);
        data += static_cast<char>(bits & 255U);
        for (std::size_t i = 0; i < data.size(); i += 255) {
            const std::string piece = data.substr(i, 255);
            gif += static_cast<char>(piece.size()) + piece;
        }
        gif += '\0';
    }
    return gif + ";";
}

// The command line takes it for a clip.
TEST_F(PictureLimits, OfWhatMovesTheFirstFrameIsSeen) {
    Json body = chat_body("What colour is it?", encode_base64(moving_gif()));
    body["clasp"] = Json::object({{"map", "final"}});
    const Reply reply = chat(*server_, body);
    ASSERT_EQ(reply.status, 200) << reply.body;
    const Json json = json_of(reply);
    EXPECT_EQ(json["clasp"]["images"].size(), 1U);
    EXPECT_EQ(json["clasp"]["images"][0]["width"], 32);
    EXPECT_EQ(json["usage"]["prompt_tokens_details"]["image_tokens"], 576);
    EXPECT_EQ(json["choices"][0]["message"]["content"], "red");
}

TEST_F(PictureLimits, BytesOfAFile) {
    EXPECT_EQ(refusal_code({sized_png(20, 20, std::size_t{20} << 20U)}), "");
    EXPECT_EQ(refusal_code({sized_png(20, 20, (std::size_t{20} << 20U) + 1)}), "image_too_large");
}

}  // namespace
}  // namespace clasp::serve
