// The generator: determinism, disjoint splits, labels, files.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "support/file_limit.h"
#include "support/json.h"
#include "world/compose.h"
#include "world/labels.h"
#include "world/painter.h"
#include "world/write_scenes.h"

namespace clasp::world {
namespace {

constexpr Split kSplits[] = {Split::Train, Split::Calibrate, Split::Test};

TEST(World, same_address_same_picture) {
    for (const int side : {8, 16, 24}) {
        const Scene a = compose_scene(Split::Test, 3, 14, side);
        const Scene b = compose_scene(Split::Test, 3, 14, side);
        EXPECT_EQ(signature(a), signature(b));
        EXPECT_EQ(paint_scene(a).rgb(), paint_scene(b).rgb());
        EXPECT_EQ(paint_scene(a).side(), side * kPatch);
    }
}

TEST(World, another_seed_or_index_is_another_scene) {
    std::set<std::uint64_t> seen;
    for (std::uint64_t seed = 0; seed < 4; ++seed)
        for (std::uint64_t index = 0; index < 50; ++index)
            seen.insert(signature(compose_scene(Split::Test, seed, index)));
    EXPECT_EQ(seen.size(), 200U);
}

TEST(World, a_scene_belongs_to_the_split_that_owns_its_signature) {
    for (const Split split : kSplits)
        for (std::uint64_t index = 0; index < 60; ++index)
            EXPECT_EQ(split_of(signature(compose_scene(split, 5, index))), split);
}

TEST(World, test_only_combinations_never_leak) {
    int in_test = 0;
    for (const Split split : kSplits)
        for (std::uint64_t index = 0; index < 200; ++index) {
            const Scene scene = compose_scene(split, 6, index, 16);
            for (const Item& item : scene.items) {
                bool only = false;
                if (item.kind == Kind::Shape) only = is_test_only(item.shape(), item.colour);
                if (item.kind == Kind::Tool) only = is_test_only(item.tool(), scene.place);
                if (item.kind == Kind::Sign) only = is_test_only_text(item.text);
                if (split == Split::Test)
                    in_test += only ? 1 : 0;
                else
                    EXPECT_FALSE(only);
            }
        }
    EXPECT_GT(in_test, 50);
}

TEST(World, items_stay_inside_and_apart) {
    for (const int side : {8, 16, 24})
        for (std::uint64_t index = 0; index < 60; ++index) {
            const Scene scene = compose_scene(Split::Train, 7, index, side);
            for (std::size_t i = 0; i < scene.items.size(); ++i) {
                const Item& a = scene.items[i];
                EXPECT_GE(a.x - a.half_w, 0);
                EXPECT_GE(a.y - a.half_h, 0);
                EXPECT_LE(a.x + a.half_w, static_cast<float>(scene.pixels()));
                EXPECT_LE(a.y + a.half_h, static_cast<float>(scene.pixels()));
                for (std::size_t j = 0; j < i; ++j) {
                    const Item& b = scene.items[j];
                    EXPECT_TRUE(std::abs(a.x - b.x) >= a.half_w + b.half_w ||
                                std::abs(a.y - b.y) >= a.half_h + b.half_h);
                }
            }
        }
}

TEST(World, most_of_a_picture_is_background) {
    long items = 0;
    long all = 0;
    for (std::uint64_t index = 0; index < 40; ++index) {
        const Scene scene = compose_scene(Split::Test, 8, index);
        for (const PatchLabels& label : label_patches(scene, paint_scene(scene))) {
            items += label.thing != 0;
            ++all;
        }
    }
    EXPECT_GT(items, all / 20);
    EXPECT_LT(items, all / 3);
}

TEST(World, labels_agree_with_the_items) {
    for (std::uint64_t index = 0; index < 60; ++index) {
        const Scene scene = compose_scene(Split::Train, 9, index, 16);
        const auto labels = label_patches(scene, paint_scene(scene));
        std::size_t centres = 0;
        std::size_t glyphs = 0;
        std::size_t expected_glyphs = 0;
        for (const PatchLabels& label : labels) {
            centres += label.centre;
            glyphs += label.glyph != 0;
        }
        for (const Item& item : scene.items)
            if (item.kind == Kind::Sign) expected_glyphs += item.size == Size::Large ? 6 : 3;
        EXPECT_LE(centres, scene.items.size());
        EXPECT_GE(centres + 1, scene.items.size());  // two centres may share a patch
        EXPECT_EQ(glyphs, expected_glyphs);
        for (const Item& item : scene.items) {
            if (item.kind != Kind::Shape || item.shape() == Shape::Ring) continue;
            const int row = static_cast<int>(item.y) / kPatch;
            const int column = static_cast<int>(item.x) / kPatch;
            const PatchLabels& label = labels[static_cast<std::size_t>(row * scene.side + column)];
            EXPECT_EQ(label.thing, 1 + item.variant);
            EXPECT_EQ(label.colour, 1 + static_cast<int>(item.colour));
        }
    }
}

TEST(World, writes_pictures_and_questions) {
    const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "scenes";
    std::filesystem::remove_all(folder);
    WriteOptions options;
    options.count = 9;
    options.questions_per_scene = 2;
    const auto report = write_scenes(folder, options);
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_EQ(report->scenes, 9);
    std::ifstream lines(folder / "questions.jsonl");
    std::string line;
    int count = 0;
    std::set<int> classes;
    while (std::getline(lines, line)) {
        const base::Json json = test::parsed(line);
        EXPECT_EQ(json["question_id"], count++);
        EXPECT_TRUE(std::filesystem::exists(folder / json["image"].get<std::string>().value()));
        EXPECT_FALSE(json["answer"].get<std::string>().value().empty());
        EXPECT_EQ(json["conversations"][0]["value"], "<image>\n" + json["text"].get<std::string>().value());
        classes.insert(json["class_id"].get<int>().value());
    }
    EXPECT_EQ(count, report->questions);
    EXPECT_EQ(classes.size(), 9U);
    std::filesystem::remove_all(folder);
}

TEST(World, a_full_disk_is_named_and_leaves_no_part_of_a_file) {
    const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "full-scenes";
    std::filesystem::remove_all(folder);
    WriteOptions options;
    options.count = 3;
    {
        const test::FileLimit limit(1000);
        EXPECT_EQ(write_scenes(folder, options).status().message(),
                  "cannot write '" + (folder / "images/000000.png").string() + "': File too large");
    }
    EXPECT_TRUE(std::filesystem::is_empty(folder / "images"));
    std::filesystem::remove(folder / "images");
    EXPECT_TRUE(std::filesystem::is_empty(folder));
    std::filesystem::remove_all(folder);
}

TEST(World, says_what_is_wrong) {
    EXPECT_FALSE(parse_split("exam").ok());
    EXPECT_EQ(*parse_split("calibrate"), Split::Calibrate);
    WriteOptions none;
    EXPECT_EQ(write_scenes("unused", none).status().code(), Code::InvalidArgument);
    none.count = 1;
    EXPECT_EQ(write_scenes("/proc/no-such-folder", none).status().code(), Code::Unavailable);
}

}  // namespace
}  // namespace clasp::world
