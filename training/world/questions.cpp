#include "world/questions.h"

#include <algorithm>
#include <cmath>

#include "world/phrasings.h"

namespace clasp::world {
namespace {

constexpr std::string_view kTemplateNames[kTemplates] = {
    "shape-that-is", "tool-name",    "is-there",       "colour-of",  "size-of",      "pattern-of",
    "read-sign",     "character",    "which-place",    "in-the-sky", "day-or-night", "left-right",
    "above-below",   "how-many",     "what-doing",     "is-doing",   "what-for",     "is-for",
    "describe",      "place-action", "colour-purpose", "place-sign", "colour-size"};
constexpr int kTemplateClasses[kTemplates] = {0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 3, 4,
                                              4, 5, 6, 6, 7, 7, 8, 8, 8, 8, 8};
constexpr float kMinApart = 20;  // pixels between two centres for "left" or "above" to be plain
constexpr float kTestOnlyShare = 0.25F;
constexpr float kTrainOnlyShare = 0.5F;

std::string join(std::string_view a, std::string_view b) {
    return std::string(a) + " " + std::string(b);
}

class Asker {
   public:
    Asker(const Scene& scene, Template form, Random& rng) : scene_(scene), form_(form), rng_(rng) {}

    std::optional<Question> run() {
        switch (form_) {
            case Template::ShapeThatIs: return shape_that_is();
            case Template::ToolName: return about(Kind::Tool, [](const Item& i) { return name(i.tool()); });
            case Template::IsThere: return is_there();
            case Template::ColourOf: return colour_of();
            case Template::SizeOf: return about_shape([](const Item& i) { return name(i.size); }, kSayColour);
            case Template::PatternOf:
                return about_shape([](const Item& i) { return name(i.texture); }, kSayColour);
            case Template::ReadSign: return about(Kind::Sign, [](const Item& i) { return i.sign_text(); });
            case Template::CharacterOnSign: return character_on_sign();
            case Template::WhichPlace: return say("", "", name(scene_.place));
            case Template::InTheSky: return say("", "", name(scene_.sky));
            case Template::DayOrNight: return say("", "", scene_.is_night() ? "night" : "day");
            case Template::LeftOrRight:
            case Template::AboveOrBelow: return relation();
            case Template::HowMany:
                if (!scene_.target.asked) return std::nullopt;
                return how_many(scene_.target);
            case Template::WhatDoing:
                return about(Kind::Person, [](const Item& i) { return name(i.pose()); });
            case Template::IsDoing: return is_doing();
            case Template::WhatFor: return about(Kind::Tool, [](const Item& i) { return purpose(i.tool()); });
            case Template::IsFor: return is_for();
            case Template::Describe: return say("", "", describe());
            case Template::PlaceAndAction:
                return about(Kind::Person, [&](const Item& i) {
                    return std::string(name(scene_.place)) + ", " + std::string(name(i.pose()));
                });
            case Template::ColourAndPurpose: return colour_and_purpose();
            case Template::PlaceAndSign:
                return about(Kind::Sign, [&](const Item& i) {
                    return std::string(name(scene_.place)) + ", " + i.sign_text();
                });
            case Template::ColourAndSize:
                return about_shape(
                    [](const Item& i) {
                        return std::string(name(i.colour)) + ", " + std::string(name(i.size));
                    },
                    kSayTexture);
        }
        return std::nullopt;
    }

    Question how_many(const CountTarget& target) {
        std::string what;
        if (target.by == CountBy::Colour) what = join(name(target.colour), "shapes");
        if (target.by == CountBy::Shape) what = std::string(name(target.shape));
        if (target.by == CountBy::ShapeAndColour) what = join(name(target.colour), name(target.shape));
        if (target.by != CountBy::Colour) what += target.shape == Shape::Cross ? "es" : "s";
        x_ = {nullptr, target.count};
        return say(what, "", std::to_string(target.count));
    }

    std::vector<NamedItem> name_items() {
        std::vector<NamedItem> known;
        for (const Item& item : scene_.items) {
            std::string what;
            if (item.kind == Kind::Shape) what = refer_shape(item, kSayColour);
            if (item.kind == Kind::Person || item.kind == Kind::Sign)
                if (of(item.kind).size() == 1) what = item.kind == Kind::Sign ? "sign" : "person";
            if (item.kind == Kind::Tool && of(Kind::Tool).size() == 1) what = name(item.tool());
            if (!what.empty()) known.push_back({&item, std::move(what)});
        }
        return known;
    }

