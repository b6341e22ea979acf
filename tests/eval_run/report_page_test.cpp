// The report in a browser: that it is well formed says nothing of what a reader sees.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "clasp/image.h"
#include "eval_run/made_up_report.h"

namespace clasp::draw {
namespace {

namespace fs = std::filesystem;

constexpr int kWidth = 1200;
constexpr int kHeight = 2400;

// The page as Chromium draws it, which is not asked to load anything from elsewhere.
Result<Image> screenshot(const std::string& html, const std::string& name) {
    const std::string folder = clasp::test::scratch_dir() + std::string("/page-") + name;
    fs::remove_all(folder);
    fs::create_directories(folder);
    std::ofstream(folder + "/page.html") << html;
    const std::string command =
        "chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-quic "
        "--no-first-run --disable-background-networking --disable-component-update --disable-sync "
        "--hide-scrollbars --window-size=" +
        std::to_string(kWidth) + "," + std::to_string(kHeight) + " --user-data-dir='" + folder +
        "/profile' --screenshot='" + folder + "/page.png' 'file://" + folder + "/page.html' >'" + folder +
        "/log' 2>&1";
    if (std::system(command.c_str()) != 0) return Status(Code::Unavailable, "see " + folder + "/log");
    return load_image(folder + "/page.png");
}

struct Ink {
    double any = 0.0;     // share of pixels that differ from the page's corner
    double colour = 0.0;  // share of pixels that are no grey
    int last_row = -1;    // lowest row with any
};

Ink ink_of(const Image& page) {
    Ink ink;
    const auto width = static_cast<std::size_t>(page.width);
    const std::size_t n_pixels = width * static_cast<std::size_t>(page.height);
    const double share = 1.0 / static_cast<double>(n_pixels);
    for (std::size_t i = 0; i < n_pixels; ++i) {
        const std::uint8_t* pixel = &page.rgb[3 * i];
        int difference = 0;
        for (std::size_t c = 0; c < 3; ++c) {
            difference = std::max(difference, std::abs(int{pixel[c]} - int{page.rgb[c]}));
        }
        const auto [low, high] = std::minmax({int{pixel[0]}, int{pixel[1]}, int{pixel[2]}});
        if (difference > 40) {
            ink.any += share;
            ink.last_row = static_cast<int>(i / width);
        }
        if (high - low > 60) ink.colour += share;
    }
    return ink;
}

class ReportPage : public ::testing::Test {
   protected:
    void SetUp() override {
        if (std::system("command -v chromium >/dev/null 2>&1") != 0) {
            GTEST_SKIP() << "there is no chromium to draw the page with";
        }
    }
};

TEST_F(ReportPage, ShowsTextAndColouredPartsDownThePage) {
    const auto page = screenshot(eval_report_html(test::make_report()), "report");
    ASSERT_TRUE(page.ok()) << page.status().message();
    ASSERT_EQ(page->width, kWidth);
    const Ink ink = ink_of(*page);
    EXPECT_GT(ink.any, 0.005);
    EXPECT_LT(ink.any, 0.6);        // not a page of one dark block
    EXPECT_GT(ink.colour, 0.001);   // curves and heat maps
    EXPECT_GT(ink.last_row, 1000);  // tables, chart and heat map below each other
}

TEST_F(ReportPage, APageOfNothingWouldBeNoticed) {
    const auto page = screenshot("<!doctype html><html><body></body></html>", "blank");
    ASSERT_TRUE(page.ok()) << page.status().message();
    EXPECT_EQ(ink_of(*page).any, 0.0);
}

}  // namespace
}  // namespace clasp::draw
