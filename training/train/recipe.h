// The training recipe: a list of phases, read from a text file.
#pragma once

#include <string>
#include <vector>

#include "clasp/status.h"
#include "train/batch.h"

namespace clasp::training {

struct Phase {
    std::string name;
    int side = 8;    // patches per picture side
    int frames = 1;  // 8: clips instead of pictures (side must be 8)
    int vision_blocks = 12;
    int decoder_blocks = 8;
    int steps = 0;
    int batch = 32;           // pictures per update
    int micro = 8;            // pictures per forward pass
    int questions = 5;        // per picture; 0 trains the tower alone
    float rate_from = 1e-3F;  // learning rate at the start of the phase, after the warm-up
    float rate_to = 1e-3F;    // at its end, reached along half a cosine
    int warm_up = 0;          // steps
    float aux = 1.0F;         // weight of the auxiliary loss
    float mention = 0.0F;     // weight of the loss on what questions mention
    float early = 0.0F;       // the same, for the heads at the decoder's start
    float relation = 0.0F;    // weight of the loss on how far two mentioned things are apart
    int tower = 1;            // 0: the tower stays as it is, which costs a third less
    int heads_only = 0;       // 1: only the auxiliary heads learn, as after a start from exported files
    world::ClassWeights class_weights = kEvenWeights;  // of the questions, by class
    world::ClipWeights form_weights = kEvenForms;      // the same of clips, by form
    int sides = 0;                                     // extra questions about left and right, per picture
    int counts = 0;                                    // questions that count any group, per picture
    int probes = 0;                                    // training-only questions about positions, per picture
    float strays = 0.0F;                               // share of questions with stray words in them
    float newline = 0.0F;  // share of questions whose answer's role stands on a new line
    float chained = 0.0F;  // share of pictures whose questions form one conversation
};

// One phase per line: "phase NAME key=value ..."; # starts a comment.
Result<std::vector<Phase>> read_recipe(const std::string& path);

float learning_rate(const Phase& phase, int step);

}  // namespace clasp::training
