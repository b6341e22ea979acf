// Files of packed matrices: what was written is found again, and what is cut short, damaged or foreign is
// not.
#include "model/packed_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "support/paths.h"

namespace clasp::model {
namespace {

using testing::HasSubstr;

class PackedFileTest : public testing::Test {
   protected:
    void SetUp() override {
        path_ = std::string(test::scratch_dir()) + "/matrices-" + std::to_string(::getpid()) + ".packed";
        std::mt19937 random(1);
        // Sizes with tails: of alignment, of pieces, and one of more than a piece.
        for (const std::size_t size : {std::size_t{96}, std::size_t{64}, (std::size_t{4} << 20U) + 1000}) {
            sizes_.push_back(size);
            std::vector<std::byte>& matrix = matrices_.emplace_back(size);
            for (std::byte& byte : matrix) byte = static_cast<std::byte>(random());
        }
        ASSERT_TRUE(write(false).ok());
        std::ifstream in(path_, std::ios::binary);
        bytes_.assign(std::istreambuf_iterator<char>(in), {});
    }
    void TearDown() override { std::filesystem::remove(path_); }

    Status write(bool is_stopped) {
        PackedWriting writing;
        writing.stop = is_stopped;
        const std::vector<std::span<const std::byte>> matrices(matrices_.begin(), matrices_.end());
        auto file = base::AtomicFile::create(path_);
        if (!file.ok()) return file.status();
        const Status written = write_packed(*file, key_, matrices, writing);
        return written.ok() ? file->commit() : written;
    }
    [[nodiscard]] std::string refusal(std::string_view bytes) const {
        const auto checked = check_packed(base::as_bytes(bytes), key_, sizes_, nullptr, nullptr);
        EXPECT_TRUE(checked.ok() || checked.status().code() == Code::Corrupt);
        return checked.ok() ? "" : std::string(checked.status().message());
    }

    std::string path_;
    PackedKey key_ = std::string(64, 'a');
    PackedSizes sizes_;
    std::vector<std::vector<std::byte>> matrices_;
    std::string bytes_;
};

TEST_F(PackedFileTest, GivesEveryMatrixBack) {
    ThreadPool pool(2);
    const auto file = PackedFile::open(path_, key_, sizes_, pool, nullptr);
    ASSERT_TRUE(file.ok()) << file.status().message();
    const std::vector<std::size_t> offsets = packed_offsets(sizes_);
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
        const auto found = file->data().subspan(offsets[i], sizes_[i]);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(found.data()) % 64, 0U);
        EXPECT_TRUE(std::equal(found.begin(), found.end(), matrices_[i].begin()));
    }
    EXPECT_EQ(PackedFile::open(path_ + "-absent", key_, sizes_, pool, nullptr).status().code(),
              Code::NotFound);
}

TEST_F(PackedFileTest, ACutOrLongerFileIsRefused) {
    EXPECT_EQ(refusal(bytes_), "");
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{5}, std::size_t{8}, std::size_t{40}, std::size_t{75}, std::size_t{85},
          std::size_t{120}, std::size_t{4096}, bytes_.size() / 2, bytes_.size() - 1}) {
        EXPECT_NE(refusal(std::string_view(bytes_).substr(0, size)), "") << size;
    }
    EXPECT_THAT(refusal(std::string_view(bytes_).substr(0, bytes_.size() - 1)), HasSubstr("cut short"));
    EXPECT_THAT(refusal(bytes_ + "x"), HasSubstr("too long"));
}

TEST_F(PackedFileTest, ADamagedByteIsFoundWhereverItIs) {
    // Magic, key, sizes, checksums, digest; then every matrix, its ends and the middle.
    std::vector<std::size_t> places = {0, 7, 8, 71, 72, 80, 88, 100, 120, 140};
    const std::size_t data = bytes_.size() - packed_offsets(sizes_).back();
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
        const std::size_t begin = data + packed_offsets(sizes_)[i];
        for (const std::size_t at : {std::size_t{0}, sizes_[i] / 2, sizes_[i] - 1})
            places.push_back(begin + at);
    }
    for (const std::size_t place : places) {
        for (const char flip : {'\x01', '\x80'}) {
            std::string damaged = bytes_;
            damaged[place] = static_cast<char>(damaged[place] ^ flip);
            EXPECT_NE(refusal(damaged), "") << place;
        }
    }
    std::string zeros = bytes_;
    zeros.replace(data + packed_offsets(sizes_)[2] + 4096, 4096, 4096, '\0');
    EXPECT_THAT(refusal(zeros), HasSubstr("a checksum does not match")) << "what a power cut leaves";
}

TEST_F(PackedFileTest, OfAnotherModelOrOtherShapesItIsRefused) {
    key_[3] = 'b';
    EXPECT_THAT(refusal(bytes_), HasSubstr("another model"));
    key_[3] = 'a';
    sizes_[0] += 64;
    EXPECT_THAT(refusal(bytes_), HasSubstr("sizes are not those of the model"));
    sizes_[0] -= 64;
    sizes_.push_back(std::size_t{5} << 20U);
    EXPECT_THAT(refusal(bytes_), HasSubstr("sizes are not those of the model"));
}

TEST_F(PackedFileTest, StoppingLeavesNothingBehind) {
    std::filesystem::remove(path_);
    EXPECT_EQ(write(true).code(), Code::Cancelled);
    EXPECT_FALSE(std::filesystem::exists(path_));
    ASSERT_TRUE(write(false).ok());
    std::atomic<bool> cancel{true};
    LoadWatch watch;
    watch.cancel = &cancel;
    ThreadPool pool(1);
    EXPECT_EQ(PackedFile::open(path_, key_, sizes_, pool, &watch).status().code(), Code::Cancelled);
}

}  // namespace
}  // namespace clasp::model
