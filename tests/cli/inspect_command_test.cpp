// inspect: what a file needs beside it, and the exit code of what cannot be run.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "run_program.h"
#include "support/json.h"
#include "support/paths.h"
#include "support/random_mmproj.h"
#include "support/random_qwen_mmproj.h"

namespace clasp::cli {
namespace {

std::string model(const std::string& name) {
    return std::string(test::source_dir()) + "/models/" + name;
}

TEST(Inspect, ALoneFileSaysWhatItNeeds) {
    const Outcome text = run({"inspect", model("clasp-tiny.gguf")});
    EXPECT_EQ(text.code, 0) << text.err;
    EXPECT_NE(text.out.find("needs          a vision file that gives tokens of width 128"), std::string::npos)
        << text.out;
    const Outcome vision = run({"inspect", model("clasp-tiny-mmproj.gguf"), "--json"});
    EXPECT_EQ(vision.code, 0) << vision.err;
    EXPECT_EQ(test::parsed(vision.out)["needs"], "a text model of width 128");
    const Outcome both =
        run({"inspect", model("clasp-tiny.gguf"), "--mmproj", model("clasp-tiny-mmproj.gguf")});
    EXPECT_EQ(both.code, 0) << both.err;
    EXPECT_EQ(both.out.find("needs"), std::string::npos) << both.out;
}

// Tiles of LLaVA-NeXT's size in a tower of no size.
std::string tiled_file(const std::string& merge_type) {
    test::MmprojSpec spec;
    spec.image_size = 336;
    spec.width = 8;
    spec.n_heads = 1;
    spec.ffn_width = 8;
    spec.n_blocks = 1;
    spec.merge_type = merge_type;
    std::string path = std::string(test::scratch_dir()) + "/inspect-" + merge_type + "-" +
                       std::to_string(getpid()) + ".gguf";
    std::ofstream out(path, std::ios::binary);
    test::write_random_mmproj(test::tiled(spec), out);
    return path;
}

TEST(Inspect, GivesTheTableOfLlavaNext) {
    struct Row {
        const char* picture;
        base::Json resized, tiles, grid;
        int tokens, spatial;
    };
    const std::vector<Row> table = {
        {"640x480", {672, 504}, {2, 2}, {48, 36}, 2340, 2880},
        {"480x640", {504, 672}, {2, 2}, {36, 48}, 2352, 2880},
        {"1000x300", {1008, 303}, {3, 1}, {72, 22}, 2182, 2304},
        {"300x1000", {303, 1008}, {1, 3}, {22, 72}, 2232, 2304},
        {"1920x1080", {672, 378}, {2, 2}, {48, 28}, 1948, 2880},
        {"672x672", {672, 672}, {2, 2}, {48, 48}, 2928, 2880},
        {"800x800", {672, 672}, {2, 2}, {48, 48}, 2928, 2880},
        {"336x336", {336, 336}, {1, 2}, {24, 24}, 1176, 1728},
        {"200x100", {336, 168}, {1, 2}, {24, 12}, 876, 1728},
        {"704x396", {672, 378}, {2, 2}, {48, 26}, 1850, 2880},
        {"396x704", {378, 672}, {2, 2}, {26, 48}, 1872, 2880},
    };
    const std::string unpad = tiled_file("spatial_unpad");
    const std::string spatial = tiled_file("spatial");
    const auto image_of = [](const std::string& file, const char* picture) {
        const Outcome result = run({"inspect", file, "--image", picture, "--json"});
        EXPECT_EQ(result.code, 0) << result.err;
        return base::Json(test::parsed(result.out)["image"]);
    };
    for (const Row& row : table) {
        SCOPED_TRACE(row.picture);
        const base::Json image = image_of(unpad, row.picture);
        EXPECT_EQ(image["resized"], row.resized);
        EXPECT_EQ(image["tiles"], row.tiles);
        EXPECT_EQ(image["grid"], row.grid);
        EXPECT_EQ(image["tokens"], row.tokens);
        EXPECT_EQ(image["fixed"], row.grid[1]);
        EXPECT_EQ(image_of(spatial, row.picture)["tokens"], row.spatial);
        EXPECT_EQ(image_of(spatial, row.picture)["fixed"], 0);
    }
    const std::string text = run({"inspect", unpad, "--image", "640x480"}).out;
    EXPECT_NE(text.find("336 x 672, 672 x 336, 672 x 672, 1008 x 336, 336 x 1008 px in tiles of 336 and an "
                        "overview, arranged by spatial_unpad"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("becomes 2340 visual tokens (grid: 48 x 36, line breaks: 36)"), std::string::npos)
        << text;
    const base::Json vision = test::parsed(run({"inspect", unpad, "--json"}).out)["vision"];
    EXPECT_EQ(vision["tile_merge"], "spatial_unpad");
    EXPECT_EQ(vision["resolutions"][3], (base::Json{1008, 336}));
    std::filesystem::remove(unpad);
    std::filesystem::remove(spatial);
}

// The size of the picture decides, so there is no number of tokens, but there are limits.
TEST(Inspect, ATowerForAnySizeHasARangeOfTokens) {
    const std::string path = std::string(test::scratch_dir()) + "/inspect-qwen.gguf";
    {
        std::ofstream out(path, std::ios::binary);
        test::write_random_qwen_mmproj({}, out);
    }
    const base::Json vision = test::parsed(run({"inspect", path, "--json"}).out)["vision"];
    EXPECT_TRUE(vision["tokens"].is_null());
    EXPECT_EQ(vision["token_range"]["least"], 4);
    EXPECT_EQ(vision["token_range"]["most"], 16384);
    EXPECT_NE(run({"inspect", path}).out.find("  tokens         4 to 16384, by the size of the picture"),
              std::string::npos);
    const base::Json fixed =
        test::parsed(run({"inspect", model("clasp-tiny-mmproj.gguf"), "--json"}).out)["vision"];
    EXPECT_EQ(fixed["tokens"], 576);
    EXPECT_FALSE(fixed.contains("token_range"));
    std::filesystem::remove(path);
}

TEST(Inspect, TellsWhatAPictureBecomes) {
    const std::string vision = model("clasp-tiny-mmproj.gguf");
    const auto image_of = [](const std::vector<std::string>& words) {
        const Outcome result = run(words);
        EXPECT_EQ(result.code, 0) << result.err;
        return base::Json(test::parsed(result.out)["image"]);
    };
    const base::Json wide = image_of({"inspect", vision, "--image", "640x480", "--json"});
    EXPECT_EQ(wide["width"], 640);
    EXPECT_EQ(wide["height"], 480);
    EXPECT_EQ(wide["tiles"], (base::Json{1, 1}));
    EXPECT_EQ(wide["pieces"], 1);
    EXPECT_EQ(wide["resized"][0], wide["resized"][1]) << "a square";
    EXPECT_EQ(wide["tokens"],
              wide["grid"][0].get<int>().value_or(0) * wide["grid"][1].get<int>().value_or(0));
    EXPECT_EQ(image_of({"inspect", "tiny", "--image", "640x480", "--json"}), wide);
    // Turned upright by its Exif orientation.
    const std::string turned =
        std::string(test::source_dir()) + "/tests/data/images/exif_flower_bigendian_8.jpg";
    const base::Json upright = image_of({"inspect", vision, "--image", turned, "--json"});
    EXPECT_EQ(upright["width"], 360);
    EXPECT_EQ(upright["height"], 480);
    EXPECT_NE(run({"inspect", vision, "--image", "640x480"}).out.find("640 x 480"), std::string::npos);
    for (const char* bad : {"640x", "640x480x3", "no-such-picture.png"}) {
        EXPECT_EQ(run({"inspect", vision, "--image", bad}).code, 1) << bad;
    }
    for (const char* bad : {"1x480", "640x0", "640x99999999999"}) {
        EXPECT_EQ(run({"inspect", vision, "--image", bad}).code, 2) << bad << ": no size that a picture has";
    }
    const Outcome text = run({"inspect", model("clasp-tiny.gguf"), "--image", "640x480"});
    EXPECT_EQ(text.code, 1);
    EXPECT_NE(text.err.find("is not a vision file"), std::string::npos) << text.err;
}

TEST(Inspect, WhatCannotRunEndsWithOne) {
    const Outcome pair =
        run({"inspect", model("clasp-tiny.gguf"), "--mmproj", model("clasp-tiny.gguf"), "--json"});
    EXPECT_EQ(pair.code, 1);
    EXPECT_EQ(test::parsed(pair.out)["fits"], false);
    EXPECT_NE(pair.err.find("is not a vision file"), std::string::npos) << pair.err;

    // A type that no kernel knows, in the table of a file that is otherwise whole: same bytes per weight.
    std::ifstream in(model("clasp-tiny.gguf"), std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    const std::size_t name = bytes.find("blk.0.ffn_down.weight");
    const std::size_t type = name + std::string("blk.0.ffn_down.weight").size() + 4 + 2 * 8;
    ASSERT_EQ(bytes[type], 1) << "F16";
    bytes[type] = 25;  // I16
    const std::string path = std::string(test::scratch_dir()) + "/i16.gguf";
    std::ofstream(path, std::ios::binary) << bytes;
    const Outcome lone = run({"inspect", path, "--json"});
    EXPECT_EQ(lone.code, 1);
    EXPECT_EQ(test::parsed(lone.out)["supported"], false);
    EXPECT_NE(lone.err.find("blk.0.ffn_down.weight is of type i16"), std::string::npos) << lone.err;
}

}  // namespace
}  // namespace clasp::cli
