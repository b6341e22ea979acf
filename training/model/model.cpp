#include "model/model.h"

#include <algorithm>

namespace clasp::training {
namespace {

// Splits "v.blk.12.fc2.weight" into "v.blk.", 12 and ".fc2.weight"; number -1 if not in a block.
struct BlockName {
    std::string head;
    int number = -1;
    std::string tail;
};

BlockName split_name(const std::string& name) {
    const std::size_t at = name.find("blk.");
    if (at == std::string::npos) return {name, -1, ""};
    const std::size_t dot = name.find('.', at + 4);
    return {name.substr(0, at + 4), std::stoi(name.substr(at + 4, dot - at - 4)), name.substr(dot)};
}

bool is_output(const std::string& tail) {
    const auto starts = [&](const char* head) { return tail.starts_with(head); };
    return std::ranges::any_of(VisionBlock::kOutputs, starts) ||
           std::ranges::any_of(DecoderBlock::kOutputs, starts);
}

}  // namespace

void Model::run(const PictureBatch& pictures, const AuxTargets& targets, const TextBatch& text,
                const Weights& weights, AuxScores& aux, AnswerScores& answers) {
    arena_.reset();
    const float* features = tower_.forward(store_, pictures, tape_, arena_);
    float* gradient =
        arena_.take_zeroed(static_cast<std::size_t>(tape_.rows) * static_cast<std::size_t>(shape_.width));
    if (weights.aux > 0 && weights.tower)
        heads_.run(store_, features, targets, weights.aux, gradient, aux, arena_);
    if (weights.answer_token > 0)
        decoder_.run(store_, features, tape_.rows, text,
                     {weights.answer_token, weights.mention, weights.early_mention, weights.relation},
                     weights.backward ? gradient : nullptr, answers, arena_);
    if (weights.backward && weights.tower) tower_.backward(store_, pictures, gradient, tape_, arena_);
}

void grow(const Model& from, Model& to) {
    const auto& old = from.store();
    auto& store = to.store();
    for (ParamId id = 0; id < store.params().size(); ++id) {
        const Param& param = store.info(id);
        const BlockName name = split_name(param.name);
        std::string source = param.name;
        bool is_new = false;
        if (name.number >= 0) {
            const bool vision = name.head != "blk.";
            const int before = vision ? from.shape().vision_blocks : from.shape().decoder_blocks;
            const int after = vision ? to.shape().vision_blocks : to.shape().decoder_blocks;
            const int fixed = vision || before <= kLeadingBlocks ? 0 : kLeadingBlocks;
            const auto spread = [&](int number) {
                return number < fixed ? number
                                      : fixed + (number - fixed) * (before - fixed) / (after - fixed);
            };
            int block = spread(name.number);
            is_new = name.number > 0 && spread(name.number - 1) == block;
            if (is_new) block = std::min(block + 1, before - 1);
            source = name.head + std::to_string(block) + name.tail;
        }
        const ParamId at = old.find(source);
        if (at == old.params().size()) continue;
        const Param& origin = old.info(at);
        const auto copy = [&](const std::vector<float>& values, std::vector<float>& out) {
            std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(origin.offset), origin.size(),
                        out.begin() + static_cast<std::ptrdiff_t>(param.offset));
        };
        copy(old.values(), store.values());
        if (is_new && is_output(name.tail)) std::fill_n(store.value(id), param.size(), 0.0F);
        if (is_new) continue;
        copy(old.first_moments(), store.first_moments());
        copy(old.second_moments(), store.second_moments());
    }
}

}  // namespace clasp::training
