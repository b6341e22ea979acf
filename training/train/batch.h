// Turns scenes into what the model reads.
#pragma once

#include "model/model.h"
#include "text/bpe.h"
#include "world/clip_questions.h"
#include "world/questions.h"
#include "world/scene.h"

namespace clasp::training {

// CLIP's means and deviations of the three channels; the exported file carries them.
inline constexpr float kImageMean[3] = {0.48145466F, 0.4578275F, 0.40821073F};
inline constexpr float kImageStd[3] = {0.26862954F, 0.26130258F, 0.27577711F};

// The prompt is LLaVA-1.5's without the system sentence:
// <s>USER: [visual tokens]\nQUESTION ASSISTANT: ANSWER</s>
inline constexpr const char* kBeforeImage = "USER: ";
inline constexpr const char* kBeforeQuestion = "\n";
inline constexpr const char* kBeforeLaterQuestion = "USER: ";  // from the second turn on
inline constexpr const char* kAfterQuestion = " ASSISTANT:";
// libllama's template "vicuna" writes a line break there; the model learns to read both.
inline constexpr const char* kAfterQuestionNewline = "\nASSISTANT:";

inline constexpr world::ClassWeights kEvenWeights = {1, 1, 1, 1, 1, 1, 1, 1, 1};
inline constexpr world::ClipWeights kEvenForms = {1, 1, 1, 1, 1, 1, 1, 1, 0};

// The class of probes: "Columns of the star and the sign?" with the patch columns of their centres in the
// position table. They teach the decoder to fetch the positions of named things, which relations are built
// on; no split has them.
inline constexpr int kProbeClass = -1;

// Row and column of a clip's first patch as auxiliary labels count them.
inline constexpr int kClipCorner = (world::kFullSide - world::kClipSide) / 2;

struct BatchPlan {
    world::Split split = world::Split::Train;
    std::uint64_t seed = 0;
    std::uint64_t first_index = 0;
    int pictures = 0;
    int frames = 1;       // 8: `pictures` clips of 8 x 8 patches
    int only_frame = -1;  // show this frame of a clip in place of all: what one picture tells
    int side = 8;
    int questions = 5;
    world::ClassWeights class_weights = kEvenWeights;
    world::ClipWeights form_weights = kEvenForms;
    int probes = 0;           // training-only questions about positions, per picture
    int sides = 0;            // extra questions about left and right, per picture
    int counts = 0;           // questions that count any group of shapes, per picture
    float stray_share = 0;    // questions with stray words in them (stray_words.h)
    float newline_share = 0;  // questions whose answer's role stands on a new line
    float chained_share = 0;  // pictures whose questions follow each other as a conversation
};

struct Batch {
    PictureBatch pictures;
    AuxTargets targets;
    TextBatch text;
    std::vector<world::Question> questions;  // by running number
    std::vector<int> question_picture;       // which picture each belongs to

    void clear();
};

// Replaces the answer of one question by tokens that were already generated; the last row then
// predicts the next one.
struct AnswerStart {
    int question = -1;  // running number; -1 replaces nothing
    std::vector<int> tokens;
};

void make_batch(const BatchPlan& plan, const Vocabulary& vocabulary, Batch& batch,
                const AnswerStart& start = {});

}  // namespace clasp::training
