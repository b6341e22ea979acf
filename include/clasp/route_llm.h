// A chat model as router: any GGUF text model that libllama runs, asked which intent a question has. Give
// the result to RouterOptions::chooser with RouterKind::Llm; the router brings the cache and the fallback
// to the classifier.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "clasp/log.h"
#include "clasp/route.h"
#include "clasp/status.h"

namespace clasp {

struct LlmRouterOptions {
    std::string model = {};  // text GGUF
    // Longest time for one question; then choose() gives Code::Deadline. Reading the list of intents, once
    // before the first question, is not counted.
    double timeout_ms = 10000.0;
    std::size_t n_threads = 0;  // 0: the processors that are free, as in EngineOptions
    bool use_gpu = true;        // if ggml was built with one
    LogSink log = {};
};

// Corrupt, Unsupported or NotFound, with the file's name, when the file is no usable text model.
Result<std::shared_ptr<IntentChooser>> load_llm_router(const LlmRouterOptions& options);

}  // namespace clasp
