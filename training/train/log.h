// Running averages of a training run, written as JSON Lines.
#pragma once

#include <array>
#include <cstdio>
#include <string>

#include "train/batch.h"
#include "train/checkpoint.h"
#include "train/recipe.h"

namespace clasp::training {

class TrainingLog {
   public:
    TrainingLog(std::string path, const RunState& start)
        : path_(std::move(path)),
          last_step_(start.step),
          last_seconds_(start.seconds),
          last_pictures_(start.pictures) {}

    void add(const Batch& batch, const AuxScores& aux, const AnswerScores& answers);

    // One line with the averages since the last one: losses, accuracy of the auxiliary groups,
    // share of exact answers and loss per question of each class (pictures never seen before), speed.
    void write(const RunState& state, const Phase& phase, float rate, float norm);

   private:
    std::string path_;
    double aux_loss_ = 0, answer_loss_ = 0, relation_loss_ = 0;
    std::array<long, kAuxGroups.size() + 2> aux_hits_{}, aux_trials_{};
    MentionScores mentions_, early_mentions_;
    std::array<long, world::kClasses> hits_{}, trials_{};
    std::array<double, world::kClasses> class_loss_{};
    long probe_hits_ = 0, probe_trials_ = 0;
    long last_step_;
    double last_seconds_;
    std::uint64_t last_pictures_;
    std::uint64_t last_flops_ = 0;
};

}  // namespace clasp::training
