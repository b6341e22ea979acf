#include "engine/progress.h"

#include <algorithm>

namespace clasp {

std::string_view phase_name(Progress::Phase phase) {
    switch (phase) {
        case Progress::Phase::Load: return "load";
        case Progress::Phase::Encode: return "encode";
        case Progress::Phase::Prefill: return "prefill";
        case Progress::Phase::Keep: return "keep";
    }
    return "";
}

namespace engine {

std::vector<double> planned_work(const RequestShape& shape, const methods::MethodRun* run) {
    std::vector<double> done = {0.0};
    for (std::size_t layer = 0; layer < shape.decoder.n_layers; ++layer) {
        std::size_t live = shape.n_visual();
        if (run != nullptr) {
            live = std::min(live, run->program().entering);
            for (const methods::DecoderStage& stage : run->program().stages) {
                const std::size_t first = stage.layer + (stage.mode == StageMode::After ? 1 : 0);
                if (first <= layer) live = std::min(live, stage.keep);
            }
        }
        done.push_back(done.back() + static_cast<double>(live + shape.n_carried()));
    }
    return done;
}

double work_until(const std::vector<double>& work, double layers) {
    const auto whole = static_cast<std::size_t>(layers);
    if (whole + 1 >= work.size()) return work.back();
    return work[whole] + (layers - static_cast<double>(whole)) * (work[whole + 1] - work[whole]);
}

PhaseReport::PhaseReport(const ProgressSink& sink, Progress::Phase phase, double total)
    : sink_(sink), progress_{phase, 0.0, total} {
    sink_(progress_);
}

void PhaseReport::at(double done) {
    constexpr double kSteps = 400.0;
    done = std::min(done, progress_.total);
    const bool is_end = done >= progress_.total;
    if (done <= progress_.done || (!is_end && done - progress_.done < progress_.total / kSteps)) return;
    progress_.done = done;
    sink_(progress_);
}

}  // namespace engine

}  // namespace clasp
