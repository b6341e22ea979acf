// People as simple figures in five poses.
#include "world/painter.h"
#include "world/palette.h"

namespace clasp::world {
namespace {

// Joints on a box of 32 x 44 units whose centre is the origin (sleeping: 44 x 24).
struct Skeleton {
    Point head, neck, hip;
    Point elbow[2], hand[2], knee[2], foot[2];
};

Skeleton skeleton_of(Pose pose) {
    switch (pose) {
        case Pose::Running:
            return {{4, -15},
                    {2, -8},
                    {-2, 4},
                    {{9, -3}, {-6, -4}},
                    {{13, -9}, {-12, 2}},
                    {{6, 9}, {-7, 11}},
                    {{5, 19}, {-14, 13}}};
        case Pose::Sitting:
            return {{-3, -13},        {-4, -6},         {-5, 8},           {{-1, 1}, {0, 1}},
                    {{5, 5}, {6, 5}}, {{6, 8}, {7, 9}}, {{6, 20}, {8, 20}}};
        case Pose::Jumping:
            return {{0, -11},
                    {0, -4},
                    {0, 6},
                    {{8, -9}, {-8, -9}},
                    {{11, -18}, {-11, -18}},
                    {{8, 9}, {-8, 9}},
                    {{5, 16}, {-5, 16}}};
        case Pose::Waving:
            return {{0, -15},
                    {0, -8},
                    {0, 5},
                    {{8, -9}, {-6, -1}},
                    {{11, -19}, {-6, 6}},
                    {{3, 12}, {-3, 12}},
                    {{4, 20}, {-4, 20}}};
        case Pose::Sleeping:
            return {{-15, 1},           {-8, 3},           {5, 4}, {{-4, 6}, {-3, 0}}, {{2, 7}, {-10, -2}},
                    {{11, 2}, {12, 5}}, {{19, 5}, {20, 6}}};
    }
    return {};
}

}  // namespace

void paint_person(Canvas& canvas, const Item& item, std::uint8_t owner) {
    const bool lies = item.pose() == Pose::Sleeping;
    const float scale = item.half_h / (lies ? 12.0F : 22.0F);
    const float flip = item.mirrored ? -scale : scale;
    const auto at = [&](Point p) { return Point{item.x + p.x * flip, item.y + p.y * scale}; };
    const Skeleton s = skeleton_of(item.pose());
    const Rgb trousers{62, 66, 92};
    const Rgb shirt = rgb_of(item.colour);

    if (lies) {  // a mat under the sleeper
        canvas.stroke(at({-18, 9}), at({18, 9}), 2.2F * scale, {120, 104, 90}, owner);
        canvas.stroke(at({-18, 5}), at({-14, 5}), 3.0F * scale, {240, 240, 240}, owner);
    }
    if (item.pose() == Pose::Sitting) {  // a stool
        canvas.stroke(at({-9, 12}), at({0, 12}), 1.8F * scale, kWood, owner);
        canvas.stroke(at({-8, 12}), at({-8, 20}), 1.3F * scale, kWood, owner);
        canvas.stroke(at({-1, 12}), at({-1, 20}), 1.3F * scale, kWood, owner);
    }
    if (item.pose() == Pose::Jumping)  // the shadow shows that the feet are off the ground
        canvas.stroke(at({-7, 20.5F}), at({7, 20.5F}), 1.1F * scale, {96, 96, 100}, owner);
    for (int i = 0; i < 2; ++i) {
        canvas.stroke(at(s.hip), at(s.knee[i]), 2.4F * scale, trousers, owner);
        canvas.stroke(at(s.knee[i]), at(s.foot[i]), 2.1F * scale, trousers, owner);
    }
    for (int i = 0; i < 2; ++i) canvas.stroke(at(s.elbow[i]), at(s.hand[i]), 1.8F * scale, kSkin, owner);
    canvas.stroke(at(s.neck), at(s.hip), 5.2F * scale, outline_of(item.colour), owner);
    canvas.stroke(at(s.neck), at(s.hip), 4.2F * scale, shirt, owner);
    for (int i = 0; i < 2; ++i) canvas.stroke(at(s.neck), at(s.elbow[i]), 2.3F * scale, shirt, owner);
    canvas.disc(at(s.head), 5.9F * scale, kInk, owner);
    canvas.disc(at(s.head), 4.9F * scale, kSkin, owner);
}

}  // namespace clasp::world
