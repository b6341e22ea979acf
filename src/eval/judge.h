// Benchmarks whose answers a language model grades. A judgement is that model's reply, kept as text; the
// scorer reads the grade out of it, so that recorded replies and fresh ones go the same way.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/status.h"

namespace clasp::eval {

struct Dataset;
struct Item;

// Replies per item id, one per grading run in the order of the runs.
struct Judgements {
    std::map<std::string, std::vector<std::string>, std::less<>> replies;
};

struct JudgeMessage {
    std::string role;  // "system" or "user"
    std::string content;
};

struct JudgeRequest {
    std::vector<JudgeMessage> messages;
    double temperature = 0.0;
    std::size_t max_tokens = 0;  // 0: no limit stated
};

struct JudgeProtocol {
    std::string_view model;  // the judge that published figures were made with
    // The question for the judge about one answer; `attempt` counts from 0 when a reply was unreadable.
    // `folder` is the data folder, where the protocol's own texts lie. Errors: not_found names the file.
    Result<JudgeRequest> (*request)(const Item& item, std::string_view answer, const std::string& folder,
                                    std::size_t attempt) = nullptr;
    // Whether a reply can be read as a grade.
    bool (*is_readable)(std::string_view reply) = nullptr;
    std::size_t max_attempts = 1;
    // The recorded judgements of this benchmark's official tool, or our own JSON Lines of "question_id"
    // and "reply".
    Result<Judgements> (*parse)(const Dataset& dataset, std::string_view text) = nullptr;
};

}  // namespace clasp::eval
