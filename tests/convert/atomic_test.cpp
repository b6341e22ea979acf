// Either both files are there whole, or nothing new is: interrupts, kills, full disks, damaged and existing
// files.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <sstream>

#include "base/sha256.h"
#include "convert/zip_reader.h"
#include "convert_case.h"
#include "support/file_limit.h"

namespace clasp {
namespace {

using namespace test;
namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class ConvertAtomic : public ConvertCase {
   protected:
    void SetUp() override {
        ConvertCase::SetUp();
        RandomLlama text = llava_family_text();
        text.n_layers = 2;
        MmprojSpec vision = clip_family_vision();
        vision.n_blocks = 3;
        pair_ = {made_text(text), made_vision(vision)};
        fs::remove(root_ / "made.gguf");
        write_llava_port(pair_, {}, false, false);
    }

    // What lies beside the checkpoint.
    [[nodiscard]] std::vector<std::string> outputs() const {
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator(root_)) {
            if (entry.path() != folder()) names.push_back(entry.path().filename().string());
        }
        return names;
    }
    [[nodiscard]] static std::string bytes_of(const std::string& path) {
        std::ifstream file(path, std::ios::binary);
        std::ostringstream bytes;
        bytes << file.rdbuf();
        return bytes.str();
    }

    Pair pair_;
};

TEST_F(ConvertAtomic, HashesInTheReportAreThoseOfTheFiles) {
    const auto report = convert::convert(options());
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_EQ(report->text.sha256, base::sha256_hex(bytes_of(text_path())));
    EXPECT_EQ(report->vision.sha256, base::sha256_hex(bytes_of(vision_path())));
    EXPECT_THAT(outputs(), UnorderedElementsAre("out.gguf", "out-mmproj.gguf"));
}

TEST_F(ConvertAtomic, FilesThatAreThereAreKeptUnlessForced) {
    write_text_file(text_path(), "mine");
    auto wanted = options();
    wanted.force = false;
    const auto refused = convert::convert(wanted);
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.status().message(), HasSubstr("--force"));
    EXPECT_THAT(outputs(), ElementsAre("out.gguf"));
    EXPECT_EQ(bytes_of(text_path()), "mine");
    ASSERT_TRUE(convert::convert(options()).ok());
    EXPECT_NE(bytes_of(text_path()), "mine");
}

TEST_F(ConvertAtomic, AnInterruptLeavesNothing) {
    for (const int stop_at : {0, 5, 40}) {
        int n_calls = 0;
        auto wanted = options();
        wanted.on_progress = [&](const convert::ConvertProgress&) { return n_calls++ < stop_at; };
        const auto report = convert::convert(wanted);
        ASSERT_FALSE(report.ok());
        EXPECT_EQ(report.status().code(), Code::Cancelled);
        EXPECT_THAT(outputs(), IsEmpty());
    }
}

TEST_F(ConvertAtomic, AKilledProcessLeavesNoModelAndTheNextOneCleansUp) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        int n_calls = 0;
        auto wanted = options();
        wanted.on_progress = [&](const convert::ConvertProgress&) {
            if (n_calls++ == 40) std::raise(SIGKILL);
            return true;
        };
        static_cast<void>(convert::convert(wanted));
        _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_FALSE(fs::exists(text_path()));
    EXPECT_FALSE(fs::exists(vision_path()));
    // What looks alike but is somebody else's stays.
    const std::string other = text_path() + ".tmp-mine";
    const std::string alive = text_path() + ".tmp-" + std::to_string(getpid()) + "-99";
    write_text_file(other, "x");
    write_text_file(alive, "x");
    ASSERT_TRUE(convert::convert(options()).ok());
    EXPECT_THAT(outputs(),
                UnorderedElementsAre("out.gguf", "out-mmproj.gguf", fs::path(other).filename().string(),
                                     fs::path(alive).filename().string()));
}