   private:
    enum Extra { kSayNothing, kSayColour, kSayTexture };

    Question say(std::string_view x, std::string_view y, std::string_view answer) {
        const Phrasings phrasings = phrasings_of(form_);
        Question q;
        q.class_id = class_of(form_);
        q.form = form_;
        q.test_only_phrasing = scene_.split == Split::Test && rng_.chance(kTestOnlyShare);
        const bool train_only = scene_.split == Split::Train && rng_.chance(kTrainOnlyShare);
        const auto& list = q.test_only_phrasing ? phrasings.test_only
                           : train_only         ? phrasings.train_only
                                                : phrasings.common;
        const auto pick = static_cast<std::size_t>(rng_.below(static_cast<int>(list.size())));
        std::vector<SlotEnd> ends;
        q.text = fill_slots(list[pick], x, y, &ends);
        q.answer = answer;
        for (const SlotEnd& slot : ends) {
            const Referent& meant = slot.slot == 'x' ? x_ : y_;
            if (meant.count >= 0) q.mentions.push_back({slot.end, index_of(meant.item), meant.count});
        }
        // At its end a question about one thing has said all about it.
        if (x_.count >= 0 && y_.count < 0) q.mentions.push_back({q.text.size(), index_of(x_.item), x_.count});
        return q;
    }

    int index_of(const Item* item) const {
        return item == nullptr ? -1 : static_cast<int>(item - scene_.items.data());
    }

    std::vector<const Item*> of(Kind kind) const {
        std::vector<const Item*> found;
        for (const Item& item : scene_.items)
            if (item.kind == kind) found.push_back(&item);
        return found;
    }

    template <typename T>
    const T& pick(const std::vector<T>& list) {
        return list[static_cast<std::size_t>(rng_.below(static_cast<int>(list.size())))];
    }

    template <typename Test>
    int number(const Test& test) const {
        return static_cast<int>(std::ranges::count_if(
            scene_.items, [&](const Item& i) { return i.kind == Kind::Shape && test(i); }));
    }

    // "tool" or, when there are several or at random, "red tool"; people are "person in red".
    std::string refer(const Item& item) {
        const bool needs_colour = of(item.kind).size() > 1 || rng_.chance(0.3F);
        const std::string colour(name(item.colour));
        switch (item.kind) {
            case Kind::Person: return needs_colour ? "person in " + colour : "person";
            case Kind::Tool: return needs_colour ? colour + " tool" : "tool";
            case Kind::Sign: return needs_colour ? colour + " sign" : "sign";
            default: return "";
        }
    }

    // A shape by its name, with the least that makes it unique, or nothing. `extra` is the one
    // property that may be added; the question's own property must never be said.
    std::string refer_shape(const Item& item, Extra extra) {
        const auto same = [&](const Item& i) { return i.shape() == item.shape(); };
        const bool is_alone = number(same) == 1;
        if (extra == kSayColour) {
            const bool unique =
                number([&](const Item& i) { return same(i) && i.colour == item.colour; }) == 1;
            if (unique && (!is_alone || rng_.chance(0.5F)))
                return join(name(item.colour), name(item.shape()));
        }
        if (extra == kSayTexture && item.texture != Texture::Plain) {
            const bool unique =
                number([&](const Item& i) { return same(i) && i.texture == item.texture; }) == 1;
            if (unique && (!is_alone || rng_.chance(0.2F)))
                return join(name(item.texture), name(item.shape()));
        }
        return is_alone ? std::string(name(item.shape())) : "";
    }

    template <typename Answer>
    std::optional<Question> about(Kind kind, const Answer& answer) {
        const auto found = of(kind);
        if (found.empty()) return std::nullopt;
        const Item& item = *pick(found);
        const std::string what = refer(item);
        x_ = {&item, 1};
        return say(what, "", answer(item));
    }

    template <typename Answer>
    std::optional<Question> about_shape(const Answer& answer, Extra extra) {
        std::vector<std::pair<const Item*, std::string>> known;
        for (const Item* item : of(Kind::Shape))
            if (std::string what = refer_shape(*item, extra); !what.empty())
                known.emplace_back(item, std::move(what));
        if (known.empty()) return std::nullopt;
        const auto& [item, what] = pick(known);
        x_ = {item, 1};
        return say(what, "", answer(*item));
    }

