#include "train/batch.h"

#include <algorithm>

#include "train/stray_words.h"
#include "train/text_writer.h"
#include "world/clip_labels.h"
#include "world/compose.h"
#include "world/compose_clip.h"
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

void append_clip_targets(const world::Clip& clip, int frame, AuxTargets& targets) {
    const auto labels = world::label_clip_patches(clip, frame);
    auto patch = targets.patches.end() - std::ssize(labels);
    for (const world::ClipPatchLabels& l : labels) {
        const std::uint8_t list[] = {l.event, l.way, l.frame, l.blinks, l.before, l.later, l.actor};
        std::ranges::copy(list, patch++->begin() + kClipGroup);
    }
}

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

// Clips fill the whole position table of their model; auxiliary labels count rows and columns as the still
// model's table did, whose middle theirs was.
void make_clip_batch(const BatchPlan& plan, const Vocabulary& vocabulary, Batch& batch,
                     const AnswerStart& start) {
    constexpr int kRows = world::kClipFrames * (world::kClipSide * world::kClipSide + 1);
    batch.pictures.frames = batch.targets.frames = world::kClipFrames;
    batch.pictures.pictures = batch.targets.pictures = plan.pictures * world::kClipFrames;
    batch.pictures.side = batch.targets.side = world::kClipSide;
    for (int p = 0; p < plan.pictures; ++p) {
        const std::uint64_t index = plan.first_index + static_cast<std::uint64_t>(p);
        const world::Clip clip = world::compose_clip(plan.split, plan.seed, index);
        const std::vector<world::Canvas> frames = world::paint_clip(clip);
        for (int f = 0; f < world::kClipFrames; ++f) {
            const int frame = plan.only_frame < 0 ? f : plan.only_frame;
            const world::Canvas& canvas = frames[static_cast<std::size_t>(frame)];
            batch.pictures.first_row.push_back(0);
            batch.pictures.first_column.push_back(0);
            append_patches(canvas, world::kClipSide, batch.pictures.patches);
            append_targets(world::scene_at(clip, frame), canvas, kClipCorner, kClipCorner, batch.targets);
            append_clip_targets(clip, frame, batch.targets);
        }
        world::Random rng(world::mix_seed(world::mix_seed(plan.seed, index), 0x0ff5e8));
        const bool even = plan.form_weights == kEvenForms;
        TextWriter writer(batch.text, vocabulary);
        writer.clip(clip);
        writer.prefix(p * kRows, kRows);
        for (world::ClipQuestion& q :
             world::ask_about_clip(clip, plan.questions, even ? nullptr : &plan.form_weights)) {
            if (plan.stray_share > 0 && rng.chance(plan.stray_share)) add_stray_words(q.said, rng);
            writer.question(q.said, static_cast<int>(batch.questions.size()), static_cast<int>(q.form), false,
                            rng.chance(plan.newline_share), start);
            batch.question_picture.push_back(p);
            batch.questions.push_back(std::move(q.said));
        }
        writer.finish();
    }
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
    if (plan.frames > 1) {
        make_clip_batch(plan, vocabulary, batch, start);
        return;
    }
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
            writer.question(q, static_cast<int>(batch.questions.size()), q.class_id, chained,
                            rng.chance(plan.newline_share), start);
            batch.question_picture.push_back(p);
            batch.questions.push_back(std::move(q));
        }
        writer.finish();
    }
}

}  // namespace clasp::training
