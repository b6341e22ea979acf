#include "world/clip_questions.h"

#include <algorithm>

#include "world/clip_phrasings.h"

namespace clasp::world {
namespace {

constexpr std::string_view kClipFormNames[kClipForms + 1] = {"what-happens",  "which-way", "which-one",
                                                             "first-last",    "how-often", "colour-after",
                                                             "colour-before", "how-many",  "still"};
constexpr int kClipFormClasses[kClipForms + 1] = {6, 4, 0, 0, 5, 1, 1, 5, 1};
constexpr float kTestOnlyWordings = 0.25F;
constexpr float kTrainOnlyWordings = 0.5F;
constexpr float kNeverShare = 0.25F;  // of questions how often something blinks

class ClipAsker {
   public:
    ClipAsker(const Clip& clip, ClipForm form, Random& rng) : clip_(clip), form_(form), rng_(rng) {}

    // With `own` the question that the clip was composed for.
    std::optional<ClipQuestion> run(bool own) {
        const int actor = own ? clip_.subject.actor : -1;
        switch (form_) {
            case ClipForm::WhatHappens: return what_happens(actor);
            case ClipForm::WhichWay:
                return about_one(actor, Event::Moves, [](const Actor& a) { return name(a.way); });
            case ClipForm::WhichOne: return which_one(own);
            case ClipForm::FirstOrLast: return first_or_last();
            case ClipForm::HowOften: return how_often(actor);
            case ClipForm::ColourAfter:
                return about_one(actor, Event::Recolours, [](const Actor& a) { return name(a.later); });
            case ClipForm::ColourBefore:
                return about_one(actor, Event::Recolours, [](const Actor& a) { return name(a.item.colour); });
            case ClipForm::HowManyDo: return how_many_do(own);
            case ClipForm::Still: return still();
        }
        return std::nullopt;
    }

   private:
    // What words in the question stand for.
    struct Meant {
        char slot = 'x';
        int actor = -1;
        int count = 1;
    };

    ClipQuestion say(std::string_view x, std::string_view y, std::string_view answer, const Meant& meant) {
        const Phrasings phrasings = form_ != ClipForm::Still
                                        ? phrasings_of(form_)
                                        : phrasings_of(x.empty() ? Template::WhichPlace : Template::ColourOf);
        ClipQuestion question;
        question.form = form_;
        Question& q = question.said;
        q.class_id = form_ == ClipForm::Still && x.empty() ? 3 : class_of(form_);
        q.test_only_phrasing = clip_.split == Split::Test && rng_.chance(kTestOnlyWordings);
        const bool train_only = clip_.split == Split::Train && rng_.chance(kTrainOnlyWordings);
        const auto& list = q.test_only_phrasing ? phrasings.test_only
                           : train_only         ? phrasings.train_only
                                                : phrasings.common;
        std::vector<SlotEnd> ends;
        q.text = fill_slots(list[static_cast<std::size_t>(rng_.below(static_cast<int>(list.size())))], x, y,
                            &ends);
        q.answer = answer;
        if (meant.count < 0) return question;
        for (const SlotEnd& slot : ends)
            if (slot.slot == meant.slot) q.mentions.push_back({slot.end, meant.actor, meant.count});
        q.mentions.push_back({q.text.size(), meant.actor, meant.count});
        return question;
    }

    // The shape, sometimes with the colour that it has at first. No two actors share a shape.
    std::string refer(const Actor& actor) {
        const std::string shape(name(actor.item.shape()));
        if (form_ == ClipForm::ColourBefore || form_ == ClipForm::Still || !rng_.chance(0.3F)) return shape;
        return std::string(name(actor.item.colour)) + " " + shape;
    }

    std::vector<int> all(Event event) const {
        std::vector<int> found;
        for (int i = 0; i < static_cast<int>(clip_.actors.size()); ++i)
            if (at(i).event == event) found.push_back(i);
        return found;
    }

    const Actor& at(int index) const { return clip_.actors[static_cast<std::size_t>(index)]; }

    int pick(const std::vector<int>& list) {
        return list[static_cast<std::size_t>(rng_.below(static_cast<int>(list.size())))];
    }

    std::optional<ClipQuestion> what_happens(int actor) {
        if (actor < 0) actor = rng_.below(static_cast<int>(clip_.actors.size()));
        return say(refer(at(actor)), "", verb(at(actor).event), {'x', actor});
    }

    template <typename Answer>
    std::optional<ClipQuestion> about_one(int actor, Event event, const Answer& answer) {
        const std::vector<int> found = all(event);
        if (found.empty()) return std::nullopt;
        if (actor < 0) actor = pick(found);
        return say(refer(at(actor)), "", answer(at(actor)), {'x', actor});
    }

