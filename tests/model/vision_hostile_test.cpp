// Damaged and malicious vision files: an error or a working model, never a crash, a hang or a huge
// allocation. The sanitizer builds run this too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "model/vision_model.h"
#include "support/gguf_writer.h"
#include "support/random_mmproj.h"
#include "support/vision_fixture.h"

namespace clasp::model {
namespace {

using test::bytes_of;
using ::testing::HasSubstr;

test::MmprojSpec tiny() {
    test::MmprojSpec spec;
    spec.image_size = 8;
    spec.patch_size = 4;
    spec.width = 32;
    spec.n_heads = 2;
    spec.ffn_width = 64;
    spec.n_blocks = 2;
    spec.projector_width = 32;
    spec.output_width = 32;
    return spec;
}

std::shared_ptr<Compute> compute() {
    static const std::shared_ptr<Compute> shared = *Compute::create({.n_threads = 1, .use_gpu = false});
    return shared;
}

// Loads the file and, if that works, runs a picture through it.
Status use(const std::string& file) {
    const auto model = VisionModel::load_bytes(bytes_of(file), {}, compute());
    if (!model.ok()) return model.status();
    const auto session = VisionSession::create(*model);
    if (!session.ok()) return session.status();
    const VisionInfo& info = (*model)->info();
    const auto side = static_cast<int>(info.image_size);
    const auto plan = (*model)->plan({side, side}, {});
    if (!plan.ok()) return plan.status();
    const PiecePixels pixels = {plan->pieces.front(),
                                std::vector<float>(3 * info.image_size * info.image_size, 0.25F)};
    const auto layers = (*session)->encode(pixels, {.layers = {info.n_blocks - 1}});
    if (!layers.ok()) return layers.status();
    return (*session)->project(*layers, {{.layer = info.n_blocks - 1, .weight = 1.0}}).status();
}

std::size_t header_bytes(const std::string& file) {
    const auto reader = GgufReader::parse(bytes_of(file));
    EXPECT_TRUE(reader.ok());
    const char* first = reinterpret_cast<const char*>(reader->tensors().front().data.data());
    return static_cast<std::size_t>(first - file.data());
}

TEST(VisionHostile, EveryTruncationIsAnError) {
    const std::string file = test::random_mmproj(tiny());
    ASSERT_TRUE(use(file).ok());
    const auto reader = GgufReader::parse(bytes_of(file));
    ASSERT_TRUE(reader.ok());
    const auto& last = reader->tensors().back();
    const auto end = static_cast<std::size_t>(
        reinterpret_cast<const char*>(last.data.data() + last.data.size()) - file.data());
    for (std::size_t size = 0; size < end; ++size) {
        const auto info = inspect_vision(bytes_of(file).first(size));
        ASSERT_FALSE(info.ok()) << "cut at " << size;
        ASSERT_FALSE(info.status().message().empty());
    }
    EXPECT_TRUE(inspect_vision(bytes_of(file).first(end)).ok()) << "only padding is missing";
}

TEST(VisionHostile, EveryDamagedHeaderByteIsSurvived) {
    const std::string file = test::random_mmproj(tiny());
    const std::size_t n_header = header_bytes(file);
    std::size_t n_errors = 0;
    std::size_t n_working = 0;
    for (std::size_t i = 0; i < n_header; ++i) {
        for (const int change : {0x01, 0x80, 0xFF}) {
            std::string damaged = file;
            damaged[i] = static_cast<char>(damaged[i] ^ change);
            (use(damaged).ok() ? n_working : n_errors)++;
        }
    }
    // Most of the header matters; what does not is, for example, informational text and padding.
    EXPECT_GT(n_errors, n_working);
    EXPECT_GT(n_working, 0U);
}

// A valid file with one u32 or u64 replaced by an extreme value, at every offset of the header.
TEST(VisionHostile, ExtremeNumbersEverywhereAreSurvived) {
    const std::string file = test::random_mmproj(tiny());
    const std::size_t n_header = header_bytes(file);
    for (std::size_t i = 0; i + 8 <= n_header; ++i) {
        for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1} << 31, ~std::uint64_t{0},
                                          std::uint64_t{1} << 62, std::uint64_t{0x7FFFFFFFFFFFFFFF}}) {
            std::string damaged = file;
            std::memcpy(damaged.data() + i, &value, sizeof(value));
            const auto info = inspect_vision(bytes_of(damaged));
            if (info.ok()) {
                ASSERT_LE(info->n_tokens(), 1U << 14);
            }
        }
    }
}

