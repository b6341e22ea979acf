// Projector and decoder: reads a picture's features and questions, learns the answers.
#pragma once

#include <algorithm>
#include <vector>

#include "model/decoder_block.h"
#include "model/mention_heads.h"
#include "model/relation_head.h"

namespace clasp::training {

// Packed rows: every picture's prompt start, its visual tokens, then its questions with answers.
struct TextBatch {
    // Per row: the token, or kVisual - i for the i-th feature row of the tower's output.
    static constexpr int kVisual = -1;
    std::vector<int> tokens;
    std::vector<int> positions;  // rotary positions
    std::vector<RowMask> masks;
    struct Span {
        int first_row = 0;
        int length = 0;
    };
    std::vector<Span> pictures;
    // What a row must predict; only answers (and their end) are learned.
    struct Target {
        int row = 0;
        int token = 0;
        int question = 0;  // running number in the batch
    };
    std::vector<Target> targets;
    std::vector<int> question_class;
    std::vector<MentionTarget> mentions, early_mentions;
    std::vector<RelationTarget> relations;

    void clear();
};

struct AnswerScores {
    double loss = 0;                   // mean over answer tokens times the share
    std::vector<float> question_loss;  // per question: sum over its answer tokens, unweighted
    std::vector<bool> is_exact;        // per question: every token of the answer is the likeliest
    std::vector<int> predicted;        // per target: the likeliest token
    MentionScores mentions, early_mentions;
    double relation_loss = 0;
};

class Decoder {
   public:
    Decoder(ParamStore& store, const ModelShape& shape);

    // What every answer token's and every mention's loss are multiplied by.
    struct Weights {
        float answer_token = 0.0F;
        float mention = 0.0F;
        float early_mention = 0.0F;
        float relation = 0.0F;
    };

    // Forward pass and loss. With `gradient` not null also the backward pass: adds to the gradient of
    // the tower's output.
    void run(ParamStore& store, const float* features, int feature_rows, const TextBatch& batch,
             const Weights& weights, float* gradient, AnswerScores& scores, Arena& arena);

   private:
    // The blocks whose outputs the early and the later mention heads and the relation head read. The early
    // one is the block before which the first pruning stage stands, so that what a question names is already
    // being looked at there.
    std::size_t early_block() const { return std::min<std::size_t>(kLeadingBlocks, blocks_.size() - 1) - 1; }
    std::size_t mention_block() const { return blocks_.size() * 5 / 8 - 1; }
    std::size_t relation_block() const { return blocks_.size() * 7 / 8 - 1; }

    ModelShape shape_;
    Linear mm0_, mm2_;
    ParamId embedding_, norm_w_;
    Linear output_;
    MentionHeads mention_heads_, early_heads_;
    RelationHead relation_head_;
    std::vector<DecoderBlock> blocks_;
    std::vector<DecoderBlock::Tape> tapes_;
};

}  // namespace clasp::training
