// Asks a language model behind any OpenAI-compatible endpoint to grade answers.
#pragma once

#include <functional>
#include <string>

#include "eval/benchmark.h"

namespace clasp::eval {

struct JudgeEndpoint {
    std::string url;      // up to and with the version: "http://127.0.0.1:8080/v1"
    std::string model;    // as the endpoint names it
    std::string api_key;  // empty: no authorization header
    long timeout_seconds = 120;
};

// One reply. Errors: unavailable (no connection, a status other than 200, with what the endpoint said),
// deadline, corrupt (the reply is not a chat completion).
Result<std::string> ask_judge(const JudgeEndpoint& endpoint, const JudgeRequest& request);

struct JudgeRun {
    std::function<Result<std::string>(const JudgeRequest& request)> ask;
    // Called with each reply as it comes, so that a stopped run loses nothing. May be null.
    std::function<Status(std::string_view id, std::string_view reply)> record;
    std::function<void(std::size_t done, std::size_t total)> progress;  // may be null
};

// Grades every item that has an answer and no reply yet in `judgements`. A reply that stays unreadable
// after the protocol's number of attempts is kept as it is; the scorer counts it. Stops at the first error
// of `ask`.
Status judge_answers(const Benchmark& benchmark, const Dataset& dataset, const Answers& answers,
                     const std::string& folder, const JudgeRun& run, Judgements& judgements);

}  // namespace clasp::eval