    std::optional<Question> shape_that_is() {
        std::vector<std::pair<const Item*, std::string_view>> known;
        for (const Item* item : of(Kind::Shape)) {
            if (number([&](const Item& i) { return i.colour == item->colour; }) == 1)
                known.emplace_back(item, name(item->colour));
            if (item->texture != Texture::Plain &&
                number([&](const Item& i) { return i.texture == item->texture; }) == 1)
                known.emplace_back(item, name(item->texture));
        }
        if (known.empty()) return std::nullopt;
        const auto& [item, what] = pick(known);
        x_ = {item, 1};
        return say(what, "", name(item->shape()));
    }

    std::optional<Question> is_there() {
        const auto shapes = of(Kind::Shape);
        if (shapes.empty()) return std::nullopt;
        const bool present = rng_.chance(0.5F);
        const bool say_colour = rng_.chance(0.6F);
        for (int attempt = 0; attempt < 30; ++attempt) {
            Shape shape = static_cast<Shape>(rng_.below(kShapes));
            Colour colour = static_cast<Colour>(rng_.below(kColours));
            if (present) {
                const Item& item = *pick(shapes);
                shape = item.shape();
                colour = item.colour;
            } else if (say_colour && rng_.chance(0.7F)) {
                // A pair that does not occur although its halves do.
                shape = pick(shapes)->shape();
                colour = pick(shapes)->colour;
            }
            if (scene_.split != Split::Test && is_test_only(shape, colour)) continue;
            const auto fits = [&](const Item& i) {
                return i.shape() == shape && (!say_colour || i.colour == colour);
            };
            const int found = number(fits);
            if ((found > 0) != present) continue;
            x_ = {nullptr, found};
            const std::string what = say_colour ? join(name(colour), name(shape)) : std::string(name(shape));
            return say(what, "", present ? "yes" : "no");
        }
        return std::nullopt;
    }

    std::optional<Question> colour_of() {
        // Tools by their name and the shirt-less sign count as things with a colour too.
        const auto tools = of(Kind::Tool);
        if (!tools.empty() && rng_.chance(0.25F)) {
            const Item& item = *pick(tools);
            const bool is_alone =
                std::ranges::count_if(tools, [&](const Item* i) { return i->variant == item.variant; }) == 1;
            if (is_alone) {
                x_ = {&item, 1};
                return say(name(item.tool()), "", name(item.colour));
            }
        }
        return about_shape([](const Item& i) { return name(i.colour); }, kSayTexture);
    }

    std::optional<Question> character_on_sign() {
        constexpr std::string_view kOrdinals[] = {"first", "middle", "last"};
        const auto signs = of(Kind::Sign);
        if (signs.empty()) return std::nullopt;
        const Item& item = *pick(signs);
        const auto at = static_cast<std::size_t>(rng_.below(3));
        const std::string what = refer(item);
        x_ = {&item, 1};
        return say(what, kOrdinals[at], std::string(1, item.text[at]));
    }

    std::optional<Question> relation() {
        const std::vector<NamedItem> known = name_items();
        if (known.size() < 2) return std::nullopt;
        const bool across = form_ == Template::LeftOrRight;
        for (int attempt = 0; attempt < 30; ++attempt) {
            const auto& [a, a_name] = pick(known);
            const auto& [b, b_name] = pick(known);
            const float apart = across ? a->x - b->x : a->y - b->y;
            if (std::abs(apart) < kMinApart) continue;
            const std::string_view answer =
                across ? (apart < 0 ? "left" : "right") : (apart < 0 ? "above" : "below");
            x_ = {a, 1};
            y_ = {b, 1};
            return say(a_name, b_name, answer);
        }
        return std::nullopt;
    }

    std::optional<Question> is_doing() {
        const auto people = of(Kind::Person);
        if (people.empty()) return std::nullopt;
        const Item& item = *pick(people);
        const bool truth = rng_.chance(0.5F);
        int pose = item.variant;
        if (!truth) pose = (pose + 1 + rng_.below(kPoses - 1)) % kPoses;
        const std::string what = refer(item);
        x_ = {&item, 1};
        return say(what, name(static_cast<Pose>(pose)), truth ? "yes" : "no");
    }

    std::optional<Question> is_for() {
        const auto tools = of(Kind::Tool);
        if (tools.empty()) return std::nullopt;
        const Item& item = *pick(tools);
        const bool truth = rng_.chance(0.5F);
        int tool = item.variant;
        if (!truth) tool = (tool + 1 + rng_.below(kTools - 1)) % kTools;
        const std::string what = refer(item);
        x_ = {&item, 1};
        return say(what, purpose(static_cast<Tool>(tool)), truth ? "yes" : "no");
    }

