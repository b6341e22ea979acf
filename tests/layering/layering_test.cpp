// Includes point down only: a module of src/ may include from itself and from the modules before it
// in kLayers, nothing below the model layer knows ggml or llama.cpp, and one file knows nlohmann/json. The
// scanner is tested on made trees that break each rule, then run on the real tree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/paths.h"

namespace clasp {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr std::array<std::string_view, 18> kLayers = {
    "base",  "select", "methods", "fuse", "route",     "policy", "capi",    "image", "video",
    "model", "engine", "convert", "eval", "calibrate", "draw",   "request", "serve", "cli"};
constexpr std::string_view kFirstLayerWithGgml = "model";

std::optional<std::size_t> layer_of(std::string_view module) {
    const auto* const found = std::find(kLayers.begin(), kLayers.end(), module);
    if (found == kLayers.end()) return std::nullopt;
    return static_cast<std::size_t>(found - kLayers.begin());
}

struct Include {
    std::size_t line;
    std::string path;
};

struct Source {
    std::string name;    // relative to the root, for messages
    std::string module;  // folder below src/, empty for public headers
    std::string header;  // "clasp/x.h" for public headers
    std::vector<Include> includes;
};

// The path between the quotes or angle brackets of an include line; empty for any other line.
std::string included_path(std::string_view line) {
    const std::size_t hash = line.find_first_not_of(" \t");
    if (hash == std::string_view::npos || line[hash] != '#') return {};
    const std::size_t word = line.find_first_not_of(" \t", hash + 1);
    if (word == std::string_view::npos || line.substr(word, 7) != "include") return {};
    const std::size_t open = line.find_first_of("\"<", word + 7);
    if (open == std::string_view::npos) return {};
    const std::size_t close = line.find_first_of("\">", open + 1);
    if (close == std::string_view::npos) return {};
    return std::string(line.substr(open + 1, close - open - 1));
}

Source read_source(const fs::path& root, const fs::path& file) {
    Source source;
    const fs::path relative = fs::relative(file, root);
    source.name = relative.generic_string();
    const auto parts = std::vector<fs::path>(relative.begin(), relative.end());
    if (parts.front() == "src" && parts.size() > 2) source.module = parts[1].string();
    if (parts.front() == "include") source.header = fs::relative(file, root / "include").generic_string();
    std::ifstream stream(file);
    std::string line;
    for (std::size_t number = 1; std::getline(stream, line); ++number) {
        if (std::string path = included_path(line); !path.empty()) {
            source.includes.push_back({number, std::move(path)});
        }
    }
    return source;
}

std::vector<Source> read_tree(const fs::path& root) {
    std::vector<Source> sources;
    for (const char* folder : {"include", "src"}) {
        if (!fs::exists(root / folder)) continue;
        for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
            const fs::path extension = entry.path().extension();
            if (entry.is_regular_file() && (extension == ".h" || extension == ".cpp" || extension == ".c")) {
                sources.push_back(read_source(root, entry.path()));
            }
        }
    }
    std::sort(sources.begin(), sources.end(),
              [](const Source& a, const Source& b) { return a.name < b.name; });
    return sources;
}

// A public header belongs to the module whose source includes it first, as its own; one without a
// source belongs to the highest layer that it includes.
std::map<std::string, std::size_t> public_header_layers(const std::vector<Source>& sources) {
    std::map<std::string, std::size_t> layers;
    for (const Source& source : sources) {
        const auto layer = layer_of(source.module);
        if (!layer || source.includes.empty() || !source.name.ends_with(".cpp")) continue;
        const std::string& first = source.includes.front().path;
        if (!first.starts_with("clasp/")) continue;
        const auto [known, is_new] = layers.emplace(first, *layer);
        if (!is_new) known->second = std::min(known->second, *layer);
    }
    const std::map<std::string, std::size_t> owned = layers;
    for (std::size_t round = 0; round < kLayers.size(); ++round) {  // deep enough for any chain of headers
        for (const Source& source : sources) {
            if (source.header.empty() || owned.contains(source.header)) continue;
            std::size_t& layer = layers[source.header];
            for (const Include& include : source.includes) {
                const auto other = layers.find(include.path);
                if (other != layers.end()) layer = std::max(layer, other->second);
            }
        }
    }
    return layers;
}

