#include "world/compose_clip.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "world/clip_questions.h"
#include "world/random.h"

namespace clasp::world {
namespace {

constexpr float kApart = 3.0F;  // pixels kept free between the boxes that actors ever fill
constexpr float kPixels = kClipSide * kPatch;
constexpr int kFewest = 3;
constexpr int kMost = 4;

// What the clip's own question needs; the same for all drafts of an address.
struct Wanted {
    ClipForm form = ClipForm::WhatHappens;
    Event event = Event::Stays;
    int count = 1;  // actors with this event; blinks for HowOften
    Way way = Way::Left;
    int actors = kFewest;
};

Event any_of(Random& rng, std::initializer_list<Event> list) {
    return *(list.begin() + rng.below(static_cast<int>(list.size())));
}

Wanted draw_wanted(std::uint64_t index, Random& rng) {
    Wanted wanted;
    wanted.form = static_cast<ClipForm>(index % kClipForms);
    wanted.actors = kFewest + rng.below(kMost - kFewest + 1);
    wanted.way = static_cast<Way>(rng.below(kWays));
    switch (wanted.form) {
        case ClipForm::WhatHappens:
        case ClipForm::WhichOne: wanted.event = static_cast<Event>(rng.below(kEvents)); break;
        case ClipForm::WhichWay: wanted.event = Event::Moves; break;
        case ClipForm::FirstOrLast:
            wanted.event = any_of(rng, {Event::Appears, Event::Vanishes, Event::Recolours});
            wanted.count = 2 + rng.below(2);
            break;
        case ClipForm::HowOften:
            wanted.count = rng.below(kMostBlinks + 1);
            // Who does not blink is to be seen in the first and the last frame, as one who blinks.
            wanted.event = wanted.count > 0 ? Event::Blinks
                                            : any_of(rng, {Event::Stays, Event::Moves, Event::Recolours,
                                                           Event::Grows, Event::Shrinks});
            break;
        case ClipForm::ColourAfter:
        case ClipForm::ColourBefore: wanted.event = Event::Recolours; break;
        case ClipForm::HowManyDo:
            wanted.event =
                any_of(rng, {Event::Moves, Event::Appears, Event::Vanishes, Event::Recolours, Event::Blinks});
            wanted.count = rng.below(4);
            wanted.actors = std::max(wanted.actors, wanted.count);
            break;
        case ClipForm::Still: break;
    }
    return wanted;
}

class ClipComposer {
   public:
    ClipComposer(Split split, const Wanted& wanted, std::uint64_t key) : rng_(key), wanted_(wanted) {
        clip_.split = split;
        clip_.stage.split = split;
        clip_.stage.side = kClipSide;
    }

    // False when the drawn contents do not fit; the caller tries another draft.
    bool run(Clip& out) {
        clip_.stage.place = static_cast<Place>(rng_.below(kPlaces));
        clip_.stage.sky = static_cast<Sky>(rng_.below(kSkies));
        clip_.stage.background_seed = rng_.next();
        clip_.stage.horizon = std::floor(kPixels * rng_.range(0.26F, 0.36F));
        // Those whom the question is about, then others who must not change its answer.
        const bool one = wanted_.form != ClipForm::FirstOrLast && wanted_.form != ClipForm::HowManyDo;
        const int doing = one ? 1 : wanted_.count;
        const bool alone = !one || wanted_.form == ClipForm::WhichOne;
        for (int i = 0; i < wanted_.actors; ++i) {
            Event event = wanted_.event;
            while (i >= doing) {
                event = static_cast<Event>(rng_.below(kEvents));
                if (!alone || event != wanted_.event) break;
            }
            if (!add_actor(event, i)) return false;
        }
        clip_.subject = {one && wanted_.form != ClipForm::WhichOne ? 0 : -1, wanted_.event};
        shuffle();
        out = std::move(clip_);
        return true;
    }

   private:
    struct Box {
        float left, right, top, bottom;
    };

    bool is_free(const Box& box) const {
        return std::ranges::none_of(boxes_, [&](const Box& other) {
            return box.left < other.right + kApart && other.left < box.right + kApart &&
                   box.top < other.bottom + kApart && other.top < box.bottom + kApart;
        });
    }

    bool is_allowed(Shape shape, Colour colour) const {
        return clip_.split == Split::Test || !is_test_only(shape, colour);
    }

    bool is_shape_taken(std::uint8_t variant) const {
        return std::ranges::any_of(clip_.actors,
                                   [&](const Actor& actor) { return actor.item.variant == variant; });
    }

    float half_of(Size size) {
        return std::ceil(size == Size::Large ? rng_.range(16.0F, 19.0F) : rng_.range(9.5F, 11.5F));
    }

