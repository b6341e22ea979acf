// Benchmarks whose answers a language model grades. A judgement is that model's reply, kept as text; the
// scorer reads the grade out of it, so that recorded replies and fresh ones go the same way.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/status.h"

namespace clasp::eval {

struct Item;

// Replies per item id, one per grading run in the order of the runs.
struct Judgements {
    std::map<std::string, std::vector<std::string>, std::less<>> replies;

    // The reply of one run, empty when there is none.
    [[nodiscard]] std::string_view reply(std::string_view id, std::size_t run) const;
    // The largest number of replies to one item.
    [[nodiscard]] std::size_t n_runs() const;
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
    // The file in the data folder that holds the official wording of the request; without it our own words
    // are used, and figures are not comparable with published ones.
    std::string_view wording_file;
    // The request about one answer; `attempt` counts from 0 when a reply was unreadable. `folder` is the
    // data folder.
    Result<JudgeRequest> (*request)(const Item& item, std::string_view answer, const std::string& folder,
                                    std::size_t attempt) = nullptr;
    // Whether a reply can be read as a grade.
    bool (*is_readable)(std::string_view reply) = nullptr;
    std::size_t max_attempts = 1;
    // What the benchmark's official tool records, one file per call. Our own form (parse_replies) is read
    // before this is asked.
    Result<Judgements> (*parse_official)(std::string_view text) = nullptr;
};

// JSON Lines of "question_id" and "reply", one line per item and run; nothing when the first line is
// something else.
Result<std::optional<Judgements>> parse_replies(std::string_view text);

// One line of that form.
std::string reply_line(std::string_view id, std::string_view reply);

// A recorded file in either form; messages begin with its path.
Result<Judgements> read_judgements(const JudgeProtocol& protocol, const std::string& path);

// The runs of `more` after those of `judgements`.
void append_runs(Judgements& judgements, const Judgements& more);

// `text` with "{name}" replaced, for wording files.
std::string fill_in(std::string_view text, const std::map<std::string, std::string>& values);

// The wording file when it is there, else nothing.
Result<std::optional<std::string>> read_wording(const std::string& folder, std::string_view name);

}  // namespace clasp::eval