bool is_ggml(std::string_view path) {
    return path.starts_with("ggml") || path.starts_with("gguf") || path.starts_with("llama") ||
           path.starts_with("mtmd");
}

// One sentence per broken rule, in the order of files and lines.
std::vector<std::string> find_violations(const fs::path& root) {
    const std::vector<Source> sources = read_tree(root);
    const std::map<std::string, std::size_t> public_layers = public_header_layers(sources);
    const std::size_t first_with_ggml = *layer_of(kFirstLayerWithGgml);
    std::vector<std::string> violations;
    for (const Source& source : sources) {
        const std::optional<std::size_t> layer =
            source.header.empty() ? layer_of(source.module) : std::optional(public_layers.at(source.header));
        if (!layer) {
            violations.push_back(source.name + ": folder \"" + source.module +
                                 "\" is not in the list of layers");
            continue;
        }
        for (const Include& include : source.includes) {
            const std::string where = source.name + ":" + std::to_string(include.line) + ": ";
            const std::string folder = include.path.substr(0, include.path.find('/'));
            if (include.path.find("..") != std::string::npos) {
                violations.push_back(where + "\"" + include.path +
                                     "\" leaves its folder; name the module instead");
            } else if (is_ggml(include.path) && (*layer < first_with_ggml || !source.header.empty())) {
                violations.push_back(where + "\"" + include.path +
                                     "\" brings ggml where it must not be known");
            } else if (folder == "clasp") {
                const auto known = public_layers.find(include.path);
                if (known != public_layers.end() && known->second > *layer) {
                    violations.push_back(where + "\"" + include.path + "\" belongs to " +
                                         std::string(kLayers[known->second]) + ", a layer above");
                }
            } else if (const auto other = layer_of(folder); other && folder != include.path) {
                if (*other > *layer || !source.header.empty()) {
                    violations.push_back(where + "\"" + include.path + "\" points up");
                }
            }
        }
    }
    return violations;
}

class Layering : public ::testing::Test {
   protected:
    void SetUp() override {
        root_ = fs::path(test::scratch_dir()) / "trees" /
                ::testing::UnitTest::GetInstance()->current_test_info()->name();
        fs::remove_all(root_);
    }

    void write(const std::string& name, const std::string& text) const {
        fs::create_directories((root_ / name).parent_path());
        std::ofstream(root_ / name) << text;
    }

    fs::path root_;
};

TEST_F(Layering, DownwardIncludesAreFine) {
    write("include/clasp/status.h", "#include <string>\n");
    write("include/clasp/select.h", "#include \"clasp/status.h\"\n");
    write("src/base/status.cpp", "#include \"clasp/status.h\"\n");
    write("src/select/select.cpp", "#include \"clasp/select.h\"\n#include \"select/gram.h\"\n");
    write("src/select/gram.h", "#include \"base/checked.h\"\n");
    write("src/model/tower.cpp", "#include <ggml.h>\n#include \"llama.h\"\n#include \"select/gram.h\"\n");
    EXPECT_THAT(find_violations(root_), IsEmpty());
}

TEST_F(Layering, AnIncludeOfALayerAboveIsFound) {
    write("src/select/gram.cpp", "// a comment\n#include \"engine/engine.h\"\n");
    EXPECT_THAT(find_violations(root_), ElementsAre("src/select/gram.cpp:2: \"engine/engine.h\" points up"));
}

TEST_F(Layering, APublicHeaderOfALayerAboveIsFound) {
    write("include/clasp/policy.h", "");
    write("include/clasp/profiles.h", "#include \"clasp/policy.h\"\n");
    write("src/policy/policy.cpp", "#include \"clasp/policy.h\"\n");
    write("src/fuse/mix.cpp", "#include \"fuse/mix.h\"\n#include \"clasp/policy.h\"\n");
    write("src/fuse/sum.cpp", "#include \"fuse/mix.h\"\n#  include \"clasp/profiles.h\"\n");
    EXPECT_THAT(find_violations(root_),
                ElementsAre(HasSubstr("src/fuse/mix.cpp:2: \"clasp/policy.h\" belongs to policy"),
                            HasSubstr("src/fuse/sum.cpp:2: \"clasp/profiles.h\" belongs to policy")));
}