    bool add_actor(Event event, int number) {
        Actor actor;
        actor.event = event;
        Item& item = actor.item;
        item.kind = Kind::Shape;
        do item.variant = static_cast<std::uint8_t>(rng_.below(kShapes));
        while (is_shape_taken(item.variant));
        do item.colour = static_cast<Colour>(rng_.below(kColours));
        while (!is_allowed(item.shape(), item.colour));
        item.texture = static_cast<Texture>(rng_.below(kTextures));
        item.angle = rng_.range(-0.25F, 0.25F);
        const bool large =
            event == Event::Shrinks || (event != Event::Grows && event != Event::Moves && rng_.chance(0.25F));
        item.size = large ? Size::Large : Size::Small;
        item.half_w = item.half_h = half_of(item.size);
        actor.frame = 1 + rng_.below(kClipFrames - 1);
        if (event == Event::Recolours) do
                actor.later = static_cast<Colour>(rng_.below(kColours));
            while (actor.later == item.colour || !is_allowed(item.shape(), actor.later));
        if (event == Event::Grows) actor.later_half = half_of(Size::Large);
        if (event == Event::Shrinks) actor.later_half = half_of(Size::Small);
        if (event == Event::Blinks) actor.dark = draw_dark(number);
        if (event == Event::Moves) {
            actor.way = number == 0 ? wanted_.way : static_cast<Way>(rng_.below(kWays));
            actor.distance = std::floor(rng_.range(22.0F, 31.0F));
        }
        if (wanted_.form == ClipForm::FirstOrLast && event == wanted_.event && !find_frame(actor))
            return false;
        return place(actor);
    }

    // A frame at least two away from those of the others who do the same.
    bool find_frame(Actor& actor) {
        for (int attempt = 0; attempt < 30; ++attempt) {
            actor.frame = 1 + rng_.below(kClipFrames - 1);
            const bool fits = std::ranges::all_of(clip_.actors, [&](const Actor& other) {
                return other.event != actor.event || std::abs(other.frame - actor.frame) >= 2;
            });
            if (fits) return true;
        }
        return false;
    }

    std::uint8_t draw_dark(int number) {
        const bool is_asked = number == 0 && wanted_.form == ClipForm::HowOften;
        const int count = is_asked ? wanted_.count : 1 + rng_.below(kMostBlinks);
        for (;;) {
            std::uint8_t dark = 0;
            for (int i = 0; i < count; ++i)
                dark = static_cast<std::uint8_t>(dark | (1 << (1 + rng_.below(kClipFrames - 2))));
            if ((dark & (dark << 1)) != 0 || std::popcount(dark) != count) continue;
            return dark;
        }
    }

    // Who moves starts where all four ways are open, so that the first frame does not tell the way.
    bool place(Actor& actor) {
        Item& item = actor.item;
        const float half = std::max(item.half_w, actor.later_half);
        const float margin = half + 1 + (actor.event == Event::Moves ? actor.distance : 0);
        for (int attempt = 0; attempt < 80; ++attempt) {
            item.x = std::floor(rng_.range(margin, kPixels - margin));
            item.y = std::floor(rng_.range(margin, kPixels - margin));
            const Item end = item_at(actor, kClipFrames - 1);
            const Box box{std::min(item.x, end.x) - half, std::max(item.x, end.x) + half,
                          std::min(item.y, end.y) - half, std::max(item.y, end.y) + half};
            if (!is_free(box)) continue;
            boxes_.push_back(box);
            clip_.actors.push_back(actor);
            return true;
        }
        return false;
    }

    void shuffle() {
        for (std::size_t i = clip_.actors.size() - 1; i > 0; --i) {
            const auto j = static_cast<std::size_t>(rng_.below(static_cast<int>(i) + 1));
            std::swap(clip_.actors[i], clip_.actors[j]);
            int& subject = clip_.subject.actor;
            if (subject == static_cast<int>(i))
                subject = static_cast<int>(j);
            else if (subject == static_cast<int>(j))
                subject = static_cast<int>(i);
        }
    }

    Random rng_;
    const Wanted& wanted_;
    Clip clip_;
    std::vector<Box> boxes_;
};

}  // namespace

Clip compose_clip(Split split, std::uint64_t seed, std::uint64_t index) {
    const std::uint64_t key = mix_seed(mix_seed(seed, index), 0xc11b);
    Random first(mix_seed(key, 0x3a47ed));
    const Wanted wanted = draw_wanted(index, first);
    for (std::uint64_t draft = 0;; ++draft) {
        Clip clip;
        ClipComposer composer(split, wanted, mix_seed(key, draft));
        if (!composer.run(clip) || split_of(signature(clip)) != split) continue;
        clip.seed = clip.stage.seed = seed;
        clip.index = clip.stage.index = index;
        if (!ask_about_clip(clip, 1).empty()) return clip;
    }
}

}  // namespace clasp::world
