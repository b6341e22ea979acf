#include "train/text_writer.h"

#include <algorithm>
#include <cstring>

#include "world/clip_labels.h"
#include "world/labels.h"

namespace clasp::training {

void TextWriter::prefix(int first_feature_row, int visual) {
    push(Vocabulary::kBegin);
    for (const int id : vocabulary_.encode(kBeforeImage)) push(id);
    for (int i = 0; i < visual; ++i) push(TextBatch::kVisual - (first_feature_row + i));
    shared_ = next_;
}

void TextWriter::question(const world::Question& q, int number, int group, bool chained, bool newline,
                          const AnswerStart& start) {
    if (!chained) next_ = shared_;
    const char* before = chained && here() > shared_ ? kBeforeLaterQuestion : kBeforeQuestion;
    const char* after = newline ? kAfterQuestionNewline : kAfterQuestion;
    begin_ = chained ? shared_ : here();
    const int row = static_cast<int>(batch_.tokens.size());
    const std::vector<int> prompt = vocabulary_.encode(before + q.text + after);
    for (const int id : prompt) push(id);
    const auto row_of = [&](std::size_t end) { return row + token_at(prompt, std::strlen(before) + end); };
    for (const world::Mention& mention : q.mentions) {
        batch_.mentions.push_back({row_of(mention.end), label(mention)});
        // Early in the decoder the question's end knows its single words only.
        if (mention.end < q.text.size()) batch_.early_mentions.push_back(batch_.mentions.back());
    }
    const world::Setting setting =
        q.class_id == kProbeClass || clip_ != nullptr ? world::Setting::None : world::setting_of(q.form);
    if (setting != world::Setting::None)
        batch_.early_mentions.push_back({row_of(q.text.size()), label(setting)});
    if (clip_ == nullptr && q.mentions.size() == 2 && q.mentions[0].item >= 0 && q.mentions[1].item >= 0 &&
        q.mentions[0].item != q.mentions[1].item)
        batch_.relations.push_back({batch_.mentions.back().row, apart(q.mentions[0], q.mentions[1])});
    std::vector<int> answer = vocabulary_.encode(" " + q.answer);
    answer.push_back(Vocabulary::kEnd);
    if (number == start.question) {
        answer = start.tokens;
        answer.push_back(Vocabulary::kPad);  // a row for the next token; its target is unused
    }
    for (const int id : answer) {
        batch_.targets.push_back({static_cast<int>(batch_.tokens.size()) - 1, id, number});
        push(id);
    }
    batch_.question_class.push_back(group);
}

int TextWriter::token_at(const std::vector<int>& tokens, std::size_t bytes) const {
    std::size_t end = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        end += vocabulary_.decode({tokens[i]}).size();
        if (end >= bytes) return static_cast<int>(i);
    }
    return static_cast<int>(tokens.size()) - 1;
}

std::array<float, 2> TextWriter::apart(const world::Mention& first, const world::Mention& second) const {
    const world::Item& a = scene_->items[static_cast<std::size_t>(first.item)];
    const world::Item& b = scene_->items[static_cast<std::size_t>(second.item)];
    constexpr float kHalf = world::kPatch * world::kFullSide / 2.0F;
    return {(a.y - b.y) / kHalf, (a.x - b.x) / kHalf};
}

MentionLabels TextWriter::label(world::Setting setting) const {
    MentionLabels labels;
    labels.fill(kNotAsked);
    if (setting == world::Setting::Place)
        labels[kPlaceGroup] = static_cast<std::uint8_t>(scene_->place);
    else
        labels[kSkyGroup] = static_cast<std::uint8_t>(scene_->sky);
    return labels;
}

MentionLabels TextWriter::label(const world::Mention& mention) const {
    MentionLabels labels;
    labels.fill(kNotAsked);
    labels[kCountGroup] = static_cast<std::uint8_t>(std::min(mention.count, kMentionCounts - 1));
    if (mention.item < 0) return labels;
    if (clip_ == nullptr) {
        label_item(scene_->items[static_cast<std::size_t>(mention.item)], labels);
        return labels;
    }
    const world::Actor& actor = clip_->actors[static_cast<std::size_t>(mention.item)];
    label_item(actor.item, labels);
    if (actor.event == world::Event::Grows || actor.event == world::Event::Shrinks)
        labels[kSizeGroup] = kNotAsked;
    labels[kColourGroup] = kNotAsked;  // told as before and later
    const world::ClipPatchLabels seen = world::labels_of(actor);
    const auto less_none = [](std::uint8_t label) { return static_cast<std::uint8_t>(label - 1); };
    labels[kEventGroup] = less_none(seen.event);
    if (seen.way > 0) labels[kWayGroup] = less_none(seen.way);
    if (seen.frame > 0) labels[kFrameGroup] = seen.frame;
    labels[kBlinkGroup] = seen.blinks;
    labels[kBeforeGroup] = less_none(seen.before);
    labels[kLaterGroup] = less_none(seen.later);
    return labels;
}

void TextWriter::label_item(const world::Item& item, MentionLabels& labels) const {
    const world::PatchLabels seen = world::labels_of(item);
    labels[kRowGroup] = static_cast<std::uint8_t>(row0_ + static_cast<int>(item.y) / world::kPatch);
    labels[kColumnGroup] = static_cast<std::uint8_t>(column0_ + static_cast<int>(item.x) / world::kPatch);
    labels[kThingGroup] = seen.thing;
    labels[kColourGroup] = seen.colour;
    if (item.kind == world::Kind::Shape) {
        labels[kSizeGroup] = seen.size;
        labels[kTextureGroup] = seen.texture;
    }
    if (item.kind == world::Kind::Sign)
        for (std::size_t i = 0; i < item.text.size(); ++i)
            labels[kGlyphGroup + i] = world::glyph_label(item.text[i]);
}

void TextWriter::push(int token) {
    const int row = here();
    const bool in_prefix = shared_ == 0;
    batch_.tokens.push_back(token);
    batch_.positions.push_back(next_++);
    batch_.masks.push_back(in_prefix ? RowMask{row + 1, row + 1} : RowMask{shared_, begin_});
}

}  // namespace clasp::training
