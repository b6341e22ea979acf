#include "train/batch.h"

#include <algorithm>
#include <cstring>

#include "train/stray_words.h"
#include "world/compose.h"
#include "world/labels.h"
#include "world/painter.h"
#include "world/random.h"

namespace clasp::training {
namespace {

void append_patches(const world::Canvas& canvas, int side, std::vector<float>& out) {
    const std::uint8_t* rgb = canvas.rgb().data();
    float scale[3];
    float shift[3];
    for (int c = 0; c < 3; ++c) {
        scale[c] = 1.0F / (255.0F * kImageStd[c]);
        shift[c] = kImageMean[c] / kImageStd[c];
    }
    const std::size_t start = out.size();
    out.resize(start + static_cast<std::size_t>(side * side * kPatchValues));
    float* to = out.data() + start;
    for (int row = 0; row < side; ++row)
        for (int column = 0; column < side; ++column)
            for (int c = 0; c < 3; ++c)
                for (int y = 0; y < world::kPatch; ++y) {
                    const std::uint8_t* line =
                        rgb + 3 * ((row * world::kPatch + y) * canvas.side() + column * world::kPatch);
                    for (int x = 0; x < world::kPatch; ++x)
                        *to++ = static_cast<float>(line[3 * x + c]) * scale[c] - shift[c];
                }
}

void append_targets(const world::Scene& scene, const world::Canvas& canvas, int row0, int column0,
                    AuxTargets& targets) {
    const auto labels = world::label_patches(scene, canvas);
    std::array<std::uint8_t, world::kThingLabels> present{};
    for (std::size_t i = 0; i < labels.size(); ++i) {
        const world::PatchLabels& l = labels[i];
        const int row = row0 + static_cast<int>(i) / scene.side;
        const int column = column0 + static_cast<int>(i) % scene.side;
        targets.patches.push_back({l.thing, l.colour, l.size, l.texture, l.glyph, l.centre,
                                   static_cast<std::uint8_t>(row), static_cast<std::uint8_t>(column), l.slot,
                                   l.share});
        present[l.thing] = 1;
    }
    targets.place.push_back(static_cast<std::uint8_t>(scene.place));
    targets.sky.push_back(static_cast<std::uint8_t>(scene.sky));
    targets.present.push_back(present);
}

class TextWriter {
   public:
    TextWriter(TextBatch& batch, const Vocabulary& vocabulary)
        : batch_(batch), vocabulary_(vocabulary), first_(static_cast<int>(batch.tokens.size())) {}

    // The start of the prompt and the visual tokens; everything later sees it.
    void prefix(int first_feature_row, int visual) {
        push(Vocabulary::kBegin);
        for (const int id : vocabulary_.encode(kBeforeImage)) push(id);
        for (int i = 0; i < visual; ++i) push(TextBatch::kVisual - (first_feature_row + i));
        shared_ = next_;
    }

    void question(const world::Question& q, int number, bool chained, bool newline,
                  const AnswerStart& start) {
        if (!chained) next_ = shared_;
        const char* before = chained && here() > shared_ ? kBeforeLaterQuestion : kBeforeQuestion;
        const char* after = newline ? kAfterQuestionNewline : kAfterQuestion;
        begin_ = chained ? shared_ : here();
        const int row = static_cast<int>(batch_.tokens.size());
        const std::vector<int> prompt = vocabulary_.encode(before + q.text + after);
        for (const int id : prompt) push(id);
        const auto row_of = [&](std::size_t end) {
            return row + token_at(prompt, std::strlen(before) + end);
        };
        for (const world::Mention& mention : q.mentions) {
            batch_.mentions.push_back({row_of(mention.end), label(mention)});
            // Early in the decoder the question's end knows its single words only.
            if (mention.end < q.text.size()) batch_.early_mentions.push_back(batch_.mentions.back());
        }
        const world::Setting setting =
            q.class_id == kProbeClass ? world::Setting::None : world::setting_of(q.form);
        if (setting != world::Setting::None)
            batch_.early_mentions.push_back({row_of(q.text.size()), label(setting)});
        if (q.mentions.size() == 2 && q.mentions[0].item >= 0 && q.mentions[1].item >= 0 &&
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
        batch_.question_class.push_back(q.class_id);
    }

    // What the picture's mentions are told apart by.
    void picture(const world::Scene& scene, int row0, int column0) {
        scene_ = &scene;
        row0_ = row0;
        column0_ = column0;
    }

    void finish() { batch_.pictures.push_back({first_, here()}); }

   private:
    int here() const { return static_cast<int>(batch_.tokens.size()) - first_; }

    // The token that holds the last of the first `bytes` bytes.
    int token_at(const std::vector<int>& tokens, std::size_t bytes) const {
        std::size_t end = 0;
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            end += vocabulary_.decode({tokens[i]}).size();
            if (end >= bytes) return static_cast<int>(i);
        }
        return static_cast<int>(tokens.size()) - 1;
    }

