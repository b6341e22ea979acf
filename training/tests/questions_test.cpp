// The questions: right answers, balanced answers, and words that the training text teaches.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "world/compose.h"
#include "world/phrasings.h"
#include "world/questions.h"

namespace clasp::world {
namespace {

// Answers a question from its text and the scene alone, without the code that asked it: words of the
// question filter the items, and the filter must leave exactly one.
class Reader {
   public:
    Reader(const Scene& scene, std::string text) : scene_(scene), text_(" " + std::move(text) + " ") {
        for (char& c : text_)
            if (c == '?' || c == '.' || c == ',') c = ' ';
    }

    bool says(std::string_view word) const {
        return text_.find(" " + std::string(word) + " ") != std::string::npos;
    }

    template <typename Value>
    std::vector<Value> said(int count) const {
        std::vector<Value> found;
        for (int i = 0; i < count; ++i)
            if (says(name(static_cast<Value>(i)))) found.push_back(static_cast<Value>(i));
        return found;
    }

    // The only item of this kind that fits the colour, texture and shape words of the question.
    const Item* only(Kind kind) const {
        const Item* found = nullptr;
        for (const Item& item : scene_.items) {
            if (item.kind != kind || !fits(item)) continue;
            if (found != nullptr) return nullptr;
            found = &item;
        }
        return found;
    }

    bool fits(const Item& item) const {
        const auto colours = said<Colour>(kColours);
        if (!colours.empty() && std::ranges::find(colours, item.colour) == colours.end()) return false;
        if (item.kind != Kind::Shape) return true;
        const auto textures = said<Texture>(kTextures);
        if (textures.size() == 1 && textures[0] != item.texture) return false;
        const auto shapes = said<Shape>(kShapes);
        return shapes.empty() || shapes[0] == item.shape();
    }

