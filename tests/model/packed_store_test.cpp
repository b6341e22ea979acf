// The folder of packed matrices, while a file is being written that takes its time.
#include "model/packed_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/paths.h"

namespace clasp::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Zeros that take no memory, but more time to sum up and to write than any test here waits for.
class PackedStoreTest : public testing::Test {
   protected:
    void SetUp() override {
        folder_ = std::string(test::scratch_dir()) + "/store-" + std::to_string(::getpid());
        memory_ = ::mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        ASSERT_NE(memory_, MAP_FAILED);
    }
    void TearDown() override {
        ::munmap(memory_, kBytes);
        std::filesystem::remove_all(folder_);
    }

    [[nodiscard]] std::unique_ptr<PackedStore> store(std::chrono::milliseconds patience) {
        return std::make_unique<PackedStore>(
            PackedFolder{.path = folder_, .min_bytes = 0, .patience = patience}, PackedKey(64, 'a'),
            [this](LogLevel, std::string_view text) { lines_.emplace_back(text); });
    }
    [[nodiscard]] std::vector<std::span<const std::byte>> matrices(std::size_t n_bytes) const {
        return {std::span(static_cast<const std::byte*>(memory_), n_bytes)};
    }
    [[nodiscard]] std::vector<std::string> files() const {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(folder_))
            names.push_back(entry.path().filename());
        return names;
    }

    static constexpr std::size_t kBytes = std::size_t{3} << 30U;
    static constexpr std::size_t kFew = std::size_t{1} << 20U;
    std::string folder_;
    void* memory_ = nullptr;
    std::vector<std::string> lines_;
};

TEST_F(PackedStoreTest, WhoeverWaitsHearsHowFarItIsAndMayStop) {
    const auto slow = store(std::chrono::hours(1));
    slow->keep(matrices(kBytes));
    std::atomic<bool> cancel{false};
    LoadWatch watch;
    watch.cancel = &cancel;
    std::vector<double> shares;
    watch.on_progress = [&](double share) {
        shares.push_back(share);
        cancel = true;
    };
    EXPECT_EQ(slow->wait(watch).code(), Code::Cancelled);
    ASSERT_FALSE(shares.empty());
    EXPECT_GE(shares.front(), 0.0);
    EXPECT_LT(shares.front(), 1.0);
    EXPECT_THAT(files(), IsEmpty());
    EXPECT_THAT(lines_, IsEmpty()) << "who stopped knows it";
    EXPECT_TRUE(slow->wait({}).ok()) << "nothing is left to wait for";
}

TEST_F(PackedStoreTest, WhatIsGivenUpAtTheEndIsSaid) {
    store(std::chrono::milliseconds(0))->keep(matrices(kBytes));
    EXPECT_THAT(files(), IsEmpty());
    EXPECT_THAT(lines_, ElementsAre(HasSubstr("the packed weights are not kept for the next start: writing "
                                              "them takes longer than the end of this program waits, 0")));
}

TEST_F(PackedStoreTest, WhatIsDoneInTimeIsKept) {
    store(std::chrono::hours(1))->keep(matrices(kFew));
    EXPECT_THAT(files(), ElementsAre(HasSubstr(std::string(64, 'a'))));
    const auto waiting = store(std::chrono::milliseconds(0));
    waiting->keep(matrices(kFew + 64));
    EXPECT_TRUE(waiting->wait({}).ok());
    EXPECT_EQ(files().size(), 1U);
    EXPECT_THAT(lines_, IsEmpty());
}

}  // namespace
}  // namespace clasp::model
