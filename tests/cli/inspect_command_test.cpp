// inspect: what a file needs beside it, and the exit code of what cannot be run.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "run_program.h"
#include "support/json.h"
#include "support/paths.h"

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
    for (const char* bad : {"640x", "640x480x3", "1x480", "640x99999999999", "no-such-picture.png"}) {
        EXPECT_NE(run({"inspect", vision, "--image", bad}).code, 0) << bad;
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
