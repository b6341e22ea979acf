// Moving scenes: determinism, splits, what the frames show, and that no single frame gives answers away.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "support/json.h"
#include "world/clip_labels.h"
#include "world/clip_phrasings.h"
#include "world/compose_clip.h"
#include "world/painter.h"
#include "world/write_scenes.h"

namespace clasp::world {
namespace {

constexpr Split kAllSplits[] = {Split::Train, Split::Calibrate, Split::Test};

TEST(Clips, same_address_same_frames) {
    const Clip a = compose_clip(Split::Test, 3, 14);
    const Clip b = compose_clip(Split::Test, 3, 14);
    EXPECT_EQ(signature(a), signature(b));
    const auto frames = paint_clip(a);
    ASSERT_EQ(frames.size(), static_cast<std::size_t>(kClipFrames));
    for (int f = 0; f < kClipFrames; ++f) {
        const Canvas& frame = frames[static_cast<std::size_t>(f)];
        EXPECT_EQ(frame.side(), 112);
        EXPECT_EQ(frame.rgb(), paint_scene(scene_at(b, f)).rgb());
    }
}

TEST(Clips, belong_to_the_split_that_owns_their_signature) {
    std::set<std::uint64_t> seen;
    for (const Split split : kAllSplits)
        for (std::uint64_t index = 0; index < 80; ++index) {
            const Clip clip = compose_clip(split, 5, index);
            EXPECT_EQ(split_of(signature(clip)), split);
            seen.insert(signature(clip));
        }
    EXPECT_EQ(seen.size(), 240U);
}

TEST(Clips, test_only_combinations_never_leak) {
    int in_test = 0;
    for (const Split split : kAllSplits)
        for (std::uint64_t index = 0; index < 200; ++index)
            for (const Actor& actor : compose_clip(split, 6, index).actors)
                for (const int frame : {0, kClipFrames - 1}) {
                    const Item item = item_at(actor, frame);
                    const bool only = is_test_only(item.shape(), item.colour);
                    if (split == Split::Test)
                        in_test += only ? 1 : 0;
                    else
                        EXPECT_FALSE(only);
                }
    EXPECT_GT(in_test, 50);
}

TEST(Clips, actors_stay_inside_and_apart_and_have_shapes_of_their_own) {
    for (std::uint64_t index = 0; index < 120; ++index) {
        const Clip clip = compose_clip(Split::Train, 7, index);
        ASSERT_GE(clip.actors.size(), 3U);
        for (std::size_t i = 0; i < clip.actors.size(); ++i)
            for (int frame = 0; frame < kClipFrames; ++frame) {
                const Item a = item_at(clip.actors[i], frame);
                EXPECT_GE(a.x - a.half_w, 0);
                EXPECT_GE(a.y - a.half_h, 0);
                EXPECT_LE(a.x + a.half_w, 112);
                EXPECT_LE(a.y + a.half_h, 112);
                for (std::size_t j = 0; j < i; ++j) {
                    const Item b = item_at(clip.actors[j], frame);
                    EXPECT_NE(a.shape(), b.shape());
                    EXPECT_TRUE(std::abs(a.x - b.x) >= a.half_w + b.half_w ||
                                std::abs(a.y - b.y) >= a.half_h + b.half_h);
                }
            }
    }
}

// What a viewer sees of one shape, frame by frame.
struct Seen {
    std::vector<std::optional<Item>> frames;

