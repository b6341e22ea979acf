// The files of ui/ as the program carries them, and what they may contain.
#include "serve/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "base/sha256.h"
#include "draw/marks.h"
#include "support/page_file.h"
#include "support/paths.h"

namespace clasp::serve {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::size_t kMaxPageBytes = 120'000;

std::string read(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

// Every file of ui/ under the path that it is served at.
std::map<std::string, std::string> files_on_disk() {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(fs::path(test::source_dir()) / "ui")) {
        const std::string name = entry.path().filename().string();
        if (name == "CMakeLists.txt") continue;
        files[name == "index.html" ? "/" : "/ui/" + name] = read(entry.path());
    }
    return files;
}

TEST(Page, HasEveryFileByteForByte) {
    const std::map<std::string, std::string> files = files_on_disk();
    ASSERT_GT(files.size(), 10U);
    EXPECT_EQ(page_files().size(), files.size());
    for (const auto& [path, bytes] : files) {
        const PageFile* file = test::find_page_file(path);
        ASSERT_NE(file, nullptr) << path;
        EXPECT_TRUE(file->bytes == bytes) << path;
        EXPECT_EQ(file->etag, '"' + base::sha256_hex(bytes).substr(0, 16) + '"') << path;
    }
}

TEST(Page, FindsNothingElse) {
    for (const char* path : {"", "/ui", "/ui/", "/ui/index.html", "/index.html", "/ui/../ui/app.js",
                             "/ui/APP.JS", "ui/app.js", "//", "/ui/CMakeLists.txt"}) {
        EXPECT_EQ(test::find_page_file(path), nullptr) << path;
    }
}

TEST(Page, TypesFollowTheNames) {
    const std::map<std::string, std::string_view> types = {{".css", "text/css; charset=utf-8"},
                                                           {".js", "text/javascript; charset=utf-8"},
                                                           {".svg", "image/svg+xml"},
                                                           {".webp", "image/webp"}};
    for (const PageFile& file : page_files()) {
        const std::string extension = fs::path(file.path).extension().string();
        EXPECT_EQ(file.type, file.path == "/" ? "text/html; charset=utf-8" : types.at(extension))
            << file.path;
    }
}

TEST(Page, StartsAsToolsExpectIt) {
    EXPECT_THAT(std::string(test::find_page_file("/")->bytes), StartsWith("<!doctype html>"));
}

TEST(Page, IsSmall) {
    std::size_t n_bytes = 0;
    for (const PageFile& file : page_files()) n_bytes += file.bytes.size();
    EXPECT_LT(n_bytes, kMaxPageBytes);
}

// Each name in an import, src or href leads to a file of the table; none leads out.
TEST(Page, RefersToItsOwnFilesAlone) {
    const std::regex reference(R"re((?:from '\./|import '\./|file: '|(?:src|href)="ui/)([^'"]+)['"])re");
    for (const PageFile& file : page_files()) {
        const std::string text(file.bytes);
        for (auto it = std::sregex_iterator(text.begin(), text.end(), reference);
             it != std::sregex_iterator(); ++it) {
            EXPECT_NE(test::find_page_file("/ui/" + (*it)[1].str()), nullptr)
                << file.path << " refers to " << (*it)[1];
        }
        for (const char* way_out : {"src=\"http", "href=\"http", "from 'http", "url(http", "@import"}) {
            EXPECT_THAT(text, Not(HasSubstr(way_out))) << file.path;
        }
    }
}

// What the Content-Security-Policy would refuse, and what would let an answer be more than text.
TEST(Page, HasNoInlineCodeAndParsesNoHtml) {
    const std::string page(test::find_page_file("/")->bytes);
    EXPECT_FALSE(
        std::regex_search(page, std::regex(R"(<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=))")));
    for (const PageFile& file : page_files()) {
        if (!file.path.ends_with(".js")) continue;
        for (const char* word : {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(",
                                 "new Function", "srcdoc", "DOMParser", "createContextualFragment"}) {
            EXPECT_THAT(std::string(file.bytes), Not(HasSubstr(word))) << file.path;
        }
    }
}

// A reader of a map and of the page learns one meaning of each colour.
TEST(Page, HasTheColoursOfTheMaps) {
    const auto hex = [](const draw::Colour& colour) {
        char text[8];
        std::snprintf(text, sizeof text, "#%02x%02x%02x", colour[0], colour[1], colour[2]);
        return std::string(text);
    };
    const std::string pivot = hex(draw::mark_colour(draw::Mark::Pivot));
    const std::string coverage = hex(draw::mark_colour(draw::Mark::Coverage));
    const std::string style(test::find_page_file("/ui/style.css")->bytes);
    EXPECT_THAT(style, HasSubstr("--pivot: " + pivot + ";"));
    EXPECT_THAT(style, HasSubstr("--coverage: " + coverage + ";"));
    const std::string canvas(test::find_page_file("/ui/canvas.js")->bytes);
    EXPECT_THAT(canvas, HasSubstr("kPivotColour = '" + pivot + "'"));
    EXPECT_THAT(canvas, HasSubstr("kCoverageColour = '" + coverage + "'"));
}

TEST(Page, TellsBrowsersToLoadNothingFromElsewhere) {
    std::map<std::string_view, std::string_view> headers;
    for (const auto& [name, value] : page_headers()) headers[name] = value;
    EXPECT_THAT(std::string(headers["Content-Security-Policy"]),
                StartsWith("default-src 'none'; script-src 'self';"));
    EXPECT_THAT(std::string(headers["Content-Security-Policy"]), HasSubstr("frame-ancestors 'none'"));
    EXPECT_THAT(std::string(headers["Content-Security-Policy"]), Not(HasSubstr("unsafe")));
    EXPECT_EQ(headers["Referrer-Policy"], "no-referrer");
}

}  // namespace
}  // namespace clasp::serve