    std::optional<ClipQuestion> which_one(bool own) {
        std::vector<int> alone;
        for (int e = 0; e < kEvents; ++e) {
            const auto event = static_cast<Event>(e);
            const std::vector<int> found = all(event);
            if (found.size() == 1 && (!own || event == clip_.subject.event)) alone.push_back(found.front());
        }
        if (alone.empty()) return std::nullopt;
        const int actor = pick(alone);
        return say("", verb(at(actor).event), name(at(actor).item.shape()), {'y', actor});
    }

    std::optional<ClipQuestion> first_or_last() {
        for (const Event event : {Event::Appears, Event::Vanishes, Event::Recolours}) {
            std::vector<int> found = all(event);
            if (found.size() < 2) continue;
            std::ranges::sort(found, {}, [&](int i) { return at(i).frame; });
            const bool first = rng_.chance(0.5F);
            const auto end = static_cast<std::ptrdiff_t>(found.size());
            const int actor = found[first ? 0 : found.size() - 1];
            const int next = found[static_cast<std::size_t>(first ? 1 : end - 2)];
            if (at(actor).frame == at(next).frame) continue;
            const std::string what = std::string(verb(event)) + (first ? " first" : " last");
            return say("", what, name(at(actor).item.shape()), {'y', actor});
        }
        return std::nullopt;
    }

    std::optional<ClipQuestion> how_often(int actor) {
        const std::vector<int> blinking = all(Event::Blinks);
        std::vector<int> steady;
        for (const Event event : {Event::Stays, Event::Moves, Event::Recolours, Event::Grows, Event::Shrinks})
            for (const int i : all(event)) steady.push_back(i);
        const bool never = blinking.empty() || rng_.chance(kNeverShare);
        const std::vector<int>& list = never ? steady : blinking;
        if (actor < 0 && list.empty()) return std::nullopt;
        if (actor < 0) actor = pick(list);
        return say(refer(at(actor)), "", std::to_string(blinks(at(actor))), {'x', actor});
    }

    std::optional<ClipQuestion> how_many_do(bool own) {
        const Event event = own ? clip_.subject.event : draw_counted();
        const int count = static_cast<int>(all(event).size());
        return say("", plural_verb(event), std::to_string(count), {'y', -1, count});
    }

    // Larger groups are asked about more often, as most clips show one at most.
    Event draw_counted() {
        constexpr Event kCounted[] = {Event::Moves, Event::Appears, Event::Vanishes, Event::Recolours,
                                      Event::Blinks};
        std::vector<Event> list;
        for (const Event event : kCounted) {
            const std::size_t count = all(event).size();
            list.insert(list.end(), count == 0 ? 1 : 3 * count * count, event);
        }
        return list[static_cast<std::size_t>(rng_.below(static_cast<int>(list.size())))];
    }

    // The colour of something that keeps it and is always there, or the place.
    std::optional<ClipQuestion> still() {
        if (rng_.chance(0.3F)) return say("", "", name(clip_.stage.place), {'x', -1, -1});
        std::vector<int> known;
        for (const Event event : {Event::Stays, Event::Moves, Event::Grows, Event::Shrinks})
            for (const int i : all(event)) known.push_back(i);
        if (known.empty()) return std::nullopt;
        const int actor = pick(known);
        return say(refer(at(actor)), "", name(at(actor).item.colour), {'x', actor});
    }

    const Clip& clip_;
    ClipForm form_;
    Random& rng_;
};

ClipForm draw_form(Random& rng, const ClipWeights* weights) {
    if (weights == nullptr) return static_cast<ClipForm>(rng.below(kClipForms));
    float total = 0;
    for (const float weight : *weights) total += weight;
    float left = rng.uniform() * total;
    for (std::size_t form = 0; form + 1 < weights->size(); ++form) {
        left -= (*weights)[form];
        if (left < 0) return static_cast<ClipForm>(form);
    }
    return ClipForm::Still;
}

}  // namespace

std::string_view name(ClipForm form) {
    return kClipFormNames[static_cast<std::size_t>(form)];
}
int class_of(ClipForm form) {
    return kClipFormClasses[static_cast<std::size_t>(form)];
}

std::optional<ClipQuestion> ask_about_clip(const Clip& clip, ClipForm form, Random& rng) {
    return ClipAsker(clip, form, rng).run(false);
}

std::vector<ClipQuestion> ask_about_clip(const Clip& clip, int count, const ClipWeights* weights) {
    Random rng(mix_seed(signature(clip), 0xa5c1));
    std::vector<ClipQuestion> questions;
    auto own = ClipAsker(clip, static_cast<ClipForm>(clip.index % kClipForms), rng).run(true);
    if (!own) return questions;
    questions.push_back(std::move(*own));
    for (int attempt = 0; attempt < 8 * count && std::ssize(questions) < count; ++attempt) {
        auto question = ask_about_clip(clip, draw_form(rng, weights), rng);
        if (!question) continue;
        const bool is_new = std::ranges::none_of(questions, [&](const ClipQuestion& q) {
            return q.form == question->form && q.said.text == question->said.text;
        });
        if (is_new) questions.push_back(std::move(*question));
    }
    return questions;
}

}  // namespace clasp::world
