// Whole files, text helpers, strict JSON and half-precision numbers.
#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "base/atomic_file.h"
#include "base/float_convert.h"
#include "base/mapped_file.h"
#include "base/npy.h"
#include "base/text.h"
#include "support/file_limit.h"
#include "support/paths.h"

namespace clasp::base {
namespace {

namespace fs = std::filesystem;

TEST(File, RoundTripReplacesTheOldFile) {
    const fs::path folder = fs::path(test::scratch_dir()) / "files";
    fs::remove_all(folder);
    fs::create_directories(folder);
    const std::string path = (folder / "x.bin").string();
    const std::string bytes("a\0b\n", 4);
    ASSERT_TRUE(write_file_atomic(path, "old").ok());
    ASSERT_TRUE(write_file_atomic(path, bytes).ok());
    EXPECT_EQ(*read_file(path, 4), bytes);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1)
        << "nothing is left over";
}

TEST(File, Errors) {
    const std::string folder = test::scratch_dir();
    EXPECT_EQ(read_file("absent", 10).status().message(), "cannot open 'absent': No such file or directory");
    EXPECT_EQ(read_file("absent", 10).status().code(), Code::NotFound);
    EXPECT_EQ(read_file(folder, 10).status().code(), Code::InvalidArgument);
    const std::string path = folder + "/five.bin";
    ASSERT_TRUE(write_file_atomic(path, "12345").ok());
    EXPECT_EQ(read_file(path, 4).status().code(), Code::TooLarge);
    EXPECT_NE(read_file(path, 4).status().message().find("has 5 bytes, more than the limit of 4"),
              std::string::npos);
    EXPECT_EQ(write_file_atomic("absent-folder/x", "y").message(),
              "cannot write 'absent-folder/x': No such file or directory");
    EXPECT_EQ(write_file_atomic(folder, "y").code(), Code::Unavailable)
        << "a folder cannot be replaced by a file";
}

// None of these may wait for a writer, read without end or touch a device.
TEST(File, OnlyRegularFilesAreOpened) {
    const std::string pipe = std::string(test::scratch_dir()) + "/a-pipe-" + std::to_string(::getpid());
    const std::string socket = std::string(test::scratch_dir()) + "/a-socket-" + std::to_string(::getpid());
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    ASSERT_EQ(::mknod(socket.c_str(), S_IFSOCK | 0600, 0), 0);
    struct Case {
        std::string path;
        std::string what;
    };
    for (const Case& c :
         {Case{pipe, "is a pipe, not a regular file"}, Case{socket, "is a socket, not a"},
          Case{"/dev/zero", "is a device, not a"}, Case{test::scratch_dir(), "is a folder, not a"},
          Case{"/proc/self/status", "is a file of the kernel"},
          Case{"/proc/kmsg", "is a file of the kernel"}}) {
        if (::access(c.path.c_str(), R_OK) != 0) continue;
        for (const Status& status : {read_file(c.path, 1000).status(), MappedFile::open(c.path).status()}) {
            EXPECT_EQ(status.code(), Code::InvalidArgument) << c.path;
            EXPECT_NE(status.message().find(c.what), std::string::npos) << status.message();
            EXPECT_NE(status.message().find(c.path), std::string::npos) << status.message();
        }
    }
    ::unlink(pipe.c_str());
    ::unlink(socket.c_str());
}

TEST(File, PartsAreReadAtTheirPlace) {
    const std::string path = std::string(test::scratch_dir()) + "/parts-" + std::to_string(::getpid());
    ASSERT_TRUE(write_file_atomic(path, "0123456789").ok());
    const auto file = InputFile::open(path);
    ASSERT_TRUE(file.ok());
    EXPECT_EQ(file->size(), 10U);
    EXPECT_EQ(*file->read(3, 4), "3456");
    EXPECT_EQ(*file->read(8, 4), "89") << "the file ends before";
    EXPECT_EQ(*file->read(20, 4), "");
    ::unlink(path.c_str());
}

// A folder of its own, empty.
fs::path fresh_folder(const char* name) {
    const fs::path folder = fs::path(test::scratch_dir()) / name;
    fs::remove_all(folder);
    fs::create_directories(folder);
    return folder;
}

std::ptrdiff_t n_files(const fs::path& folder) {
    return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
}

TEST(AtomicFile, AFullDiskLeavesTheOldFileOrNone) {
    const fs::path folder = fresh_folder("full");
    const std::string path = (folder / "x.bin").string();
    const std::string bytes(100'000, 'x');
    {
        const test::FileLimit limit(1000);
        const Status status = write_file_atomic(path, bytes);
        EXPECT_EQ(status.code(), Code::Unavailable);
        EXPECT_EQ(status.message(), "cannot write '" + path + "': File too large");
    }
    EXPECT_EQ(n_files(folder), 0);
    ASSERT_TRUE(write_file_atomic(path, "old").ok());
    {
        const test::FileLimit limit(1000);
        EXPECT_FALSE(write_file_atomic(path, bytes).ok());
        const std::size_t shape[] = {10'000};
        EXPECT_EQ(write_npy(path, shape, std::vector<float>(10'000)).code(), Code::Unavailable);
    }
    EXPECT_EQ(*read_file(path, 10), "old");
    EXPECT_EQ(n_files(folder), 1);
}

TEST(AtomicFile, IsNotThereBeforeItIsCommitted) {
    const fs::path folder = fresh_folder("steps");
    const std::string path = (folder / "x.txt").string();
    {
        auto file = AtomicFile::create(path);
        ASSERT_TRUE(file.ok());
        ASSERT_TRUE(file->append("a").ok());
        EXPECT_FALSE(fs::exists(path));
    }
    EXPECT_EQ(n_files(folder), 0) << "given up, nothing is left";
    auto file = AtomicFile::create(path);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->append("a").ok() && file->append("b").ok() && file->commit().ok());
    EXPECT_EQ(*read_file(path, 10), "ab");
    EXPECT_EQ(n_files(folder), 1);
}

TEST(AtomicFile, KeepsLinksAndPermissions) {
    const fs::path folder = fresh_folder("links");
    const fs::path target = folder / "target";
    ASSERT_TRUE(write_file_atomic(target.string(), "old").ok());
    fs::permissions(target, fs::perms::owner_read | fs::perms::owner_write);
    fs::create_symlink("target", folder / "link");
    ASSERT_TRUE(write_file_atomic((folder / "link").string(), "new").ok());
    EXPECT_TRUE(fs::is_symlink(folder / "link"));
    EXPECT_EQ(*read_file(target.string(), 10), "new");
    EXPECT_EQ(fs::status(target).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    // Links to what is not there yet, one behind the other.
    fs::create_symlink("later", folder / "near");
    fs::create_symlink(folder / "near", folder / "far");
    ASSERT_TRUE(write_file_atomic((folder / "far").string(), "made").ok());
    EXPECT_TRUE(fs::is_symlink(folder / "far") && fs::is_symlink(folder / "near"));
    EXPECT_EQ(*read_file((folder / "later").string(), 10), "made");
}

TEST(AtomicFile, WritesIntoWhatIsNoFileInsteadOfReplacingIt) {
    EXPECT_TRUE(write_file_atomic("/dev/null", "x").ok());
    EXPECT_TRUE(fs::is_character_file("/dev/null"));
    EXPECT_EQ(write_file_atomic("/dev/full", "x").message(),
              "cannot write '/dev/full': No space left on device");
    const fs::path folder = fresh_folder("pipe");
    const std::string pipe = (folder / "pipe").string();
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_EQ(write_file_atomic(pipe, "x").message(),
              "cannot write '" + pipe + "': No such device or address")
        << "nobody reads, and nobody is waited for";
    EXPECT_TRUE(fs::is_fifo(pipe));
    EXPECT_EQ(n_files(folder), 1);
}

TEST(Text, Numbers) {
    EXPECT_EQ(format_number(188.15625, 1), "188.2");
    EXPECT_EQ(format_number(64.0), "64");
    EXPECT_EQ(format_number(-0.5), "-0.5");
    EXPECT_EQ(format_number(100.0, 0), "100");
    EXPECT_EQ(format_number(1e300).size(), 301u);
    EXPECT_EQ(format_exact(0.1), "0.1");
    EXPECT_EQ(*parse_size("42"), 42u);
    for (const char* text : {"", "-1", "+1", " 1", "1 ", "1.0", "99999999999999999999"}) {
        EXPECT_FALSE(parse_size(text).has_value()) << text;
    }
    EXPECT_EQ(*parse_double("-1.5e3"), -1500.0);
    for (const char* text : {"", "1x", "nan", "inf", "1e999", " 1"})
        EXPECT_FALSE(parse_double(text).has_value()) << text;
}

template <typename Text>
concept CanBeSplit = requires(Text text) {
    split(std::forward<Text>(text), ',');
};

TEST(Text, Pieces) {
    EXPECT_EQ(split("a,,b", ','), (std::vector<std::string_view>{"a", "", "b"}));
    EXPECT_EQ(split("", ','), (std::vector<std::string_view>{""}));
    // Pieces of a text that is gone cannot be asked for.
    static_assert(CanBeSplit<std::string&> && CanBeSplit<const char*> && !CanBeSplit<std::string>);
    EXPECT_EQ(in_quotes("a\n\xff"), "'a\\x0a\\xff'");
    EXPECT_EQ(in_quotes(std::string(100, 'x')).size(), 64u + 5u);
    EXPECT_EQ(lower("AbC-Z"), "abc-z");
    EXPECT_EQ(join({"a", "b"}), "a, b");
}

TEST(Half, EveryPatternSurvivesARoundTrip) {
    for (std::uint32_t i = 0; i < 65536; ++i) {
        const auto half = static_cast<std::uint16_t>(i);
        const float value = half_to_float(half);
        if (std::isnan(value)) {
            EXPECT_TRUE((half & 0x7c00U) == 0x7c00U && (half & 0x3ffU) != 0);
            EXPECT_TRUE(std::isnan(half_to_float(float_to_half(value))));
            continue;
        }
        ASSERT_EQ(float_to_half(value), half);
    }
    EXPECT_EQ(half_to_float(0x3c00), 1.0F);
    EXPECT_EQ(half_to_float(0x0001), std::ldexp(1.0F, -24));
    EXPECT_EQ(half_to_float(0xfc00), -std::numeric_limits<float>::infinity());
}

TEST(Half, RoundsToNearestEven) {
    EXPECT_EQ(float_to_half(1.0F + std::ldexp(1.0F, -11)), 0x3c00);
    EXPECT_EQ(float_to_half(1.0F + 3 * std::ldexp(1.0F, -11)), 0x3c02);
    EXPECT_EQ(float_to_half(65519.0F), 0x7bff);
    EXPECT_EQ(float_to_half(65520.0F), 0x7c00);
    EXPECT_EQ(float_to_half(1e30F), 0x7c00);
    EXPECT_EQ(float_to_half(-std::ldexp(1.0F, -25)), 0x8000);
    EXPECT_EQ(float_to_half(1.5F * std::ldexp(1.0F, -25)), 0x0001);
    EXPECT_EQ(bfloat_to_float(0x3f80), 1.0F);
}

}  // namespace
}  // namespace clasp::base
