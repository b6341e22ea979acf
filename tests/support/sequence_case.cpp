#include "support/sequence_case.h"

namespace clasp::test {

SequenceCase::SequenceCase(const model::TextModel& model, const SequenceSpec& spec)
    : spec_(spec), prompt_(model, {5, 8}, {spec.n_image}, spec.seed) {
    if (spec.pruning == Pruning::None) return;
    for (const std::int32_t layer : {1, 3}) {
        stages_.push_back(
            {.layer = layer, .mode = spec.mode, .needs = {.scores = true}, .reference = prompt_.question()});
    }
}

engine::PrefillRequest SequenceCase::request() const {
    engine::PrefillRequest request;
    request.parts = prompt_.parts();
    request.stages = stages_;
    request.room = spec_.room;
    if (spec_.pruning == Pruning::Compact) request.positions = engine::PositionMode::Compact;
    request.selector = [has_masses = spec_.pruning == Pruning::WithMasses](
                           const engine::StageView& view) -> Result<engine::StageChoice> {
        engine::StageChoice choice;
        for (std::size_t i = 0; i < view.live.size(); i += view.stage + 2) {
            choice.kept.push_back(view.live[i]);
            if (has_masses) choice.masses.push_back(1.0F + static_cast<float>(i % 5));
        }
        return choice;
    };
    return request;
}

}  // namespace clasp::test
