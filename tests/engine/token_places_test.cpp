// Where a layout says that a token lies, which is where maps draw it: an object that is painted onto a
// token's part of the picture changes that token most, in every family and view.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/visual_input.h"
#include "support/bmp.h"
#include "support/family_models.h"
#include "support/vision_fixture.h"

namespace clasp::engine {
namespace {

// A grey picture with a bright object; without one if it has no size.
std::string painted(PixelSize size, const PixelRect& object) {
    const auto width = static_cast<std::uint32_t>(size.width);
    const auto height = static_cast<std::uint32_t>(size.height);
    return test::make_bmp(width, height, [&](std::uint32_t value) {
        const double x = value / 3 % width;
        const double y = height - 1 - value / 3 / width;  // the lowest row stands first
        const bool is_object = x >= object.left && x + 1 <= object.left + object.width && y >= object.top &&
                               y + 1 <= object.top + object.height;
        return is_object ? 250U : 90U + value % 3;
    });
}

bool overlap(const PixelRect& a, const PixelRect& b) {
    return a.left < b.left + b.width && b.left < a.left + a.width && a.top < b.top + b.height &&
           b.top < a.top + a.height;
}

class TokenPlaces : public testing::TestWithParam<std::string> {
   protected:
    void SetUp() override {
        test::FamilyModel family = test::family_model(GetParam());
        size_ = family.picture;
        tower_ = test::load_tower(std::move(family.vision), {}, 1);
    }

    // Rows of the projected tokens of the first block, which has mixed places least.
    SeenImage seen(const std::string& picture) {
        const auto planned = plan_pictures({{{}, picture}}, *tower_.model, {}, nullptr);
        EXPECT_TRUE(planned.ok()) << planned.status().message();
        VisualRequest request;
        request.mix = {{0, 1.0}};
        request.want_gram = false;
        auto input = prepare_images(*planned, request, *tower_.session, nullptr);
        EXPECT_TRUE(input.ok()) << input.status().message();
        return std::move(input->images.front());
    }

    PixelSize size_;
    test::LoadedTower tower_;
};

TEST_P(TokenPlaces, AnObjectChangesTheTokensThatShowItMost) {
    const SeenImage plain = seen(painted(size_, {}));
    const ImageLayout& layout = plain.plan.layout;
    ASSERT_TRUE(layout.is_placed);
    const std::size_t n_tokens = layout.n_tokens();
    const std::size_t width = plain.values.size() / n_tokens;
    std::vector<std::size_t> view_of;
    for (const TokenRegion& region : layout.regions)
        view_of.resize(view_of.size() + region.n_tokens(), region.view);
    std::size_t n_painted = 0;
    for (TokenIndex token = 0; token < n_tokens; token += 3) {
        const PixelRect cell = layout.cell(token);
        const bool is_inside = cell.left >= 0 && cell.top >= 0 && cell.left + cell.width <= size_.width &&
                               cell.top + cell.height <= size_.height;
        if (cell.width < 2.0 || !is_inside) continue;
        ++n_painted;
        const SeenImage with_object = seen(painted(size_, cell));
        std::map<std::size_t, std::pair<double, TokenIndex>> most;  // by view
        for (TokenIndex other = 0; other < n_tokens; ++other) {
            double change = 0.0;
            for (std::size_t i = other * width; i < (other + 1) * width; ++i) {
                change += std::pow(with_object.values[i] - plain.values[i], 2.0);
            }
            auto& [largest, at] = most[view_of[other]];
            if (change > largest) {
                largest = change;
                at = other;
            }
        }
        EXPECT_EQ(most[view_of[token]].second, token);
        for (const auto& [view, change] : most) {
            if (view == view_of[token]) continue;
            EXPECT_TRUE(overlap(layout.cell(change.second), cell))
                << "token " << change.second << " of view " << view << " for " << token;
        }
    }
    EXPECT_GT(n_painted, 8U);
}

std::vector<std::string> families_with_towers() {
    std::vector<std::string> names = test::family_names();
    std::erase(names, "Libmtmd");
    return names;
}

INSTANTIATE_TEST_SUITE_P(All, TokenPlaces, testing::ValuesIn(families_with_towers()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace clasp::engine
