// How far a request is, from what the parts of the engine count to what ProgressSink hears.
#pragma once

#include <vector>

#include "clasp/engine.h"
#include "engine/request_plan.h"

namespace clasp::engine {

// Tokens times layers that a prefill will process by its program, which may be null: n_layers + 1 numbers,
// what is done before each layer and after the last.
std::vector<double> planned_work(const RequestShape& shape, const methods::MethodRun* run);

// What is done after so many layers, which need not be whole.
double work_until(const std::vector<double>& work, double layers);

// One phase towards a sink that is not empty: the start, rising steps, the end. The sink is borrowed.
class PhaseReport {
   public:
    PhaseReport(const ProgressSink& sink, Progress::Phase phase, double total);
    // Steps too small for an eye to see are left out.
    void at(double done);
    void finish() { at(progress_.total); }

   private:
    const ProgressSink& sink_;
    Progress progress_;
};

}  // namespace clasp::engine
