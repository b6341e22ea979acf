// LLaVA-Bench (in the wild): a judge gives the reference answer and the tested one a grade each.
#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"
#include "eval/data_folder.h"
#include "eval/record.h"
#include "eval/scoring.h"
#include "eval/sets.h"

namespace clasp::eval {

namespace {

constexpr std::string_view kRuleFile = "rule.json";

// Used when rule.json, which has one rule per category, is not in the data folder.
constexpr std::string_view kOwnRule =
    "Grade both answers to the question about the picture that the context describes. Look at how helpful, "
    "relevant, accurate and detailed they are. Give each a whole number from 1 to 10, more for the better "
    "one. Write "
    "the two numbers, first that of answer 1, on the first line with one space between them and nothing "
    "else; explain "
    "on the lines below.";

using Grades = std::array<double, 2>;

// Exactly two numbers on the first line, divided by a comma or a space.
std::optional<Grades> parse_grades(std::string_view reply) {
    std::string line(reply.substr(0, reply.find('\n')));
    line = replace_all(line, ",", " ");
    const std::vector<std::string_view> parts = base::split(line, ' ');
    if (parts.size() != 2) return std::nullopt;
    const auto first = base::parse_double(strip(parts[0]));
    const auto second = base::parse_double(strip(parts[1]));
    if (!first || !second) return std::nullopt;
    return Grades{*first, *second};
}

Status read_extras(const std::string& folder, Dataset& dataset) {
    std::map<std::string, std::string> captions;
    std::map<std::string, std::string> references;
    const std::string context = in_folder(folder, "context.jsonl");
    const std::string reference = in_folder(folder, "answers_gpt4.jsonl");
    if (is_file(context)) {
        dataset.files.push_back(context);
        CLASP_RETURN_IF_ERROR(each_file_line(context, [&](const Record& record) -> Status {
            CLASP_ASSIGN_OR_RETURN(const std::string image, record.text("image"));
            CLASP_ASSIGN_OR_RETURN(captions[image], record.text("caption"));
            return ok_status();
        }));
    }
    if (is_file(reference)) {
        dataset.files.push_back(reference);
        CLASP_RETURN_IF_ERROR(each_file_line(reference, [&](const Record& record) -> Status {
            CLASP_ASSIGN_OR_RETURN(const std::string id, record.id("question_id"));
            CLASP_ASSIGN_OR_RETURN(references[id], record.text("text"));
            return ok_status();
        }));
    }
    for (Item& item : dataset.items) {
        item.extra["caption"] = captions[item.group];
        if (references.contains(item.id)) item.answers.push_back(references[item.id]);
    }
    return ok_status();
}

Result<Dataset> load(const std::string& folder, const LoadOptions& /*options*/) {
    Dataset dataset;
    dataset.benchmark = "llava-bench";
    CLASP_ASSIGN_OR_RETURN(const std::string path, find_file(folder, {"questions.jsonl"}));
    dataset.files.push_back(path);
    CLASP_RETURN_IF_ERROR(each_file_line(path, [&](const Record& record) -> Status {
        Item item;
        CLASP_ASSIGN_OR_RETURN(item.id, record.id("question_id"));
        CLASP_ASSIGN_OR_RETURN(item.group, record.text("image"));
        item.image = in_folder(in_folder(folder, "images"), item.group);
        CLASP_ASSIGN_OR_RETURN(item.question, record.text("text"));
        item.prompt = item.question;
        CLASP_ASSIGN_OR_RETURN(item.category, record.text("category"));
        dataset.items.push_back(std::move(item));
        return ok_status();
    }));
    CLASP_RETURN_IF_ERROR(check_unique_ids(dataset).with_context(path));
    CLASP_RETURN_IF_ERROR(read_extras(folder, dataset));
    return dataset;
}

struct Rule {
    std::string role = "Answer";
    std::string prompt{kOwnRule};
};

Result<Rule> read_rule(const std::string& folder, const std::string& category) {
    const std::string path = in_folder(folder, kRuleFile);
    if (!is_file(path)) return Rule();
    CLASP_ASSIGN_OR_RETURN(const JsonDocument document, read_document(path));
    CLASP_ASSIGN_OR_RETURN(const Record record, document.root().object("llava_bench_" + category));
    Rule rule;
    CLASP_ASSIGN_OR_RETURN(rule.role, record.text("role"));
    CLASP_ASSIGN_OR_RETURN(rule.prompt, record.text("prompt"));
    return rule;
}

Result<JudgeRequest> request(const Item& item, std::string_view answer, const std::string& folder,
                             std::size_t /*attempt*/) {
    if (item.answers.empty() || extra(item, "caption").empty()) {
        return Status(Code::NotFound,
                      "question " + item.id +
                          " has no reference answer or no caption: the judge needs answers_gpt4.jsonl "
                          "and context.jsonl in the data folder");
    }
    CLASP_ASSIGN_OR_RETURN(const Rule rule, read_rule(folder, item.category));
    const auto section = [&](const std::string& number, std::string_view text) {
        const std::string name = rule.role + " " + number;
        return "[" + name + "]\n" + std::string(text) + "\n\n[End of " + name + "]\n\n";
    };
    JudgeRequest request;
    request.messages.push_back({"user", "[Context]\n" + extra(item, "caption") + "\n\n[Question]\n" +
                                            item.question + "\n\n" + section("1", item.answers.front()) +
                                            section("2", answer) + "[System]\n" + rule.prompt + "\n\n"});
    request.temperature = 0.2;
    request.max_tokens = 1024;
    return request;
}

// Review files: the grades stand in "tuple"; "content" is the whole reply.
Result<Judgements> parse_official(std::string_view text) {
    Judgements judgements;
    CLASP_RETURN_IF_ERROR(each_json_line(text, [&](const Record& record) -> Status {
        CLASP_ASSIGN_OR_RETURN(const std::string id, record.id("question_id"));
        std::string reply;
        if (record.has("tuple")) {
            CLASP_ASSIGN_OR_RETURN(const std::vector<double> grades, record.numbers("tuple"));
            if (grades.size() != 2) return record.error("\"tuple\" does not have two numbers");
            reply = base::format_exact(grades[0]) + " " + base::format_exact(grades[1]);
        } else {
            CLASP_ASSIGN_OR_RETURN(reply, record.text("content"));
        }
        judgements.replies[id].push_back(std::move(reply));
        return ok_status();
    }));
    return judgements;
}

struct Sums {
    double first = 0.0;
    double second = 0.0;
    std::size_t n = 0;
};

double relative_score(const Sums& sums) {
    return sums.first == 0.0 ? 0.0 : 100.0 * sums.second / sums.first;
}

Result<Scores> score(const Dataset& dataset, const Answers& /*answers*/, const Judgements* judgements) {
    if (judgements == nullptr) {
        return Status(Code::Unsupported,
                      "LLaVA-Bench is graded by a language model: give recorded judgements or an "
                      "endpoint that judges");
    }
    const std::size_t n_runs = judgements->n_runs();
    std::map<std::string, std::vector<double>> figures;  // category -> one per run
    std::map<std::string, std::size_t> counts;
    std::size_t n_unjudged = 0;
    std::size_t n_unreadable = 0;
    Scores scores;
    scores.item_scores.assign(dataset.items.size(), 0.0);
    for (std::size_t run = 0; run < n_runs; ++run) {
        std::map<std::string, Sums> sums;
        for (std::size_t i = 0; i < dataset.items.size(); ++i) {
            const Item& item = dataset.items[i];
            const std::string_view reply = judgements->reply(item.id, run);
            if (reply.empty()) {
                ++n_unjudged;
                continue;
            }
            const auto parsed = parse_grades(reply);
            n_unreadable += parsed ? 0U : 1U;
            const Grades grades =
                parsed.value_or(Grades{-1.0, -1.0});  // kept in the mean, as the official tool does
            for (const std::string& name : {std::string("all"), item.category}) {
                sums[name].first += grades[0];
                sums[name].second += grades[1];
                ++sums[name].n;
            }
            scores.item_scores[i] += std::clamp(grades[1] / 10.0, 0.0, 1.0) / static_cast<double>(n_runs);
        }
        for (const auto& [name, sum] : sums) {
            figures[name].push_back(relative_score(sum));
            counts[name] = sum.n;
        }
    }
    if (figures.empty())
        return Status(Code::InvalidArgument, "no judgement belongs to a question of the data");
    for (const auto& [name, runs] : figures) {
        scores.metrics.push_back(mean_metric(name, runs, 1.0, 1));
        scores.metrics.back().n = counts[name];
    }
    scores.headline = mean_metric("all", figures["all"], 1.0, 1);
    scores.headline.n = counts["all"];
    for (std::size_t run = 0; n_runs > 1 && run < n_runs; ++run) {
        scores.metrics.push_back(
            {"run" + std::to_string(run + 1) + ".all", figures["all"][run], 1, counts["all"]});
    }
    scores.metrics.push_back({"unjudged", static_cast<double>(n_unjudged), 0, 0});
    scores.metrics.push_back({"unreadable", static_cast<double>(n_unreadable), 0, 0});
    return scores;
}

bool is_readable(std::string_view reply) {
    return parse_grades(reply).has_value();
}

constexpr JudgeProtocol kProtocol = {.model = "gpt-4-0314",
                                     .wording_file = kRuleFile,
                                     .request = request,
                                     .is_readable = is_readable,
                                     .max_attempts = 1,
                                     .parse_official = parse_official};

}  // namespace

Benchmark llava_bench_benchmark() {
    return {.name = "llava-bench",
            .title = "LLaVA-Bench (in the wild)",
            .headline = "grade in percent of the reference answer's",
            .max_new_tokens = 1024,
            .is_mean = false,
            .needs_judge = true,
            .load = load,
            .match = match_by_id,
            .score = score,
            .judge = &kProtocol};
}

}  // namespace clasp::eval