TEST_F(Layering, GgmlBelowTheModelLayerIsFound) {
    write("include/clasp/engine.h", "#include <llama.h>\n");
    write("src/engine/engine.cpp", "#include \"clasp/engine.h\"\n");
    write("src/route/router.cpp", "#include \"ggml-cpu.h\"\n");
    EXPECT_THAT(find_violations(root_),
                ElementsAre(HasSubstr("include/clasp/engine.h:1"), HasSubstr("src/route/router.cpp:1")));
}

TEST_F(Layering, PrivateHeadersInPublicOnesAndUnknownFoldersAreFound) {
    write("include/clasp/image.h", "#include \"base/checked.h\"\n");
    write("src/base/a.h", "#include \"../select/gram.h\"\n");
    write("src/helpers/a.h", "");
    EXPECT_THAT(find_violations(root_),
                ElementsAre(HasSubstr("include/clasp/image.h:1"), HasSubstr("leaves its folder"),
                            HasSubstr("\"helpers\" is not in the list of layers")));
}

// Headers and sources of all that is written here.
std::vector<fs::path> code_files(const fs::path& root) {
    std::vector<fs::path> found;
    for (const char* folder : {"include", "src", "tests", "training", "bench", "fuzz", "examples"}) {
        if (!fs::exists(root / folder)) continue;
        for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
            const fs::path extension = entry.path().extension();
            if (entry.is_regular_file() && (extension == ".h" || extension == ".cpp"))
                found.push_back(entry.path());
        }
    }
    return found;
}

// nlohmann/json costs seconds in every file that includes it: one file reads and writes with it, one test
// compares with it.
std::vector<std::string> files_with_nlohmann(const fs::path& root) {
    std::vector<std::string> found;
    for (const fs::path& path : code_files(root)) {
        const Source source = read_source(root, path);
        const bool has_it = std::any_of(
            source.includes.begin(), source.includes.end(),
            [](const Include& include) { return include.path.find("nlohmann") != std::string::npos; });
        if (has_it) found.push_back(source.name);
    }
    return found;
}

TEST_F(Layering, OneFileKnowsNlohmann) {
    write("src/eval/record.cpp", "#include \"eval/record.h\"\n#include <nlohmann/json_fwd.hpp>\n");
    EXPECT_THAT(files_with_nlohmann(root_), ElementsAre("src/eval/record.cpp"));
    EXPECT_THAT(files_with_nlohmann(test::source_dir()),
                UnorderedElementsAre("src/base/json_text.cpp", "tests/base/json_test.cpp"));
}

// As CONTRIBUTING.md has it.
constexpr std::size_t kMostLines = 600;

std::vector<std::string> files_that_are_too_long(const fs::path& root) {
    std::vector<std::string> found;
    for (const fs::path& path : code_files(root)) {
        std::ifstream file(path);
        std::string line;
        std::size_t n_lines = 0;
        while (std::getline(file, line)) ++n_lines;
        if (n_lines > kMostLines) found.push_back(fs::relative(path, root).generic_string());
    }
    return found;
}

TEST_F(Layering, NoFileIsLongerThanPromised) {
    std::string text;
    for (std::size_t i = 0; i < kMostLines; ++i) text += "//\n";
    write("src/eval/long.cpp", text);
    write("src/eval/longer.cpp", text + "//\n");
    EXPECT_THAT(files_that_are_too_long(root_), ElementsAre("src/eval/longer.cpp"));
    EXPECT_THAT(files_that_are_too_long(test::source_dir()), IsEmpty());
}

TEST_F(Layering, TheSourceTreeKeepsTheOrder) {
    ASSERT_TRUE(fs::exists(fs::path(test::source_dir()) / "src"));
    EXPECT_THAT(find_violations(test::source_dir()), IsEmpty());
}

}  // namespace
}  // namespace clasp
