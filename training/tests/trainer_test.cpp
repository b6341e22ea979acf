// Vocabulary, recipe, checkpoints, optimiser and accuracy.
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

#include "model/take_over.h"
#include "nn/muon.h"
#include "tests/scratch.h"
#include "train/batch.h"
#include "train/checkpoint.h"
#include "train/evaluate.h"
#include "train/recipe.h"
#include "train/stray_words.h"
#include "world/random.h"

namespace clasp::training {
namespace {

TEST(Vocabulary, splits_words_as_gpt2_does) {
    const auto words = split_words("\nWhat's this?  It is K47.");
    const std::vector<std::string_view> expected = {"\n",  "What", "'s", " this", "?", " ",
                                                    " It", " is",  " K", "47",    "."};
    EXPECT_EQ(words, expected);
}

TEST(Vocabulary, learns_whole_words_and_gives_every_text_back) {
    const Vocabulary v = Vocabulary::learn({"red star red star"}, {" ASSISTANT"}, 400);
    EXPECT_EQ(v.encode(" star").size(), 1U);
    EXPECT_EQ(v.encode(" ASSISTANT").size(), 1U);
    for (const std::string text : {" red star", "caf\xc3\xa9 \t\n x", "47K"})
        EXPECT_EQ(v.decode(v.encode(text)), text);
    const Vocabulary again = Vocabulary::load(v.tokens(), v.merges());
    EXPECT_EQ(again.encode(" red stars ASSISTANT"), v.encode(" red stars ASSISTANT"));
}

TEST(Vocabulary, signs_stay_single_characters) {
    const Vocabulary v = scene_vocabulary();
    for (const std::string sign : {" K47", " 4ER", " AAA"}) EXPECT_EQ(v.encode(sign).size(), 3U) << sign;
    EXPECT_EQ(v.encode("USER").size(), 1U);
    EXPECT_EQ(v.encode(" How many red stars are there?").size(), 8U);
}

TEST(Recipe, reads_phases_and_names_mistakes) {
    const std::string path = scratch("recipe.txt");
    std::ofstream(path) << "# comment\nphase a side=16 steps=10 rate=1e-3 rate_to=1e-4 warm_up=5 "
                           "classes=1,1,3,1,1,1,1,1,0.5 frames=8 forms=1,1,1,1,2,1,1,1,0.5\n";
    const auto phases = read_recipe(path);
    ASSERT_TRUE(phases.ok()) << phases.status().message();
    ASSERT_EQ(phases->size(), 1U);
    const Phase& phase = phases->front();
    EXPECT_EQ(phase.side, 16);
    EXPECT_EQ(phase.class_weights[2], 3.0F);
    EXPECT_EQ(phase.frames, 8);
    EXPECT_EQ(phase.form_weights[4], 2.0F);
    EXPECT_NEAR(learning_rate(phase, 0), 2e-4F, 1e-8F);
    EXPECT_NEAR(learning_rate(phase, 5), 1e-3F, 1e-8F);
    EXPECT_NEAR(learning_rate(phase, 10), 1e-4F, 1e-8F);
    for (const char* wrong : {"fase a", "phase a side=x", "phase a colour=red", "phase a batch=10 micro=4",
                              "phase a classes=1,2", "phase a frames=5", "phase a forms=1"}) {
        std::ofstream(path) << wrong << '\n';
        EXPECT_FALSE(read_recipe(path).ok()) << wrong;
    }
    EXPECT_EQ(read_recipe(scratch("no-such-file")).status().code(), Code::NotFound);
}

TEST(StrayWords, lengthen_the_question_and_keep_its_mentions) {
    world::Random rng(5);
    for (int i = 0; i < 200; ++i) {
        world::Question question;
        question.text = "Is the red star left of the tree?";
        question.mentions = {{std::strlen("Is the red star"), 0, 1},
                             {std::strlen("Is the red star left of the tree"), 1, 1},
                             {question.text.size(), -1, 1}};
        const std::string before = question.text;
        add_stray_words(question, rng);
        EXPECT_GT(question.text.size(), before.size());
        EXPECT_EQ(question.text.back(), '?');
        EXPECT_TRUE(question.text.substr(0, question.mentions[0].end).ends_with("star"));
        EXPECT_TRUE(question.text.substr(0, question.mentions[1].end).ends_with("tree"));
        EXPECT_EQ(question.mentions[2].end, question.text.size());
        // What was there is still there, in order.
        std::size_t at = 0;
        std::istringstream words(before);
        for (std::string word; words >> word;) {
            if (word.back() == '?') word.pop_back();
            at = question.text.find(word, at);
            ASSERT_NE(at, std::string::npos) << question.text;
        }
    }
}

TEST(Muon, makes_a_matrix_nearly_orthogonal) {
    world::Random rng(3);
    MuonWorkspace workspace;
    for (const auto& [rows, columns] : {std::pair{8, 8}, {6, 20}, {20, 6}}) {
        std::vector<float> m(static_cast<std::size_t>(rows * columns));
        for (float& x : m) x = rng.range(-1, 1);
        orthogonalise(m.data(), rows, columns, workspace);
        double square = 0;
        for (const float x : m) square += static_cast<double>(x) * static_cast<double>(x);
        // All singular values lie around 1, so their squares sum to about the rank.
        EXPECT_NEAR(square, std::min(rows, columns), 0.45 * std::min(rows, columns));
    }
}

TEST(Checkpoint, continues_exactly_and_refuses_damage) {
    const Vocabulary v = Vocabulary::learn({"red star"}, {}, 300);
    Model model(small_shape(v.size()));
    model.store().first_moments()[7] = 0.25F;
    RunState state;
    state.phase = "ask";
    state.phase_step = 3;
    state.step = 44;
    state.pictures = 1000;
    const std::string path = scratch("model.ckpt");
    ASSERT_TRUE(save_checkpoint(path, state, v, model).ok());
    const auto loaded = load_checkpoint(path);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    EXPECT_EQ(loaded->state.phase, "ask");
    EXPECT_EQ(loaded->state.pictures, 1000U);
    EXPECT_EQ(loaded->model->store().values(), model.store().values());
    EXPECT_EQ(loaded->model->store().first_moments(), model.store().first_moments());
    EXPECT_EQ(loaded->vocabulary.tokens(), v.tokens());

    const std::string bytes = read_file(path);
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{3}, std::size_t{60}, bytes.size() / 2, bytes.size() - 1}) {
        std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(size));
        EXPECT_FALSE(load_checkpoint(path).ok()) << size;
    }
}

