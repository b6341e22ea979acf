// What an engine holds for all its requests.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "clasp/engine.h"
#include "clasp/thread_pool.h"
#include "engine/decoder_times.h"
#include "engine/default_policy.h"
#include "engine/executor.h"
#include "engine/prompt_memory.h"
#include "engine/session_pool.h"
#include "engine/start_file.h"
#include "engine/timing_model.h"
#include "engine/vision_memory.h"
#include "model/backend.h"
#include "model/text_model.h"
#include "model/vision_model.h"

namespace clasp::engine {

// Requests take turns on the processors, so more than two at a time are rare; a session that waits holds the
// intermediate results of its largest request.
inline constexpr std::size_t kIdleSessions = 2;

struct EngineState {
    EngineOptions options;
    std::shared_ptr<model::Compute> compute;
    std::shared_ptr<const model::TextModel> text;
    std::shared_ptr<const model::VisionModel> vision;  // null: text alone
    std::unique_ptr<VisionMemory> memory;              // null: every request encodes
    std::unique_ptr<PromptMemory> prompts;             // null: nothing of a prompt stays
    std::unique_ptr<StartFolder> start_folder;         // null: no folder
    std::optional<Router> router;
    DefaultPolicy usual;                          // of requests that bring none
    std::unique_ptr<DecoderTimes> decoder_times;  // what "budget auto" predicts with
    mutable ThreadPool pool;
    ModelInfo info;
    mutable TimingModel timing;
    // What requests compute with, kept from one to the next.
    mutable SessionPool<Executor> executors;
    mutable SessionPool<model::VisionSession> vision_sessions;

    // Where beginnings of prompts are kept; null: nowhere.
    [[nodiscard]] StartStore* starts() const {
        if (start_folder != nullptr) return start_folder.get();
        return prompts.get();
    }

    explicit EngineState(const EngineOptions& given)
        : options(given),
          pool(given.n_threads),
          executors([this] { return Executor::create(text); }, kIdleSessions),
          vision_sessions([this] { return model::VisionSession::create(vision); }, kIdleSessions) {}
};

}  // namespace clasp::engine