    std::array<float, 2> apart(const world::Mention& first, const world::Mention& second) const {
        const world::Item& a = scene_->items[static_cast<std::size_t>(first.item)];
        const world::Item& b = scene_->items[static_cast<std::size_t>(second.item)];
        constexpr float kHalf = world::kPatch * world::kFullSide / 2.0F;
        return {(a.y - b.y) / kHalf, (a.x - b.x) / kHalf};
    }

    MentionLabels label(world::Setting setting) const {
        MentionLabels labels;
        labels.fill(kNotAsked);
        if (setting == world::Setting::Place)
            labels[kPlaceGroup] = static_cast<std::uint8_t>(scene_->place);
        else
            labels[kSkyGroup] = static_cast<std::uint8_t>(scene_->sky);
        return labels;
    }

    MentionLabels label(const world::Mention& mention) const {
        MentionLabels labels;
        labels.fill(kNotAsked);
        labels[kCountGroup] = static_cast<std::uint8_t>(std::min(mention.count, kMentionCounts - 1));
        if (mention.item < 0) return labels;
        const world::Item& item = scene_->items[static_cast<std::size_t>(mention.item)];
        const world::PatchLabels seen = world::labels_of(item);
        const auto row = static_cast<std::uint8_t>(row0_ + static_cast<int>(item.y) / world::kPatch);
        const auto column = static_cast<std::uint8_t>(column0_ + static_cast<int>(item.x) / world::kPatch);
        labels[kRowGroup] = row;
        labels[kColumnGroup] = column;
        labels[kThingGroup] = seen.thing;
        labels[kColourGroup] = seen.colour;
        if (item.kind == world::Kind::Shape) {
            labels[kSizeGroup] = seen.size;
            labels[kTextureGroup] = seen.texture;
        }
        if (item.kind == world::Kind::Sign)
            for (std::size_t i = 0; i < item.text.size(); ++i)
                labels[kGlyphGroup + i] = world::glyph_label(item.text[i]);
        return labels;
    }

    void push(int token) {
        const int row = here();
        const bool in_prefix = shared_ == 0;
        batch_.tokens.push_back(token);
        batch_.positions.push_back(next_++);
        batch_.masks.push_back(in_prefix ? RowMask{row + 1, row + 1} : RowMask{shared_, begin_});
    }

