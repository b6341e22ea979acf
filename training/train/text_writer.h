// Writes the prompts of one picture or clip into a batch.
#pragma once

#include "train/batch.h"

namespace clasp::training {

class TextWriter {
   public:
    TextWriter(TextBatch& batch, const Vocabulary& vocabulary)
        : batch_(batch), vocabulary_(vocabulary), first_(static_cast<int>(batch.tokens.size())) {}

    // The start of the prompt and the visual tokens; everything later sees it.
    void prefix(int first_feature_row, int visual);

    // `group` is what the question is logged under.
    void question(const world::Question& q, int number, int group, bool chained, bool newline,
                  const AnswerStart& start);

    // What the mentions are told apart by: a picture and its place in the position table, or a clip.
    void picture(const world::Scene& scene, int row0, int column0) {
        scene_ = &scene;
        row0_ = row0;
        column0_ = column0;
    }
    void clip(const world::Clip& clip) {
        clip_ = &clip;
        row0_ = column0_ = kClipCorner;
    }

    void finish() { batch_.pictures.push_back({first_, here()}); }

   private:
    int here() const { return static_cast<int>(batch_.tokens.size()) - first_; }

    // The token that holds the last of the first `bytes` bytes.
    int token_at(const std::vector<int>& tokens, std::size_t bytes) const;
    std::array<float, 2> apart(const world::Mention& first, const world::Mention& second) const;
    MentionLabels label(world::Setting setting) const;
    MentionLabels label(const world::Mention& mention) const;
    void label_item(const world::Item& item, MentionLabels& labels) const;
    void push(int token);

    TextBatch& batch_;
    const Vocabulary& vocabulary_;
    int first_;
    int next_ = 0;    // rotary position
    int shared_ = 0;  // length of the prefix, 0 while writing it
    int begin_ = 0;   // first row of the own question
    const world::Scene* scene_ = nullptr;
    const world::Clip* clip_ = nullptr;
    int row0_ = 0, column0_ = 0;  // of the picture in the position table
};

}  // namespace clasp::training
