// The launcher of a checkout: which vision files it builds libmtmd for, before it starts the program.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "model/vision_mtmd.h"
#include "model/vision_tower.h"
#include "support/gguf_writer.h"
#include "support/paths.h"

namespace clasp::cli {
namespace {

namespace fs = std::filesystem;

class Launcher : public testing::Test {
   protected:
    void SetUp() override { fs::create_directories(folder_); }
    void TearDown() override { fs::remove_all(folder_); }

    [[nodiscard]] std::string in_folder(const std::string& name) const { return folder_ + "/" + name; }

    // The beginning of a vision file: keys, and then many bytes.
    [[nodiscard]] std::string vision_file(const std::string& type,
                                          const std::string& key = "clip.projector_type") const {
        test::GgufWriter writer;
        writer.string("general.architecture", "clip");
        writer.string("general.name", std::string(300, 'x'));
        writer.flag("clip.has_vision_encoder", true);
        writer.string(key, type);
        writer.u32("clip.vision.image_size", 336);
        std::ofstream out(in_folder(type + ".gguf"), std::ios::binary);
        writer.write(out);
        out << std::string(100000, '\0');
        return in_folder(type + ".gguf");
    }

    [[nodiscard]] static bool succeeds(const std::string& script) {
        return std::system(("bash -c '" + script + "' </dev/null >/dev/null 2>&1").c_str()) == 0;
    }
    [[nodiscard]] static bool wants(const std::string& words) {
        return succeeds(". " + std::string(test::source_dir()) + "/scripts/vision-kinds.sh; wants_mtmd " +
                        words);
    }

    const std::string folder_ = std::string(test::scratch_dir()) + "/launcher-" + std::to_string(getpid());
};

TEST_F(Launcher, WantsLibmtmdForTheKindsThatTheProgramHandsOver) {
    for (const std::string_view type : model::mtmd_projector_types()) {
        const std::string name(type);
        EXPECT_TRUE(wants("ask photo.jpg -M " + vision_file(name))) << name;
        EXPECT_TRUE(wants("serve --mmproj " + vision_file(name, "clip.vision.projector_type"))) << name;
        EXPECT_TRUE(wants("ask --mmproj=" + vision_file(name) + " question")) << name;
        EXPECT_FALSE(wants("ask " + vision_file(name))) << "no vision file of a command";
    }
    for (const std::string_view type : model::supported_projector_types()) {
        EXPECT_FALSE(wants("ask -M " + vision_file(std::string(type)))) << type;
    }
    for (const char* type : {"phi4x", "xphi4", "cogvlm"}) {
        EXPECT_FALSE(wants("ask -M " + vision_file(type))) << type;
    }
    std::ofstream(in_folder("text")) << "clip.projector_type phi4";
    EXPECT_FALSE(wants("ask -M " + in_folder("text")));
    EXPECT_FALSE(wants("ask -M " + in_folder("nothing.gguf")));
    EXPECT_FALSE(wants("ask -M"));
}

// The launcher itself over a program that is built already and prints what it was given; what it would build
// takes minutes, so a script in its place leaves a mark.
TEST_F(Launcher, BuildsLibmtmdOnceAndThenStartsTheProgram) {
    const fs::path root = in_folder("checkout");
    const fs::path source = test::source_dir();
    for (const char* name : {"cmake", "include", "src", "models", "scripts", "build/release/src/cli"}) {
        fs::create_directories(root / name);
    }
    for (const char* name : {"clasp-vlm", "CMakeLists.txt", "CMakePresets.json", "scripts/lib.sh",
                             "scripts/llama-version.sh", "scripts/vision-kinds.sh"}) {
        fs::copy_file(source / name, root / name);
    }
    const auto write_script = [](const fs::path& path, const std::string& text) {
        std::ofstream(path) << "#!/usr/bin/env bash\n" << text;
        fs::permissions(path, fs::perms::owner_all);
    };
    const std::string built = in_folder("built");
    const std::string said = in_folder("said");
    write_script(root / "scripts/build-llama", "echo \"$*\" >>" + built + "\n");
    write_script(root / "build/release/src/cli/clasp-vlm", "echo \"$*\" >>" + said + "\n");
    const fs::path libraries = in_folder("llama");
    fs::create_directories(libraries / "include");
    std::ofstream(libraries / "include/llama.h") << '\n';
    std::ofstream(root / "build/release/llama-folder") << libraries.string() << '\n';
    std::ofstream(root / "build/release/clasp-vlm.stamp") << '\n';
    const auto start = [&](const std::string& words) {
        return succeeds("XDG_CACHE_HOME=" + in_folder("cache") + " " + (root / "clasp-vlm").string() + " " +
                        words);
    };
    const auto content = [](const std::string& path) {
        std::ifstream file(path);
        std::ostringstream text;
        text << file.rdbuf();
        return text.str();
    };

    const std::string ours = vision_file("mlp");
    ASSERT_TRUE(start("ask photo.jpg -M " + ours));
    EXPECT_EQ(content(said), "ask photo.jpg -M " + ours + "\n");
    EXPECT_FALSE(fs::exists(built));

    const std::string theirs = vision_file("phi4");
    ASSERT_TRUE(start("ask photo.jpg -M " + theirs));
    EXPECT_EQ(content(built), "--mtmd\n");
    EXPECT_EQ(content(said), "ask photo.jpg -M " + ours + "\nask photo.jpg -M " + theirs + "\n");

    // Once it is there, nothing is asked of anybody.
    std::ifstream versions(source / "scripts/llama-version.sh");
    std::string line;
    std::string version;
    while (std::getline(versions, line)) {
        if (line.starts_with("LLAMA_VERSION=")) version = line.substr(14);
    }
    ASSERT_FALSE(version.empty());
    fs::create_directories(in_folder("cache/clasp/llama"));
    std::ofstream(in_folder("cache/clasp/llama/mtmd-v" + version + ".so")) << '\n';
    ASSERT_TRUE(start("ask photo.jpg -M " + theirs));
    EXPECT_EQ(content(built), "--mtmd\n");
}

}  // namespace
}  // namespace clasp::cli
