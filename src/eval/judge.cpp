#include "eval/judge.h"

#include <algorithm>

#include "base/json.h"
#include "eval/data_folder.h"
#include "eval/plain_text.h"
#include "eval/record.h"

namespace clasp::eval {

std::string_view Judgements::reply(std::string_view id, std::size_t run) const {
    const auto found = replies.find(id);
    if (found == replies.end() || run >= found->second.size()) return {};
    return found->second[run];
}

std::size_t Judgements::n_runs() const {
    std::size_t n = 0;
    for (const auto& [id, runs] : replies) n = std::max(n, runs.size());
    return n;
}

Result<std::optional<Judgements>> parse_replies(std::string_view text) {
    Judgements judgements;
    bool is_first = true;
    bool is_ours = true;
    const Status status = each_json_line(text, [&](const Record& record) -> Status {
        if (is_first) is_ours = record.has("reply");
        is_first = false;
        if (!is_ours) return ok_status();
        CLASP_ASSIGN_OR_RETURN(std::string id, record.id("question_id"));
        CLASP_ASSIGN_OR_RETURN(std::string reply, record.text("reply"));
        judgements.replies[std::move(id)].push_back(std::move(reply));
        return ok_status();
    });
    // A file that is one JSON value over many lines is not ours either.
    if (is_first && !strip(text).empty()) is_ours = false;
    if (!is_ours) return std::optional<Judgements>();
    CLASP_RETURN_IF_ERROR(status);
    return std::optional(std::move(judgements));
}

std::string reply_line(std::string_view id, std::string_view reply) {
    const base::Json line = {{"question_id", id}, {"reply", reply}};
    return base::dump_json(line) + "\n";
}

Result<Judgements> read_judgements(const JudgeProtocol& protocol, const std::string& path) {
    CLASP_ASSIGN_OR_RETURN(const std::string text, read_data_file(path));
    auto own = parse_replies(text);
    if (!own) return own.status().with_context(path);
    if (*own) return **std::move(own);
    auto official = protocol.parse_official(text);
    if (!official) return official.status().with_context(path);
    return official;
}

void append_runs(Judgements& judgements, const Judgements& more) {
    for (const auto& [id, runs] : more.replies) {
        std::vector<std::string>& known = judgements.replies[id];
        known.insert(known.end(), runs.begin(), runs.end());
    }
}

std::string fill_in(std::string_view text, const std::map<std::string, std::string>& values) {
    std::string out;
    while (true) {
        const std::size_t open = text.find('{');
        out += text.substr(0, open);
        if (open == std::string_view::npos) return out;
        text.remove_prefix(open);
        const std::size_t close = text.find('}');
        const auto value = close == std::string_view::npos
                               ? values.end()
                               : values.find(std::string(text.substr(1, close - 1)));
        if (value == values.end()) {
            out += '{';
            text.remove_prefix(1);
        } else {
            out += value->second;
            text.remove_prefix(close + 1);
        }
    }
}

Result<std::optional<std::string>> read_wording(const std::string& folder, std::string_view name) {
    const std::string path = in_folder(folder, name);
    if (!is_file(path)) return std::optional<std::string>();
    CLASP_ASSIGN_OR_RETURN(std::string text, read_data_file(path));
    return std::optional(std::move(text));
}

}  // namespace clasp::eval