// A model of clips is made from a grown model of pictures; the blocks between were inserted.
TEST(TakeOver, leaves_out_the_blocks_that_growing_inserted) {
    ModelShape shape = small_shape(300);
    shape.vision_blocks = 3;
    shape.decoder_blocks = 4;
    Model shallow(shape);
    ModelShape deep_shape = shape;
    deep_shape.vision_blocks = 5;
    deep_shape.decoder_blocks = 6;
    Model deep(deep_shape);
    grow(shallow, deep);
    ModelShape clip_shape = shape;
    clip_shape.frames = world::kClipFrames;
    clip_shape.grid = world::kClipSide;
    Model clips(clip_shape);
    take_over(deep, clips);
    for (const Param& param : shallow.store().params()) {
        if (param.name == "v.position_embd.weight") continue;
        const float* old = shallow.store().value(shallow.store().find(param.name));
        const float* kept = clips.store().value(clips.store().find(param.name));
        EXPECT_TRUE(std::equal(old, old + param.size(), kept)) << param.name;
    }
    const int corner = (shape.grid - clip_shape.grid) / 2;
    const ParamId table = shallow.store().find("v.position_embd.weight");
    const float* first = shallow.store().value(table) + (1 + corner * shape.grid + corner) * shape.width;
    const float* kept = clips.store().value(clips.store().find("v.position_embd.weight")) + shape.width;
    EXPECT_TRUE(std::equal(first, first + clip_shape.grid * shape.width, kept));
}

TEST(Evaluate, asks_a_model_of_clips_about_clips) {
    const Vocabulary v = scene_vocabulary();
    ModelShape shape = small_shape(v.size());
    shape.frames = world::kClipFrames;
    shape.grid = world::kClipSide;
    Model model(shape);
    EvaluationPlan plan;
    plan.scenes = 2;
    plan.frames = world::kClipFrames;
    for (const int frame : {-1, 4}) {
        plan.only_frame = frame;
        std::vector<int> groups;
        evaluate(model, v, plan, [&](const Prediction& p) { groups.push_back(p.group); });
        EXPECT_EQ(groups, (std::vector<int>{0, 1}));
    }
}

TEST(Evaluate, greedy_answers_agree_with_forced_ones) {
    const Vocabulary v = scene_vocabulary();
    Model model(small_shape(v.size()));
    EvaluationPlan plan;
    plan.scenes = 3;
    plan.side = 8;
    int answered = 0;
    const Accuracy accuracy = evaluate(model, v, plan, [&](const Prediction& p) {
        EXPECT_EQ(p.question_id, answered++);
        EXPECT_EQ(p.correct, p.text == p.question->answer);
    });
    int trials = 0;
    for (const int t : accuracy.trials) trials += t;
    EXPECT_EQ(trials, answered);
    EXPECT_EQ(answered, 3);
}

}  // namespace
}  // namespace clasp::training
