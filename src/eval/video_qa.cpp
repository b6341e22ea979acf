// TGIF-QA, MSVD-QA and MSRVTT-QA as Video-ChatGPT asks them: open answers, and a judge that says whether the
// meaning is right (yes or no) and how well (0 to 5).
#include <array>
#include <filesystem>
#include <map>

#include "base/text.h"
#include "eval/data_folder.h"
#include "eval/record.h"
#include "eval/scoring.h"
#include "eval/sets.h"
#include "eval/table.h"

namespace clasp::eval {

namespace {

constexpr std::string_view kWordingFile = "judge_prompt.txt";

// Used when the data folder has no wording of its own.
constexpr std::string_view kOwnWording =
    "A question about a video has one correct answer. Does the predicted answer mean the same? Synonyms and "
    "other "
    "wordings count.\n\nQuestion: {question}\nCorrect answer: {answer}\nPredicted answer: {pred}\n\n"
    "Reply with one dictionary and nothing else: 'pred' is 'yes' or 'no', 'score' a whole number from 0 to "
    "5, 5 for "
    "the same meaning. Example: {'pred': 'yes', 'score': 4}";

struct VideoSet {
    std::string_view name;
    std::string_view title;
    std::string_view zero_shot_folder;
    std::string_view videos;
};

constexpr VideoSet kTgif = {"tgif-qa", "TGIF-QA", "TGIF_Zero_Shot_QA", "mp4"};
constexpr VideoSet kMsvd = {"msvd-qa", "MSVD-QA", "MSVD_Zero_Shot_QA", "videos"};
constexpr VideoSet kMsrvtt = {"msrvtt-qa", "MSRVTT-QA", "MSRVTT_Zero_Shot_QA", "videos/all"};

std::string find_video(const std::string& folder, const std::string& name) {
    // The first four as the official scripts look for them; TGIF's own files are animated pictures.
    for (const char* extension : {".mp4", ".avi", ".mov", ".mkv", ".webm", ".gif"}) {
        std::string path = in_folder(folder, name + extension);
        if (is_file(path)) return path;
    }
    return in_folder(folder, name + ".mp4");
}

void add_item(Dataset& dataset, std::string id, const std::string& video, std::string question,
              std::string answer, const std::string& videos) {
    Item item;
    item.id = std::move(id);
    item.group = video;
    item.image = find_video(videos, video);
    item.question = std::move(question);
    item.prompt = item.question;
    item.answers.push_back(std::move(answer));
    dataset.items.push_back(std::move(item));
}

// test_q.json and test_a.json, paired by position.
Status read_pairs(const std::string& folder, const std::string& videos, Dataset& dataset) {
    const std::string question_file = in_folder(folder, "test_q.json");
    const std::string answer_file = in_folder(folder, "test_a.json");
    CLASP_ASSIGN_OR_RETURN(const JsonDocument question_document, read_document(question_file));
    CLASP_ASSIGN_OR_RETURN(const JsonDocument answer_document, read_document(answer_file));
    CLASP_ASSIGN_OR_RETURN(const std::vector<Record> questions, question_document.root().objects());
    CLASP_ASSIGN_OR_RETURN(const std::vector<Record> answers, answer_document.root().objects());
    if (questions.size() != answers.size()) {
        return {Code::Corrupt, question_file + " has " + std::to_string(questions.size()) + " entries, " +
                                   answer_file + " has " + std::to_string(answers.size())};
    }
    dataset.files = {question_file, answer_file};
    for (std::size_t i = 0; i < questions.size(); ++i) {
        CLASP_ASSIGN_OR_RETURN(std::string id, questions[i].id("question_id"));
        CLASP_ASSIGN_OR_RETURN(const std::string video, questions[i].id("video_name"));
        CLASP_ASSIGN_OR_RETURN(std::string question, questions[i].text("question"));
        CLASP_ASSIGN_OR_RETURN(std::string answer, answers[i].id("answer"));
        add_item(dataset, std::move(id), video, std::move(question), std::move(answer), videos);
    }
    return ok_status();
}

// test_qa.json of MSVD-QA and MSRVTT-QA.
Status read_original(const std::string& path, const std::string& videos, Dataset& dataset) {
    CLASP_ASSIGN_OR_RETURN(const JsonDocument document, read_document(path));
    CLASP_ASSIGN_OR_RETURN(const std::vector<Record> records, document.root().objects());
    dataset.files.push_back(path);
    for (const Record& record : records) {
        CLASP_ASSIGN_OR_RETURN(std::string id, record.id("id"));
        CLASP_ASSIGN_OR_RETURN(const std::string video, record.id("video_id"));
        CLASP_ASSIGN_OR_RETURN(std::string question, record.text("question"));
        CLASP_ASSIGN_OR_RETURN(std::string answer, record.id("answer"));
        add_item(dataset, std::move(id), "video" + video, std::move(question), std::move(answer), videos);
    }
    return ok_status();
}

// Test_frameqa_question.csv of TGIF-QA, which is tab-separated in spite of its name.
Status read_frame_questions(const std::string& path, const std::string& videos, Dataset& dataset) {
    constexpr std::array<std::string_view, 4> kTypes = {"object", "number", "color", "location"};
    CLASP_ASSIGN_OR_RETURN(const std::string text, read_data_file(path));
    auto table = TableReader::open(text, '\t');
    if (!table) return table.status().with_context(path);
    dataset.files.push_back(path);
    std::map<std::string_view, std::size_t> columns;
    for (const char* name : {"gif_name", "question", "answer", "type", "key"}) {
        const auto column = table->column(name);
        if (!column) return {Code::Corrupt, path + ": the header has no column \"" + name + "\""};
        columns[name] = *column;
    }
    while (true) {
        auto next = table->next();
        if (!next) return next.status().with_context(path);
        if (!*next) return ok_status();
        const std::vector<Cell>& row = **next;
        const auto type = base::parse_size(row[columns["type"]].raw);
        if (!type || *type >= kTypes.size()) {
            return {Code::Corrupt,
                    path + ": line " + std::to_string(table->line()) + ": the type is not 0, 1, 2 or 3"};
        }
        add_item(dataset, row[columns["key"]].text(), row[columns["gif_name"]].text(),
                 row[columns["question"]].text(), row[columns["answer"]].text(), videos);
        dataset.items.back().category = kTypes[*type];
    }
}

// Repeated ids get a number, so that answers can be told apart by their order.
void number_repeated_ids(Dataset& dataset) {
    std::map<std::string, std::size_t> seen;
    std::size_t n_repeated = 0;
    for (Item& item : dataset.items) {
        const std::size_t n = ++seen[item.id];
        if (n == 1) continue;
        item.id += "#" + std::to_string(n);
        ++n_repeated;
    }
    if (n_repeated > 0) {
        dataset.warnings.push_back(std::to_string(n_repeated) +
                                   " questions repeat an id; their answers are told apart by their order");
    }
}

Result<Dataset> load_set(const VideoSet& set, const std::string& folder) {
    Dataset dataset;
    dataset.benchmark = set.name;
    dataset.split = "test";
    const std::string name(set.zero_shot_folder);
    const std::string root = find_image_folder(folder, {"GPT_Zero_Shot_QA/" + name, name, ""});
    const std::string videos = find_image_folder(root, {std::string(set.videos), "gifs"});
    const std::string original = in_folder(folder, "test_qa.json");
    const std::string frames = in_folder(folder, "Test_frameqa_question.csv");
    if (is_file(in_folder(root, "test_q.json"))) {
        CLASP_RETURN_IF_ERROR(read_pairs(root, videos, dataset));
    } else if (is_file(original)) {
        CLASP_RETURN_IF_ERROR(read_original(original, videos, dataset));
    } else if (is_file(frames)) {
        CLASP_RETURN_IF_ERROR(read_frame_questions(frames, videos, dataset));
    } else {
        return find_file(folder, {"test_q.json", "test_qa.json", "Test_frameqa_question.csv"}).status();
    }
    number_repeated_ids(dataset);
    return dataset;
}

Result<Answers> match(const Dataset& dataset, std::span<const Prediction> predictions) {
    std::map<std::string, bool> known;
    for (const Item& item : dataset.items) known[item.id] = true;
    std::map<std::string, std::size_t> seen;
    std::vector<Prediction> renamed(predictions.begin(), predictions.end());
    for (Prediction& prediction : renamed) {
        const std::size_t n = ++seen[prediction.id];
        const std::string numbered = prediction.id + "#" + std::to_string(n);
        if (n > 1 && known.contains(numbered)) prediction.id = numbered;
    }
    return match_by_id(dataset, renamed);
}

struct Verdict {
    std::optional<bool> is_right;  // neither yes nor no: counts in neither
    int score = 0;
};

// A dictionary in Python's or JSON's quotes.
std::optional<Verdict> parse_verdict(std::string_view reply) {
    const auto document = parse_document(replace_all(strip(reply), "'", "\""), "reply");
    if (!document) return std::nullopt;
    const auto pred = document->root().text("pred");
    const auto score = document->root().number("score");
    if (!pred || !score || *score < 0.0 || *score > 5.0) return std::nullopt;
    Verdict verdict;
    const std::string lowered = lower_text(*pred);
    if (lowered.find("yes") != std::string::npos) {
        verdict.is_right = true;
    } else if (lowered.find("no") != std::string::npos) {
        verdict.is_right = false;
    }
    verdict.score = static_cast<int>(*score);
    return verdict;
}

Result<JudgeRequest> request(const Item& item, std::string_view answer, const std::string& folder,
                             std::size_t /*attempt*/) {
    CLASP_ASSIGN_OR_RETURN(const auto official, read_wording(folder, kWordingFile));
    JudgeRequest request;
    request.messages.push_back(
        {"user", fill_in(official.value_or(std::string(kOwnWording)), {{"question", item.question},
                                                                       {"answer", item.answers.front()},
                                                                       {"pred", std::string(answer)}})});
    return request;
}

// {"id": [{"pred": "yes", "score": 4}, {...}], ...}
Result<Judgements> parse_official(std::string_view text) {
    Judgements judgements;
    CLASP_ASSIGN_OR_RETURN(const JsonDocument document, parse_document(text, "the verdicts"));
    CLASP_ASSIGN_OR_RETURN(const auto entries, document.root().entries());
    for (const auto& [id, record] : entries) {
        CLASP_ASSIGN_OR_RETURN(const std::vector<Record> parts, record.elements());
        if (parts.empty()) return record.error("has no verdict");
        CLASP_ASSIGN_OR_RETURN(const std::string pred, parts[0].text("pred"));
        CLASP_ASSIGN_OR_RETURN(const double score, parts[0].number("score"));
        judgements.replies[id].push_back("{\"pred\": \"" + replace_all(pred, "\"", "") +
                                         "\", \"score\": " + base::format_exact(score) + "}");
    }
    return judgements;
}

// Without a judge only equality of words can be told.
Scores exact_match(const Dataset& dataset, const Answers& answers) {
    Scores scores;
    scores.item_scores = grade(dataset, answers, [](const Item& item, const std::string& answer) {
        return lower_text(strip(answer)) == lower_text(strip(item.answers.front())) ? 1.0 : 0.0;
    });
    scores.headline = mean_metric("exact_match", scores.item_scores, 100.0, 2);
    scores.metrics.push_back(scores.headline);
    return scores;
}

Result<Scores> score(const Dataset& dataset, const Answers& answers, const Judgements* judgements) {
    Scores exact = exact_match(dataset, answers);
    if (judgements == nullptr) return exact;
    Scores scores;
    scores.item_scores.assign(dataset.items.size(), 0.0);
    double sum = 0.0;
    std::size_t n_replies = 0;
    std::size_t n_yes = 0;
    std::size_t n_no = 0;
    std::size_t n_unjudged = 0;
    for (std::size_t i = 0; i < dataset.items.size(); ++i) {
        const std::string_view reply = judgements->reply(dataset.items[i].id, 0);
        if (reply.empty()) {
            ++n_unjudged;
            continue;
        }
        ++n_replies;
        const auto verdict = parse_verdict(reply);
        if (!verdict) continue;
        sum += verdict->score;
        if (!verdict->is_right) continue;
        ++(*verdict->is_right ? n_yes : n_no);
        scores.item_scores[i] = *verdict->is_right ? 1.0 : 0.0;
    }
    if (n_yes + n_no == 0) return Status(Code::InvalidArgument, "no judgement says yes or no");
    const double accuracy = 100.0 * static_cast<double>(n_yes) / static_cast<double>(n_yes + n_no);
    scores.headline = {"accuracy", accuracy, 2, n_yes + n_no};
    scores.metrics = {scores.headline,
                      {"mean_score", sum / static_cast<double>(n_replies), 2, n_replies},
                      {"yes", static_cast<double>(n_yes), 0, 0},
                      {"no", static_cast<double>(n_no), 0, 0},
                      {"unjudged", static_cast<double>(n_unjudged), 0, 0},
                      exact.headline};
    return scores;
}

bool is_readable(std::string_view reply) {
    return parse_verdict(reply).has_value();
}

constexpr JudgeProtocol kProtocol = {.model = "gpt-3.5-turbo",
                                     .wording_file = kWordingFile,
                                     .request = request,
                                     .is_readable = is_readable,
                                     .max_attempts = 5,
                                     .parse_official = parse_official};

template <const VideoSet& kSet>
Result<Dataset> load(const std::string& folder, const LoadOptions& /*options*/) {
    return load_set(kSet, folder);
}

template <const VideoSet& kSet>
Benchmark video_benchmark() {
    return {.name = kSet.name,
            .title = kSet.title,
            .headline = "answers that the judge calls right, in percent (exact match without a judge)",
            .max_new_tokens = 1024,
            .is_mean = false,
            .needs_judge = true,
            .is_video = true,
            .load = load<kSet>,
            .match = match,
            .score = score,
            .judge = &kProtocol};
}

}  // namespace

Benchmark tgif_qa_benchmark() {
    return video_benchmark<kTgif>();
}

Benchmark msvd_qa_benchmark() {
    return video_benchmark<kMsvd>();
}

Benchmark msrvtt_qa_benchmark() {
    return video_benchmark<kMsrvtt>();
}

}  // namespace clasp::eval
