// What a client is told of the model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "clasp/engine.h"
#include "serve/options.h"

namespace clasp::serve {

struct ModelCard {
    std::string id;
    ModelInfo info;
    std::size_t n_context = 0;  // tokens of a request here: the model's, or fewer
    std::size_t n_parameters = 0;
    std::int32_t n_vocabulary = 0;
    std::int32_t vocabulary_type = 0;  // llama.cpp's number
    std::string chat_template;         // empty: the file has none
    std::int64_t created_s = 0;        // the file's time
    std::size_t size_bytes = 0;
    std::string digest;  // of the file's name, size and time: tells files apart, and reads no gigabytes
    bool has_vision = false;
    std::vector<std::string> preset_ids;  // "tiny:64", if they are to be listed

    // "2026-01-02T03:04:05Z"
    [[nodiscard]] std::string modified_at() const;
    // OpenAI's and llama-server's list.
    [[nodiscard]] base::Json list_json() const;
    [[nodiscard]] base::Json entry_json(const std::string& name) const;
    // {"format", "family", ...} as Ollama and llama-server have it.
    [[nodiscard]] base::Json details_json() const;
};

ModelCard make_model_card(const Engine& engine, const ServeOptions& options);

// Seconds since 1970 as Ollama writes them.
std::string iso_time(std::int64_t seconds, std::int64_t microseconds = -1);

}  // namespace clasp::serve
