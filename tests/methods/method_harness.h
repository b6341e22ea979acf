// Runs any method through all of its hooks on made-up data, checking every plan on the way.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "clasp/thread_pool.h"
#include "methods/method.h"

namespace clasp::methods::test {

enum class Content : std::uint8_t {
    Random,
    Equal,  // all rows, scores and norms the same
    Zero,   // nothing but zeros
};

struct FakeModel {
    Grid grid = {12, 12};
    std::size_t n_images = 1;
    std::size_t n_layers = 32;
    std::size_t n_text = 9;  // text tokens after the image
    std::size_t n_blocks = 8;
    std::size_t width = 16;
    std::size_t n_heads = 4;
    Content content = Content::Random;
    unsigned seed = 1;
};

struct StageOutcome {
    std::size_t layer = 0;
    std::size_t keep = 0;
    std::vector<TokenIndex> live;  // before
    Plan plan;
};

// Of the first image, unless another is asked for.
struct Outcome {
    Program program;
    std::vector<Plan> before_decoder;  // one per hook that ran after the encoder
    std::size_t entering = 0;
    std::vector<StageOutcome> stages;
    std::vector<std::vector<TokenIndex>> members;  // patches of each token that entered the decoder
};

// A setup for the model with a budget, or with the stages of the policy where the method takes those.
Setup make_setup(const Method& method, const FakeModel& model, double tokens,
                 BudgetKind kind = BudgetKind::Average, const std::vector<std::string>& options = {});

// Errors are the method's own, or describe the rule that a plan broke.
Result<Outcome> drive(const Method& method, const Setup& setup, const FakeModel& model,
                      ThreadPool* pool = nullptr, std::size_t wanted_image = 0);

}  // namespace clasp::methods::test
