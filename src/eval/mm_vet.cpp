// MM-Vet: open answers, graded from 0 to 1 by a judge that sees question, truth and prediction.
#include <cmath>
#include <map>

#include "base/text.h"
#include "eval/data_folder.h"
#include "eval/record.h"
#include "eval/scoring.h"
#include "eval/sets.h"

namespace clasp::eval {

namespace {

constexpr std::string_view kWordingFile = "judge_prompt.txt";

// Used when the official prompt is not in the data folder.
constexpr std::string_view kOwnWording =
    "How right is a predicted answer? Compare it with the truth. Parts of the truth joined by <AND> must all "
    "be there, "
    "of parts joined by <OR> one is enough. The grade is a number between 0.0 (wrong) and 1.0 (right) in "
    "steps of 0.1. "
    "Complete the last row with the grade and nothing else.\n\n"
    "Question | Truth | Prediction | Grade\n"
    "--- | --- | --- | ---\n"
    "Which two colours has the flag? | red <AND> white | It is red. | 0.5\n"
    "Which two colours has the flag? | red <AND> white | Red and white. | 1.0\n"
    "How many birds are there? | 4 <OR> four | There are three birds. | 0.0\n";

Result<Dataset> load(const std::string& folder, const LoadOptions& /*options*/) {
    Dataset dataset;
    dataset.benchmark = "mm-vet";
    CLASP_ASSIGN_OR_RETURN(const std::string path, find_file(folder, {"mm-vet.json", "mm-vet/mm-vet.json"}));
    dataset.files.push_back(path);
    const std::string images = find_image_folder(folder, {"images", "mm-vet/images"});
    CLASP_ASSIGN_OR_RETURN(const JsonDocument document, read_document(path));
    CLASP_ASSIGN_OR_RETURN(const auto entries, document.root().entries());
    for (const auto& [id, record] : entries) {
        Item item;
        item.id = id;
        CLASP_ASSIGN_OR_RETURN(item.group, record.text("imagename"));
        item.image = in_folder(images, item.group);
        CLASP_ASSIGN_OR_RETURN(item.question, record.text("question"));
        item.prompt = item.question;
        CLASP_ASSIGN_OR_RETURN(std::string answer, record.text("answer"));
        item.answers.push_back(std::move(answer));
        CLASP_ASSIGN_OR_RETURN(std::vector<std::string> capabilities, record.texts("capability"));
        std::sort(capabilities.begin(), capabilities.end());
        for (const std::string& capability : capabilities) {
            item.category += (item.category.empty() ? "" : "_") + capability;
        }
        dataset.items.push_back(std::move(item));
    }
    return dataset;
}

// LLaVA's answers count the questions; the files call question 7 "v1_7".
Result<Answers> match(const Dataset& dataset, std::span<const Prediction> predictions) {
    std::vector<Prediction> renamed(predictions.begin(), predictions.end());
    for (Prediction& prediction : renamed) {
        if (base::parse_size(prediction.id)) prediction.id = "v1_" + prediction.id;
    }
    return match_by_id(dataset, renamed);
}

// The first word as a grade between 0 and 1.
std::optional<double> parse_grade(std::string_view reply) {
    const auto grade = base::parse_double(strip(reply.substr(0, reply.find(' '))));
    if (!grade || *grade < 0.0 || *grade > 1.0) return std::nullopt;
    return grade;
}

Result<JudgeRequest> request(const Item& item, std::string_view answer, const std::string& folder,
                             std::size_t attempt) {
    CLASP_ASSIGN_OR_RETURN(const auto official, read_wording(folder, kWordingFile));
    const std::string truth =
        replace_all(replace_all(item.answers.front(), "<AND>", " <AND> "), "<OR>", " <OR> ");
    JudgeRequest request;
    request.messages.push_back({"user", official.value_or(std::string(kOwnWording)) + "\n" + item.question +
                                            " | " + truth + " | " + std::string(answer) + " | "});
    request.temperature = attempt < 2 ? 0.0 : 0.5 * static_cast<double>(attempt - 1);
    request.max_tokens = 3;
    return request;
}

// {"v1_0": {"model": [...], "content": [...], "score": [...]}, ...}
Result<Judgements> parse_official(std::string_view text) {
    Judgements judgements;
    CLASP_ASSIGN_OR_RETURN(const JsonDocument document, parse_document(text, "the grades"));
    CLASP_ASSIGN_OR_RETURN(const auto entries, document.root().entries());
    for (const auto& [id, record] : entries) {
        CLASP_ASSIGN_OR_RETURN(const std::vector<double> grades, record.numbers("score"));
        for (const double grade : grades) judgements.replies[id].push_back(base::format_exact(grade));
    }
    return judgements;
}

using Means = std::map<std::string, std::vector<double>>;  // name -> one per run

// Mean grade x 100 per capability, per combination of them and over all, run by run.
Means grade_runs(const Dataset& dataset, const Judgements& judgements,
                 std::map<std::string, std::size_t>& counts, std::vector<double>& item_scores,
                 std::size_t& n_unjudged) {
    const std::size_t n_runs = judgements.n_runs();
    std::map<std::string, std::vector<double>> sums;
    for (std::size_t i = 0; i < dataset.items.size(); ++i) {
        const Item& item = dataset.items[i];
        std::vector<std::string> names = {"total", "combination." + item.category};
        for (const std::string_view capability : base::split(item.category, '_')) {
            names.push_back("capability." + std::string(capability));
        }
        for (const std::string& name : names) {
            sums[name].resize(n_runs);
            ++counts[name];
        }
        for (std::size_t run = 0; run < n_runs; ++run) {
            const std::string_view reply = judgements.reply(item.id, run);
            n_unjudged += reply.empty() ? 1U : 0U;
            const double grade = parse_grade(reply).value_or(0.0);
            item_scores[i] += grade / static_cast<double>(n_runs);
            for (const std::string& name : names) sums[name][run] += grade;
        }
    }
    for (auto& [name, runs] : sums) {
        for (double& sum : runs) sum *= 100.0 / static_cast<double>(counts[name]);
    }
    return sums;
}

Result<Scores> score(const Dataset& dataset, const Answers& /*answers*/, const Judgements* judgements) {
    if (judgements == nullptr) {
        return Status(
            Code::Unsupported,
            "MM-Vet is graded by a language model: give recorded judgements or an endpoint that judges");
    }
    if (judgements->n_runs() == 0) return Status(Code::InvalidArgument, "there is no judgement");
    Scores scores;
    scores.item_scores.assign(dataset.items.size(), 0.0);
    std::map<std::string, std::size_t> counts;
    std::size_t n_unjudged = 0;
    const Means means = grade_runs(dataset, *judgements, counts, scores.item_scores, n_unjudged);
    for (const auto& [name, runs] : means) {
        Metric metric = mean_metric(name, runs, 1.0, 1);
        metric.n = counts[name];
        if (name == "total") {
            scores.headline = metric;
            scores.metrics.insert(scores.metrics.begin(), metric);
        } else {
            scores.metrics.push_back(metric);
        }
    }
    const auto total = means.find("total");
    if (total != means.end()) {
        double squares = 0.0;
        for (const double run : total->second) squares += std::pow(run - scores.headline.value, 2.0);
        const double deviation = std::sqrt(squares / static_cast<double>(total->second.size()));
        scores.metrics.push_back({"standard_deviation", deviation, 1, total->second.size()});
        for (std::size_t run = 0; run < total->second.size(); ++run) {
            scores.metrics.push_back(
                {"run" + std::to_string(run + 1) + ".total", total->second[run], 1, counts["total"]});
        }
    }
    scores.metrics.push_back({"unjudged", static_cast<double>(n_unjudged), 0, 0});
    return scores;
}

bool is_readable(std::string_view reply) {
    return parse_grade(reply).has_value();
}

constexpr JudgeProtocol kProtocol = {.model = "gpt-4-0613",
                                     .wording_file = kWordingFile,
                                     .request = request,
                                     .is_readable = is_readable,
                                     .max_attempts = 6,  // the first and five more, each hotter
                                     .parse_official = parse_official};

}  // namespace

Benchmark mm_vet_benchmark() {
    return {.name = "mm-vet",
            .title = "MM-Vet",
            .headline = "mean grade in percent",
            .max_new_tokens = 1024,
            .needs_judge = true,
            .load = load,
            .match = match,
            .score = score,
            .judge = &kProtocol};
}

}  // namespace clasp::eval