// Small hand-made containers.
std::string file_of(const std::function<void(test::GgufWriter&)>& fill) {
    test::GgufWriter writer;
    fill(writer);
    std::ostringstream out;
    writer.write(out);
    return out.str();
}

void expect_error(const std::string& file, Code code, const std::string& text) {
    const auto info = inspect_vision(bytes_of(file));
    ASSERT_FALSE(info.ok()) << text;
    EXPECT_EQ(info.status().code(), code) << info.status().message();
    EXPECT_THAT(info.status().message(), HasSubstr(text));
}

TEST(VisionHostile, MessagesNameTheProblem) {
    expect_error("", Code::Corrupt, "ends inside the header");
    expect_error("not a model file at all, just text", Code::Corrupt, "does not begin with GGUF");
    expect_error(file_of([](auto& w) { w.string("general.architecture", "llama"); }), Code::Unsupported,
                 "holds the architecture llama");
    const auto clip = [](auto& w) {
        w.string("general.architecture", "clip");
        w.flag("clip.has_vision_encoder", true);
    };
    expect_error(file_of(clip), Code::NotFound, "clip.vision.projector_type is missing");
    expect_error(
        file_of([&](auto& w) {
            clip(w);
            w.string("clip.projector_type", "cogvlm");
        }),
        Code::Unsupported,
        "cogvlm is not supported, because it goes with text models of the architecture cogvlm, which "
        "has no decoder here; supported are: mlp");
    expect_error(file_of([&](auto& w) {
                     clip(w);
                     w.string("clip.projector_type", "hologram");
                 }),
                 Code::Unsupported, "hologram is not supported; supported are: mlp");
    expect_error(file_of([&](auto& w) {
                     clip(w);
                     w.string("clip.projector_type", "mlp");
                     w.u32("clip.vision.image_size", 5000);
                 }),
                 Code::Corrupt, "clip.vision.image_size is 5000; it must be between 1 and 4096");
    expect_error(file_of([&](auto& w) {
                     clip(w);
                     w.string("clip.projector_type", "mlp");
                     w.string("clip.vision.image_size", "336");
                 }),
                 Code::Corrupt, "clip.vision.image_size is of type string, not an integer");
    expect_error(file_of([&](auto& w) {
                     clip(w);
                     w.flag("clip.has_vision_encoder", true);
                 }),
                 Code::Corrupt, "appears twice");
}

std::string replaced(std::string file, const std::string& from, const std::string& to) {
    const std::size_t at = file.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return file.replace(at, from.size(), to);
}

TEST(VisionHostile, EveryMissingTensorIsNamed) {
    const std::string file = test::random_mmproj(tiny());
    const auto reader = GgufReader::parse(bytes_of(file));
    ASSERT_TRUE(reader.ok());
    for (const GgufTensor& tensor : reader->tensors()) {
        const std::string name(tensor.name);
        std::string renamed = name;
        renamed[0] = 'X';
        const auto info = inspect_vision(bytes_of(replaced(file, name, renamed)));
        ASSERT_FALSE(info.ok()) << name;
        // Without one of a swapped pair the other is no longer known to be swapped, so it may be blamed.
        EXPECT_THAT(info.status().message(), HasSubstr(name.find("ffn") == std::string::npos ? name : "ffn"));
    }
}

TEST(VisionHostile, WrongShapesNameBoth) {
    test::MmprojSpec spec = tiny();
    std::string file = test::random_mmproj(spec);
    // The position table of a tower with fewer patches than its keys claim.
    std::string key = "clip.vision.image_size";
    const std::size_t at = file.find(key) + key.size() + sizeof(std::uint32_t);
    const std::uint32_t size = 16;
    std::memcpy(file.data() + at, &size, sizeof(size));
    expect_error(file, Code::Corrupt, "v.position_embd.weight has the shape [32, 5]; [32, 17] is needed");
}

}  // namespace
}  // namespace clasp::model
