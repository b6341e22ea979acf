// The whole network: tower, auxiliary heads, projector and decoder over one parameter store.
#pragma once

#include "model/aux_heads.h"
#include "model/decoder.h"
#include "model/shape.h"
#include "model/vision_tower.h"

namespace clasp::training {

class Model {
   public:
    explicit Model(const ModelShape& shape)
        : shape_(shape), tower_(store_, shape), heads_(store_, shape), decoder_(store_, shape) {}

    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    const ModelShape& shape() const { return shape_; }
    ParamStore& store() { return store_; }
    const ParamStore& store() const { return store_; }

    // Shares of the micro-batch in the batch's losses, and what to train.
    struct Weights {
        float aux = 1.0F;           // times the auxiliary loss; already times pictures / batch
        float answer_token = 0.0F;  // per answer token; 0 skips the decoder
        bool backward = true;
        float mention = 0.0F;        // per mention of something in a question
        float early_mention = 0.0F;  // the same, for the heads at the decoder's start
        float relation = 0.0F;       // per pair of mentions
        bool tower = true;           // false: the tower stays as it is, and has no auxiliary loss
    };

    void run(const PictureBatch& pictures, const AuxTargets& targets, const TextBatch& text,
             const Weights& weights, AuxScores& aux, AnswerScores& answers);

   private:
    ModelShape shape_;
    ParamStore store_;
    VisionTower tower_;
    AuxHeads heads_;
    Decoder decoder_;
    VisionTower::Tape tape_;
    Arena arena_;
};

// Copies a trained model into a deeper one that computes exactly the same function: the old blocks
// are spread evenly (the decoder's leading ones stay where they are), and each block between is a copy of the
// one after it (the last: before it) whose outputs are multiplied by zero. So it looks where the next old
// block looks, and a pruning stage that stands there scores by an attention that was trained. The optimiser's
// moments move along. Depths may also be equal.
void grow(const Model& from, Model& to);

}  // namespace clasp::training