    std::optional<Question> colour_and_purpose() {
        const auto tools = of(Kind::Tool);
        if (tools.size() != 1) return std::nullopt;
        const Item& item = *tools.front();
        x_ = {&item, 1};
        return say("tool", "", std::string(name(item.colour)) + ", " + std::string(purpose(item.tool())));
    }

    std::string describe() const {
        std::vector<std::string> parts;
        const auto people = of(Kind::Person);
        const auto tools = of(Kind::Tool);
        const auto signs = of(Kind::Sign);
        if (people.size() == 1) parts.push_back("a person " + std::string(name(people[0]->pose())));
        if (people.size() > 1) parts.emplace_back("two people");
        if (tools.size() == 1) parts.push_back("a tool for " + std::string(purpose(tools[0]->tool())));
        if (tools.size() > 1) parts.emplace_back("two tools");
        if (signs.size() == 1) parts.emplace_back("a sign");
        if (signs.size() > 1) parts.emplace_back("two signs");
        if (parts.empty()) parts.emplace_back("shapes");
        std::string text(name(scene_.place));
        for (std::size_t i = 0; i < parts.size(); ++i)
            text += (i == 0 ? " with " : (i + 1 == parts.size() ? " and " : ", ")) + parts[i];
        return text;
    }

    // What the words in a slot stand for; a negative count when nothing.
    struct Referent {
        const Item* item = nullptr;
        int count = -1;
    };

    const Scene& scene_;
    Template form_;
    Random& rng_;
    Referent x_, y_;
};

int draw_class(Random& rng, const ClassWeights* weights) {
    if (weights == nullptr) return rng.below(kClasses);
    float total = 0;
    for (const float weight : *weights) total += weight;
    float left = rng.uniform() * total;
    for (int c = 0; c + 1 < kClasses; ++c) {
        left -= (*weights)[static_cast<std::size_t>(c)];
        if (left < 0) return c;
    }
    return kClasses - 1;
}

}  // namespace

Setting setting_of(Template form) {
    switch (form) {
        case Template::WhichPlace:
        case Template::Describe:
        case Template::PlaceAndAction:
        case Template::PlaceAndSign: return Setting::Place;
        case Template::InTheSky:
        case Template::DayOrNight: return Setting::Sky;
        default: return Setting::None;
    }
}

int class_of(Template form) {
    return kTemplateClasses[static_cast<std::size_t>(form)];
}
std::string_view name(Template form) {
    return kTemplateNames[static_cast<std::size_t>(form)];
}

std::optional<Question> ask(const Scene& scene, Template form, Random& rng) {
    return Asker(scene, form, rng).run();
}

Question ask_how_many(const Scene& scene, const CountTarget& target, Random& rng) {
    return Asker(scene, Template::HowMany, rng).how_many(target);
}

std::vector<NamedItem> name_items(const Scene& scene, Random& rng) {
    return Asker(scene, Template::LeftOrRight, rng).name_items();
}

std::optional<Question> ask_class(const Scene& scene, int class_id, Random& rng) {
    std::vector<Template> forms;
    for (int i = 0; i < kTemplates; ++i)
        if (kTemplateClasses[i] == class_id) forms.push_back(static_cast<Template>(i));
    for (std::size_t left = forms.size(); left > 0; --left) {
        const auto at = static_cast<std::size_t>(rng.below(static_cast<int>(left)));
        if (auto question = ask(scene, forms[at], rng)) return question;
        std::swap(forms[at], forms[left - 1]);
    }
    return std::nullopt;
}

std::vector<Question> ask_many(const Scene& scene, int count, const ClassWeights* weights) {
    Random rng(mix_seed(signature(scene), 0xa5c));
    std::vector<Question> questions;
    auto first = ask_class(scene, static_cast<int>(scene.index % kClasses), rng);
    if (!first) return questions;
    questions.push_back(std::move(*first));
    for (int attempt = 0; attempt < 8 * count && std::ssize(questions) < count; ++attempt) {
        auto question = ask_class(scene, draw_class(rng, weights), rng);
        if (!question) continue;
        const bool is_new = std::ranges::none_of(questions, [&](const Question& q) {
            return q.form == question->form && q.text == question->text;
        });
        if (is_new) questions.push_back(std::move(*question));
    }
    return questions;
}

}  // namespace clasp::world