    int count() const {
        return static_cast<int>(std::ranges::count_if(frames, [](const auto& f) { return f.has_value(); }));
    }
    const Item& first() const {
        return **std::ranges::find_if(frames, [](const auto& f) { return f.has_value(); });
    }
    const Item& last() const {
        return **std::find_if(frames.rbegin(), frames.rend(), [](const auto& f) { return f.has_value(); });
    }
    // Times that it went while it came back later.
    int gaps() const {
        int found = 0;
        for (std::size_t f = 1; f + 1 < frames.size(); ++f)
            found += frames[f - 1] && !frames[f] && frames[f + 1];
        return found;
    }
    Event event() const {
        if (gaps() > 0) return Event::Blinks;
        if (!frames.front()) return Event::Appears;
        if (!frames.back()) return Event::Vanishes;
        if (first().colour != last().colour) return Event::Recolours;
        if (first().half_w < last().half_w) return Event::Grows;
        if (first().half_w > last().half_w) return Event::Shrinks;
        return first().x == last().x && first().y == last().y ? Event::Stays : Event::Moves;
    }
};

Seen watch(const Clip& clip, Shape shape) {
    Seen seen;
    for (int f = 0; f < kClipFrames; ++f) {
        seen.frames.emplace_back();
        for (const Item& item : scene_at(clip, f).items)
            if (item.shape() == shape) seen.frames.back() = item;
    }
    return seen;
}

TEST(Clips, what_the_frames_show_is_what_the_actors_do) {
    for (std::uint64_t index = 0; index < 400; ++index) {
        const Clip clip = compose_clip(Split::Train, 8, index);
        for (const Actor& actor : clip.actors) {
            const Seen seen = watch(clip, actor.item.shape());
            EXPECT_EQ(seen.event(), actor.event) << index;
            EXPECT_EQ(seen.gaps(), blinks(actor)) << index;
            const float x = seen.last().x - seen.first().x;
            const float y = seen.last().y - seen.first().y;
            if (actor.event != Event::Moves) continue;
            const Way way =
                std::abs(x) > std::abs(y) ? (x < 0 ? Way::Left : Way::Right) : (y < 0 ? Way::Up : Way::Down);
            EXPECT_EQ(way, actor.way);
            EXPECT_GT(std::abs(x) + std::abs(y), kPatch);
        }
    }
}

TEST(Clips, answers_follow_from_the_frames) {
    const auto named = [](std::string_view text) {
        for (int s = 0; s < kShapes; ++s) {
            const std::string word = " " + std::string(name(static_cast<Shape>(s)));
            const std::size_t at = (" " + std::string(text)).find(word);
            const std::string_view rest = at == std::string::npos ? "t" : text.substr(at + word.size() - 1);
            if (rest.empty() || std::isalpha(static_cast<unsigned char>(rest.front())) == 0)
                return static_cast<Shape>(s);
        }
        return Shape::Circle;
    };
    std::map<ClipForm, int> asked;
    for (std::uint64_t index = 0; index < 600; ++index) {
        const Clip clip = compose_clip(Split::Test, 9, index);
        for (const ClipQuestion& q : ask_about_clip(clip, 5)) {
            ++asked[q.form];
            const Seen seen = watch(clip, named(q.said.text));
            const std::string& answer = q.said.answer;
            switch (q.form) {
                case ClipForm::WhatHappens: EXPECT_EQ(answer, verb(seen.event())); break;
                case ClipForm::HowOften: EXPECT_EQ(answer, std::to_string(seen.gaps())); break;
                case ClipForm::ColourAfter: EXPECT_EQ(answer, name(seen.last().colour)); break;
                case ClipForm::ColourBefore: EXPECT_EQ(answer, name(seen.first().colour)); break;
                case ClipForm::WhichOne:
                    EXPECT_NE(q.said.text.find(verb(watch(clip, named(answer)).event())), std::string::npos);
                    break;
                case ClipForm::HowManyDo: {
                    int count = 0;
                    for (const Actor& actor : clip.actors)
                        count += q.said.text.find(plural_verb(watch(clip, actor.item.shape()).event())) !=
                                 std::string::npos;
                    EXPECT_EQ(answer, std::to_string(count)) << q.said.text;
                    break;
                }
                default: break;
            }
        }
    }
    EXPECT_EQ(asked.size(), static_cast<std::size_t>(kClipForms));  // no split but train asks still questions
}

TEST(Clips, the_first_to_change_is_first) {
    int asked = 0;
    for (std::uint64_t index = 3; index < 800; index += kClipForms) {
        const Clip clip = compose_clip(Split::Calibrate, 10, index);
        const ClipQuestion q = ask_about_clip(clip, 1).front();
        ASSERT_EQ(q.form, ClipForm::FirstOrLast);
        const bool first = q.said.text.find("first") != std::string::npos;
        const auto answer = std::ranges::find_if(
            clip.actors, [&](const Actor& actor) { return name(actor.item.shape()) == q.said.answer; });
        ASSERT_NE(answer, clip.actors.end());
        int rivals = 0;
        for (const Actor& other : clip.actors) {
            if (&other == &*answer || other.event != answer->event) continue;
            ++rivals;
            if (first)
                EXPECT_LT(answer->frame + 1, other.frame);
            else
                EXPECT_GT(answer->frame, other.frame + 1);
        }
        EXPECT_GE(rivals, 1);
        ++asked;
    }
    EXPECT_EQ(asked, 100);
}

// The best guess within groups of clips that look alike in some way must stay near chance.
double best_guess(const std::map<std::string, std::map<std::string, int>>& answers) {
    int hits = 0;
    int total = 0;
    for (const auto& [look, counts] : answers) {
        int top = 0;
        for (const auto& [answer, count] : counts) {
            total += count;
            top = std::max(top, count);
        }
        hits += top;
    }
    return static_cast<double>(hits) / total;
}

TEST(Clips, neither_no_look_nor_one_frame_gives_answers_away) {
    // By what is known: nothing, or of the first or the last frame how many shapes there are, whether the one
    // asked about is one of them, in which corner of the picture it lies, and how large it is.
    std::map<ClipForm, std::map<std::string, std::map<std::string, int>>> blind, first, last;
    for (std::uint64_t index = 0; index < 16000; ++index) {
        const Clip clip = compose_clip(Split::Train, 11, index);
        const ClipQuestion q = ask_about_clip(clip, 1).front();
        ++blind[q.form][""][q.said.answer];
        for (const int frame : {0, kClipFrames - 1}) {
            std::string look = std::to_string(scene_at(clip, frame).items.size());
            if (clip.subject.actor >= 0) {
                const Actor& actor = clip.actors[static_cast<std::size_t>(clip.subject.actor)];
                const Item item = item_at(actor, frame);
                if (is_seen(actor, frame))
                    look += std::string(item.x < 56 ? " left" : " right") + (item.y < 56 ? " up" : " down") +
                            (item.size == Size::Large ? " large" : " small");
            }
            ++(frame == 0 ? first : last)[q.form][look][q.said.answer];
        }
    }
    const std::map<ClipForm, double> chance = {
        {ClipForm::WhatHappens, 1 / 8.0},  {ClipForm::WhichWay, 1 / 4.0}, {ClipForm::WhichOne, 1 / 8.0},
        {ClipForm::FirstOrLast, 1 / 8.0},  {ClipForm::HowOften, 1 / 4.0}, {ClipForm::ColourAfter, 1 / 8.0},
        {ClipForm::ColourBefore, 1 / 8.0}, {ClipForm::HowManyDo, 1 / 4.0}};
    for (const auto& [form, even] : chance) {
        EXPECT_LT(best_guess(blind[form]), even + 0.05) << name(form);
        // An absent thing can only appear or have vanished, a large one cannot grow or have shrunk.
        const double clue = form == ClipForm::WhatHappens ? 0.3 : form == ClipForm::HowManyDo ? 0.2 : 0.1;
        EXPECT_LT(best_guess(first[form]), even + clue) << name(form);
        // Who has moved has left the middle: its last place tells more than its first.
        if (form == ClipForm::WhichWay) continue;
        EXPECT_LT(best_guess(last[form]), even + clue) << name(form);
    }
    EXPECT_LT(best_guess(first[ClipForm::WhichWay]), 0.30);
}

TEST(Clips, who_blinks_is_there_at_the_start_and_the_end) {
    for (std::uint64_t index = 4; index < 2000; index += kClipForms) {
        const Clip clip = compose_clip(Split::Train, 12, index);
        const Actor& actor = clip.actors[static_cast<std::size_t>(clip.subject.actor)];
        EXPECT_TRUE(is_seen(actor, 0));
        EXPECT_TRUE(is_seen(actor, kClipFrames - 1));
    }
}

TEST(Clips, are_written_as_one_animated_file_each) {
    const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "clips";
    std::filesystem::remove_all(folder);
    WriteOptions options;
    options.count = 9;
    options.questions_per_scene = 2;
    const auto report = write_clips(folder, options);
    ASSERT_TRUE(report.ok()) << report.status().message();
    std::ifstream lines(folder / "questions.jsonl");
    std::string line;
    int count = 0;
    while (std::getline(lines, line)) {
        const base::Json json = test::parsed(line);
        EXPECT_EQ(json["question_id"], count++);
        std::ifstream file(folder / json["image"].get<std::string>().value(), std::ios::binary);
        const std::string bytes((std::istreambuf_iterator<char>(file)), {});
        EXPECT_EQ(bytes.substr(1, 3), "PNG");
        const std::size_t control = bytes.find("acTL");
        ASSERT_NE(control, std::string::npos);
        EXPECT_LT(control, bytes.find("IDAT"));
        EXPECT_EQ(bytes.substr(control + 4, 4), std::string("\0\0\0\10", 4));
        EXPECT_EQ(json["conversations"][0]["value"], "<video>\n" + json["text"].get<std::string>().value());
    }
    EXPECT_EQ(count, report->questions);
    std::filesystem::remove_all(folder);
}

TEST(Clips, labels_say_who_is_where) {
    for (std::uint64_t index = 0; index < 60; ++index) {
        const Clip clip = compose_clip(Split::Train, 13, index);
        for (int frame = 0; frame < kClipFrames; ++frame) {
            const auto labels = label_clip_patches(clip, frame);
            for (const Actor& actor : clip.actors) {
                const Item item = item_at(actor, frame);
                const ClipPatchLabels& label = labels[static_cast<std::size_t>(
                    static_cast<int>(item.y) / kPatch * kClipSide + static_cast<int>(item.x) / kPatch)];
                EXPECT_EQ(label.event, 1 + static_cast<int>(actor.event));
                EXPECT_EQ(label.actor, 1 + item.variant);
                EXPECT_EQ(label.way != 0, actor.event == Event::Moves);
                EXPECT_EQ(label.blinks, blinks(actor));
            }
        }
    }
}

TEST(Clips, test_only_wordings_use_known_words_and_stay_in_the_test_split) {
    const auto words = [](std::string_view phrase) {
        std::istringstream in{std::string(phrase)};
        std::vector<std::string> out;
        for (std::string word; in >> word;) {
            while (!word.empty() && std::string_view("?.,").find(word.back()) != std::string_view::npos)
                word.pop_back();
            out.push_back(word);
        }
        return out;
    };
    std::set<std::string> known;
    for (int i = 0; i < kClipForms; ++i) {
        const Phrasings p = phrasings_of(static_cast<ClipForm>(i));
        for (const auto& list : {p.common, p.train_only})
            for (const auto phrase : list)
                for (const auto& word : words(phrase)) known.insert(word);
    }
    for (int i = 0; i < kClipForms; ++i) {
        const Phrasings p = phrasings_of(static_cast<ClipForm>(i));
        EXPECT_GE(p.common.size(), 3U);
        EXPECT_EQ(p.test_only.size(), 2U);
        for (const auto phrase : p.test_only) {
            EXPECT_EQ(std::ranges::count(p.common, phrase), 0);
            EXPECT_EQ(std::ranges::count(p.train_only, phrase), 0);
            for (const auto& word : words(phrase)) EXPECT_TRUE(known.contains(word)) << phrase;
        }
    }
    int in_test = 0;
    for (std::uint64_t index = 0; index < 400; ++index) {
        EXPECT_FALSE(
            ask_about_clip(compose_clip(Split::Train, 15, index), 1).front().said.test_only_phrasing);
        in_test += ask_about_clip(compose_clip(Split::Test, 15, index), 1).front().said.test_only_phrasing;
    }
    EXPECT_NEAR(in_test, 100, 40);
}

}  // namespace
}  // namespace clasp::world