   private:
    const Scene& scene_;
    std::string text_;
};

std::string expected(const Scene& scene, const Question& q) {
    const Reader reader(scene, q.text);
    const auto text = [](std::string_view s) { return std::string(s); };
    switch (q.form) {
        case Template::ShapeThatIs: return text(name(reader.only(Kind::Shape)->shape()));
        case Template::ToolName: return text(name(reader.only(Kind::Tool)->tool()));
        case Template::IsThere:
            return std::ranges::any_of(scene.items,
                                       [&](const Item& i) { return i.kind == Kind::Shape && reader.fits(i); })
                       ? "yes"
                       : "no";
        case Template::ColourOf: {
            for (const Item& item : scene.items)
                if (item.kind == Kind::Tool && reader.says(name(item.tool()))) return text(name(item.colour));
            return text(name(reader.only(Kind::Shape)->colour));
        }
        case Template::SizeOf: return text(name(reader.only(Kind::Shape)->size));
        case Template::PatternOf: {
            // "plain, striped or dotted" names all three, which says nothing about the item
            return text(name(reader.only(Kind::Shape)->texture));
        }
        case Template::ReadSign: return reader.only(Kind::Sign)->sign_text();
        case Template::CharacterOnSign: {
            const std::string sign = reader.only(Kind::Sign)->sign_text();
            return std::string(1, reader.says("first") ? sign[0] : reader.says("middle") ? sign[1] : sign[2]);
        }
        case Template::WhichPlace: return text(name(scene.place));
        case Template::InTheSky: return text(name(scene.sky));
        case Template::DayOrNight: return scene.is_night() ? "night" : "day";
        case Template::HowMany: {
            // plural words: cut the ending and count by the same filter
            std::string singular = q.text;
            for (const std::string_view plural :
                 {"crosses", "circles", "squares", "triangles", "stars", "hearts", "rings", "diamonds"})
                if (const auto at = singular.find(plural); at != std::string::npos)
                    singular.replace(at, plural.size(),
                                     plural.substr(0, plural.size() - (plural == "crosses" ? 2 : 1)));
            const Reader again(scene, singular);
            return std::to_string(std::ranges::count_if(
                scene.items, [&](const Item& i) { return i.kind == Kind::Shape && again.fits(i); }));
        }
        case Template::WhatDoing: return text(name(reader.only(Kind::Person)->pose()));
        case Template::IsDoing: return reader.says(name(reader.only(Kind::Person)->pose())) ? "yes" : "no";
        case Template::WhatFor: return text(purpose(reader.only(Kind::Tool)->tool()));
        case Template::IsFor: return reader.says(purpose(reader.only(Kind::Tool)->tool())) ? "yes" : "no";
        case Template::PlaceAndAction:
            return text(name(scene.place)) + ", " + text(name(reader.only(Kind::Person)->pose()));
        case Template::ColourAndPurpose: {
            const Item* tool = reader.only(Kind::Tool);
            return text(name(tool->colour)) + ", " + text(purpose(tool->tool()));
        }
        case Template::PlaceAndSign:
            return text(name(scene.place)) + ", " + reader.only(Kind::Sign)->sign_text();
        case Template::ColourAndSize: {
            const Item* shape = reader.only(Kind::Shape);
            return text(name(shape->colour)) + ", " + text(name(shape->size));
        }
        default: return q.answer;  // relations and descriptions have tests of their own
    }
}

TEST(Questions, answers_follow_from_the_scene) {
    for (const int side : {8, 24})
        for (std::uint64_t index = 0; index < 600; ++index) {
            const Scene scene = compose_scene(Split::Test, 11, index, side);
            for (const Question& q : ask_many(scene, 5)) EXPECT_EQ(q.answer, expected(scene, q)) << q.text;
        }
}

TEST(Questions, relations_follow_from_the_centres) {
    int asked = 0;
    for (std::uint64_t index = 4; index < 2000; index += 9) {
        const Scene scene = compose_scene(Split::Test, 12, index);
        const Question q = ask_many(scene, 1).front();
        // Both things by the words of the phrase "is the A left or right of the B".
        const std::string text = q.text;
        const bool across = q.form == Template::LeftOrRight;
        const std::string between = across ? " left or right of the " : " above or below the ";
        if (!text.starts_with("Is the ") || text.find(between) == std::string::npos) continue;
        const std::size_t cut = text.find(between);
        const std::string a = text.substr(7, cut - 7);
        const std::string b = text.substr(cut + between.size(), text.size() - cut - between.size() - 1);
        const auto find = [&](const std::string& what) -> const Item* {
            const Reader reader(scene, what);
            if (reader.says("person")) return reader.only(Kind::Person);
            if (reader.says("sign")) return reader.only(Kind::Sign);
            for (int t = 0; t < kTools; ++t)
                if (reader.says(name(static_cast<Tool>(t)))) return reader.only(Kind::Tool);
            return reader.only(Kind::Shape);
        };
        const Item* first = find(a);
        const Item* second = find(b);
        ASSERT_NE(first, nullptr) << text;
        ASSERT_NE(second, nullptr) << text;
        const bool less = across ? first->x < second->x : first->y < second->y;
        EXPECT_EQ(q.answer, across ? (less ? "left" : "right") : (less ? "above" : "below")) << text;
        ++asked;
    }
    EXPECT_GT(asked, 50);
}

TEST(Questions, every_scene_serves_its_class) {
    for (std::uint64_t index = 0; index < 300; ++index) {
        const Scene scene = compose_scene(Split::Calibrate, 13, index);
        const auto questions = ask_many(scene, 3);
        ASSERT_FALSE(questions.empty());
        EXPECT_EQ(questions.front().class_id, static_cast<int>(index % kClasses));
    }
}

// Nothing can be answered without looking: within a form, no answer is much more frequent than the
// others, so that the best blind guess stays near chance.
TEST(Questions, blind_guesses_stay_near_chance) {
    std::map<Template, std::map<std::string, int>> answers;
    for (std::uint64_t index = 0; index < 4000; ++index) {
        const Scene scene = compose_scene(Split::Train, 14, index, 20);
        for (const Question& q : ask_many(scene, 6)) ++answers[q.form][q.answer];
    }
    EXPECT_EQ(answers.size(), static_cast<std::size_t>(kTemplates));
    for (const auto& [form, counts] : answers) {
        int total = 0;
        int top = 0;
        for (const auto& [answer, count] : counts) {
            total += count;
            top = std::max(top, count);
        }
        const double even = static_cast<double>(total) / static_cast<double>(counts.size());
        const double slack = form == Template::Describe ? 12.0 : 1.35;
        EXPECT_LT(top, slack * even + 12) << name(form);
        EXPECT_LE(top, total * 0.58) << name(form);
    }
}

TEST(Questions, test_only_wordings_use_known_words_and_stay_in_the_test_split) {
    std::set<std::string> known;
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
    for (int i = 0; i < kTemplates; ++i)
        for (const auto phrase : phrasings_of(static_cast<Template>(i)).common)
            for (const auto& word : words(phrase)) known.insert(word);
    for (int i = 0; i < kTemplates; ++i) {
        const Phrasings p = phrasings_of(static_cast<Template>(i));
        EXPECT_GE(p.common.size(), 2U);
        EXPECT_GE(p.test_only.size(), 1U);
        EXPECT_GE(p.train_only.size(), 3U);
        for (const auto phrase : p.test_only) {
            EXPECT_EQ(std::ranges::count(p.common, phrase), 0);
            EXPECT_EQ(std::ranges::count(p.train_only, phrase), 0);
            for (const auto& word : words(phrase)) EXPECT_TRUE(known.contains(word)) << phrase;
        }
    }
    for (std::uint64_t index = 0; index < 200; ++index)
        for (const Question& q : ask_many(compose_scene(Split::Train, 15, index), 4))
            EXPECT_FALSE(q.test_only_phrasing);
}

TEST(Questions, train_only_wordings_stay_in_the_train_split) {
    // All that a wording can become, without what fills its slots.
    const auto is_train_only = [](const Question& q) {
        return std::ranges::any_of(phrasings_of(q.form).train_only, [&](std::string_view phrase) {
            const std::string_view head = phrase.substr(0, phrase.find('{'));
            const std::size_t slot = phrase.rfind('}');
            const std::string_view tail = slot == std::string_view::npos ? phrase : phrase.substr(slot + 1);
            return q.text.starts_with(head) && q.text.ends_with(tail);
        });
    };
    const auto count_in = [&](Split split) {
        int count = 0;
        for (std::uint64_t index = 0; index < 200; ++index)
            for (const Question& q : ask_many(compose_scene(split, 16, index), 4))
                count += q.form == Template::HowMany && is_train_only(q);
        return count;
    };
    EXPECT_GT(count_in(Split::Train), 0);
    EXPECT_EQ(count_in(Split::Test), 0);
    EXPECT_EQ(count_in(Split::Calibrate), 0);
}

}  // namespace
}  // namespace clasp::world