    TextBatch& batch_;
    const Vocabulary& vocabulary_;
    int first_;
    int next_ = 0;    // rotary position
    int shared_ = 0;  // length of the prefix, 0 while writing it
    int begin_ = 0;   // first row of the own question
    const world::Scene* scene_ = nullptr;
    int row0_ = 0, column0_ = 0;  // of the picture in the position table
};

std::vector<world::Question> make_probes(const world::Scene& scene, int row0, int column0, int count,
                                         world::Random& rng) {
    const std::vector<world::NamedItem> known = world::name_items(scene, rng);
    std::vector<world::Question> probes;
    for (int i = 0; i < count && !known.empty(); ++i) {
        const bool is_row = rng.chance(0.3F);
        world::Question probe;
        probe.class_id = kProbeClass;
        probe.text = is_row ? "Rows of the " : "Columns of the ";
        for (int k = 0; k < 2; ++k) {
            const auto& [item, name] =
                known[static_cast<std::size_t>(rng.below(static_cast<int>(known.size())))];
            const int at = is_row ? row0 + static_cast<int>(item->y) / world::kPatch
                                  : column0 + static_cast<int>(item->x) / world::kPatch;
            probe.text += (k == 0 ? "" : " and the ") + name;
            probe.answer += (k == 0 ? "" : ", ") + std::to_string(at);
            probe.mentions.push_back({probe.text.size(), static_cast<int>(item - scene.items.data()), 1});
        }
        probe.text += "?";
        probes.push_back(std::move(probe));
    }
    return probes;
}

// Groups of shapes that a question can name, each with its size, which also says how often it is listed.
std::vector<world::CountTarget> groups_of(const world::Scene& scene) {
    std::vector<world::CountTarget> groups;
    for (const world::Item& item : scene.items) {
        if (item.kind != world::Kind::Shape) continue;
        for (const auto by :
             {world::CountBy::ShapeAndColour, world::CountBy::Shape, world::CountBy::Colour}) {
            world::CountTarget group{true, by, item.shape(), item.colour, 0};
            const auto fits = [&](const world::Item& other) { return world::counts(group, other); };
            group.count = static_cast<int>(std::ranges::count_if(scene.items, fits));
            groups.insert(groups.end(), static_cast<std::size_t>(group.count), group);
        }
    }
    return groups;
}

// Counting needs many examples, and a scene balances one group only. A group of n is on the list n * n times
// (n members put it there, n times each): listed n times, groups of one and two were most of the questions,
// and larger ones were counted one short more often than one too many.
std::vector<world::Question> make_counts(const world::Scene& scene, int count, world::Random& rng) {
    const std::vector<world::CountTarget> groups = groups_of(scene);
    std::vector<world::Question> questions;
    for (int i = 0; i < count && !groups.empty(); ++i) {
        const auto at = static_cast<std::size_t>(rng.below(static_cast<int>(groups.size())));
        questions.push_back(world::ask_how_many(scene, groups[at], rng));
    }
    return questions;
}

}  // namespace

void Batch::clear() {
    pictures = {};
    targets = {};
    text.clear();
    questions.clear();
    question_picture.clear();
}

void make_batch(const BatchPlan& plan, const Vocabulary& vocabulary, Batch& batch, const AnswerStart& start) {
    batch.clear();
    batch.pictures.pictures = batch.targets.pictures = plan.pictures;
    batch.pictures.side = batch.targets.side = plan.side;
    const int area = plan.side * plan.side;
    for (int p = 0; p < plan.pictures; ++p) {
        const std::uint64_t index = plan.first_index + static_cast<std::uint64_t>(p);
        const world::Scene scene = world::compose_scene(plan.split, plan.seed, index, plan.side);
        const world::Canvas canvas = world::paint_scene(scene);
        world::Random rng(world::mix_seed(world::mix_seed(plan.seed, index), 0x0ff5e7));
        const int room = world::kFullSide - plan.side + 1;
        batch.pictures.first_row.push_back(rng.below(room));
        batch.pictures.first_column.push_back(rng.below(room));
        append_patches(canvas, plan.side, batch.pictures.patches);
        append_targets(scene, canvas, batch.pictures.first_row.back(), batch.pictures.first_column.back(),
                       batch.targets);
        const bool even = plan.class_weights == kEvenWeights;
        const world::ClassWeights* weights = even ? nullptr : &plan.class_weights;
        TextWriter writer(batch.text, vocabulary);
        writer.picture(scene, batch.pictures.first_row.back(), batch.pictures.first_column.back());
        writer.prefix(p * (area + 1) + 1, area);
        const bool chained = rng.chance(plan.chained_share);
        std::vector<world::Question> questions = world::ask_many(scene, plan.questions, weights);
        for (world::Question& probe : make_probes(scene, batch.pictures.first_row.back(),
                                                  batch.pictures.first_column.back(), plan.probes, rng))
            questions.push_back(std::move(probe));
        for (world::Question& extra : make_counts(scene, plan.counts, rng))
            questions.push_back(std::move(extra));
        for (int i = 0; i < plan.sides; ++i)
            if (auto extra = world::ask(scene, world::Template::LeftOrRight, rng))
                questions.push_back(std::move(*extra));
        for (world::Question& q : questions) {
            if (plan.stray_share > 0 && rng.chance(plan.stray_share)) add_stray_words(q, rng);
            writer.question(q, static_cast<int>(batch.questions.size()), chained,
                            rng.chance(plan.newline_share), start);
            batch.question_picture.push_back(p);
            batch.questions.push_back(std::move(q));
        }
        writer.finish();
    }
}

}  // namespace clasp::training
