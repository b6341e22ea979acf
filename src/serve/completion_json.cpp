#include "serve/completion_json.h"

#include "serve/logprobs_json.h"
#include "serve/sampling_fields.h"

namespace clasp::serve {

namespace {

using base::Json;

std::string_view stop_type(const Answer& answer) {
    switch (answer.stopped) {
        case Stopped::End: return "eos";
        case Stopped::StopText: return "word";
        default: return "limit";
    }
}

}  // namespace

Json ids_json(const std::vector<WrittenToken>& tokens) {
    Json ids = Json::array();
    for (const WrittenToken& written : tokens) ids.push_back(written.token.id);
    return ids;
}

Json completion_json(const RunningChat& chat, const CompletionForm& form) {
    const Answer& answer = *chat.jobs.front()->answer();
    Json json = {{"index", 0},
                 {"content", form.has_text ? answer.text : std::string()},
                 {"tokens", form.has_text && form.wants_tokens ? ids_json(answer.written) : Json::array()},
                 {"id_slot", 0},
                 {"stop", true},
                 {"model", form.model},
                 {"tokens_predicted", answer.generated},
                 {"tokens_evaluated", chat.planned.n_prompt},
                 {"generation_settings", generation_json(chat.generation)},
                 {"prompt", form.prompt},
                 {"has_new_line", answer.text.find('\n') != std::string::npos},
                 {"truncated", false},
                 {"stop_type", stop_type(answer)},
                 {"stopping_word", answer.stop_text},
                 {"tokens_cached", answer.history.n_tokens},
                 {"timings", server_timings_json(chat.planned, answer)}};
    if (form.has_text && chat.generation.n_likely)
        json["completion_probabilities"] = logprobs_json(answer.written, true);
    return json;
}

}  // namespace clasp::serve
