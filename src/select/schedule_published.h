// The schedules that the paper prints, for 576 visual tokens and stages 2/6/15 of 32 layers.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace clasp::scheduling {

struct PublishedSchedule {
    std::string_view name;
    std::size_t budget;
    std::array<std::size_t, 3> keep;
};

inline constexpr std::size_t kPublishedVisual = 576;
inline constexpr std::size_t kPublishedLayers = 32;
inline constexpr std::array<std::size_t, 3> kPublishedStages = {2, 6, 15};
inline constexpr std::array<PublishedSchedule, 3> kPublished = {{
    {"paper-64", 64, {66, 30, 17}},
    {"paper-128", 128, {303, 110, 36}},
    {"paper-192", 192, {300, 200, 110}},
}};

}  // namespace clasp::scheduling