TEST_F(ConvertAtomic, AFullDiskIsOneSentenceAndLeavesNothing) {
    write_text_file(vision_path(), "before");
    for (const rlim_t limit : {rlim_t{100}, rlim_t{40000}, rlim_t{400000}}) {
        const FileLimit full(limit);
        const auto report = convert::convert(options());
        ASSERT_FALSE(report.ok());
        EXPECT_THAT(report.status().message(), HasSubstr("cannot write"));
        EXPECT_EQ(report.status().message().find('\n'), std::string::npos);
    }
    EXPECT_THAT(outputs(), ElementsAre("out-mmproj.gguf"));
    EXPECT_EQ(bytes_of(vision_path()), "before");
}

TEST_F(ConvertAtomic, AMissingFolderForTheFilesIsTold) {
    auto wanted = options();
    wanted.prefix = (root_ / "nowhere" / "out").string();
    const auto report = convert::convert(wanted);
    ASSERT_FALSE(report.ok());
    EXPECT_THAT(report.status().message(), HasSubstr("cannot write"));
}

TEST_F(ConvertAtomic, ChecksumsOfDownloadsAreCompared) {
    const std::string sum = base::sha256_hex(bytes_of((folder() / "model.safetensors").string()));
    fs::create_directories(folder() / ".cache/huggingface/download");
    const fs::path note = folder() / ".cache/huggingface/download/model.safetensors.metadata";
    write_text_file(note, "a-commit\n" + sum + "\n1.5\n");
    auto report = convert::convert(options());
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_EQ(report->inputs[0].sha256, sum);
    write_text_file(note, "a-commit\n" + std::string(64, 'a') + "\n1.5\n");
    fs::remove(text_path());
    report = convert::convert(options());
    ASSERT_FALSE(report.ok());
    EXPECT_THAT(report.status().message(), HasSubstr("its SHA-256 is " + sum));
    EXPECT_FALSE(fs::exists(text_path()));
    auto trusting = options();
    trusting.verify = false;
    EXPECT_TRUE(convert::convert(trusting).ok());
    write_text_file(folder() / "SHA256SUMS", sum + "  model.safetensors\n");
    EXPECT_TRUE(convert::convert(options()).ok());
    write_text_file(folder() / "SHA256SUMS", std::string(64, 'b') + " *model.safetensors\n");
    EXPECT_FALSE(convert::convert(options()).ok());
}

TEST_F(ConvertAtomic, DamagedEntriesOfPyTorchFilesAreFound) {
    fs::remove(folder() / "model.safetensors");
    auto tensors = text_tensors(pair_.text, "language_model.model.", "language_model.lm_head.weight");
    append(tensors, clip_tensors(pair_.vision, "vision_tower.vision_model.", 1));
    append(tensors,
           llava_projector(pair_.vision, "multi_modal_projector.linear_1", "multi_modal_projector.linear_2"));
    MadeZip zip = made_archive(tensors);
    write_text_file(folder() / "pytorch_model.bin", zip.bytes());
    EXPECT_TRUE(convert::convert(options()).ok());
    zip.entries[9].crc_error = 1;
    write_text_file(folder() / "pytorch_model.bin", zip.bytes());
    const auto report = convert::convert(options());
    ASSERT_FALSE(report.ok());
    EXPECT_THAT(report.status().message(), HasSubstr("'archive/data/7' does not match"));
}

TEST(ConvertCrc, IsThatOfTheDefinition) {
    std::string bytes;
    for (int i = 0; i < 1000; ++i) bytes.push_back(static_cast<char>(i * 37 % 251));
    for (const std::size_t cut : {0U, 1U, 7U, 8U, 500U, 1000U}) {
        const std::uint32_t first = convert::crc32_of(0, std::string_view(bytes).substr(0, cut));
        EXPECT_EQ(convert::crc32_of(first, std::string_view(bytes).substr(cut)), plain_crc32(bytes));
    }
    EXPECT_EQ(convert::crc32_of(0, "123456789"), 0xcbf43926U);
}

}  // namespace
}  // namespace clasp
