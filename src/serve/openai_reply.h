// What OpenAI's chat and text completions have in common in their replies.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "serve/service.h"

namespace clasp::serve {

// Seconds since 1970.
std::int64_t now_s();

// What all chunks of a reply begin with.
class Envelope {
   public:
    Envelope(const Service& service, std::string_view object, std::string_view id_begin);
    [[nodiscard]] base::Json json(base::Json choices) const;
    [[nodiscard]] const std::string& model() const { return model_; }

   private:
    std::string id_;
    std::string object_;
    std::int64_t created_;
    std::string model_;
};

// The clasp object of the first choice.
base::Json report_json(const RunningChat& running);
// Timings of the first choice, and the clasp object if it is wanted.
void add_figures(base::Json& json, const RunningChat& running);
// "prompt_progress", our own words for it, and timings if they are wanted.
void add_progress(base::Json& chunk, const RunningChat& running, const Progress& progress);

// {"content": [...]} of a choice; null where nobody asked.
base::Json choice_logprobs(const RunningChat& running, const std::vector<WrittenToken>& tokens);

// How a choice stands in replies of one API.
struct ChoiceForm {
    std::string_view object;        // of whole replies
    std::string_view chunk_object;  // of streams
    std::string_view id_begin;
    base::Json (*whole)(const Answer& answer) = nullptr;  // members of a choice beside the usual ones
    base::Json (*first)() = nullptr;                      // the same for the first chunk; null: there is none
    base::Json (*piece)(const std::string& text) = nullptr;  // for one with text
    base::Json (*last)() = nullptr;                          // for the last
};

HttpReply whole_choices(const Service& service, RunningChat& running, const HttpRequest& http,
                        const ChoiceForm& form);
HttpReply streamed_choices(const Service& service, std::shared_ptr<RunningChat> running,
                           const ChoiceForm& form);

}  // namespace clasp::serve
