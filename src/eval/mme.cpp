// MME: two yes-or-no questions per picture in 14 subtasks. A subtask's score is the share of right answers
// plus the share of pictures with both answers right, 200 at best.
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "base/text.h"
#include "base/utf8.h"
#include "eval/data_folder.h"
#include "eval/record.h"
#include "eval/scoring.h"
#include "eval/sets.h"

namespace clasp::eval {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPerception = 10;  // the first ten subtasks; the last four are Cognition
constexpr std::array<std::string_view, 14> kSubtasks = {"existence",
                                                        "count",
                                                        "position",
                                                        "color",
                                                        "posters",
                                                        "celebrity",
                                                        "scene",
                                                        "landmark",
                                                        "artwork",
                                                        "OCR",
                                                        "commonsense_reasoning",
                                                        "numerical_calculation",
                                                        "text_translation",
                                                        "code_reasoning"};
constexpr std::string_view kYesOrNo = "Please answer yes or no.";

// The question as both LLaVA's file and the official text have it.
std::string bare_question(std::string_view text) {
    return std::string(strip(replace_all(replace_all(text, kYesOrNo, ""), kShortAnswerLine, "")));
}

std::string find_picture(const std::string& folder, const std::string& stem) {
    for (const char* extension : {".jpg", ".png", ".jpeg"}) {
        if (is_file(in_folder(folder, stem + extension))) return stem + extension;
    }
    return stem + ".jpg";
}

struct Place {
    std::string folder;  // of the pictures
    std::string subtask;
    std::string prefix;  // "posters/images/"
};

Status read_questions(const std::string& path, const Place& place, Dataset& dataset) {
    CLASP_ASSIGN_OR_RETURN(const std::string text, read_data_file(path));
    const std::string stem = fs::path(path).stem().string();
    const std::string picture = find_picture(place.folder, stem);
    std::size_t n = 0;
    for (std::string_view line : base::split(text, '\n')) {
        line = strip(line);
        if (line.empty()) continue;
        const std::vector<std::string_view> fields = base::split(line, '\t');
        const std::string label = fields.size() == 2 ? base::lower(strip(fields[1])) : "";
        if (label != "yes" && label != "no") {
            return {Code::Corrupt, path + ": a line is not a question, a tab and Yes or No"};
        }
        Item item;
        item.group = place.prefix + picture;
        item.id = item.group + "#" + std::to_string(++n);
        item.image = in_folder(place.folder, picture);
        item.question = bare_question(fields[0]);
        item.prompt = item.question + "\n" + std::string(kShortAnswerLine);
        item.answers.push_back(label);
        item.category = place.subtask;
        item.extra["file"] = place.subtask + "/" + stem;
        dataset.items.push_back(std::move(item));
    }
    if (n != 2) return {Code::Corrupt, path + " has " + std::to_string(n) + " questions, not two"};
    return ok_status();
}

Result<Dataset> load(const std::string& folder, const LoadOptions& /*options*/) {
    Dataset dataset;
    dataset.benchmark = "mme";
    const std::string root = find_image_folder(folder, {"MME_Benchmark_release_version", "."});
    for (const std::string_view subtask : kSubtasks) {
        const std::string base = in_folder(root, subtask);
        if (!is_folder(base)) continue;
        const bool is_nested = is_folder(in_folder(base, "questions_answers_YN"));
        const std::string texts = is_nested ? in_folder(base, "questions_answers_YN") : base;
        const Place place{is_nested ? in_folder(base, "images") : base, std::string(subtask),
                          std::string(subtask) + (is_nested ? "/images/" : "/")};
        std::vector<std::string> files;
        std::error_code error;
        for (const auto& entry : fs::directory_iterator(texts, error)) {
            if (entry.path().extension() == ".txt") files.push_back(entry.path().string());
        }
        if (error)
            return Status(Code::Unavailable,
                          "cannot list " + base::path_in_quotes(texts) + ": " + error.message());
        std::sort(files.begin(), files.end());
        for (const std::string& path : files) CLASP_RETURN_IF_ERROR(read_questions(path, place, dataset));
        dataset.files.insert(dataset.files.end(), files.begin(), files.end());
    }
    if (dataset.items.empty()) {
        return Status(Code::NotFound, "the data folder " + base::path_in_quotes(folder) +
                                          " has no MME subtask (existence, count, ...) with questions");
    }
    CLASP_RETURN_IF_ERROR(check_unique_ids(dataset));
    return dataset;
}

// "posters/images/tt0048028.jpg" and "posters/tt0048028.png" -> "posters/tt0048028".
std::string file_key(std::string_view id) {
    const std::string_view subtask = id.substr(0, id.find('/'));
    const std::string_view file = id.substr(id.find_last_of('/') + 1);
    return std::string(subtask) + "/" + std::string(file.substr(0, file.find('.')));
}

// LLaVA's answers name the picture; which of its two questions is meant stands in the prompt.
Result<Answers> match(const Dataset& dataset, std::span<const Prediction> predictions) {
    std::map<std::pair<std::string, std::string>, std::string> ids;
    std::map<std::string, bool> known;
    for (const Item& item : dataset.items) {
        ids.emplace(std::pair(extra(item, "file"), item.question), item.id);
        known[item.id] = true;
    }
    std::vector<Prediction> renamed(predictions.begin(), predictions.end());
    for (Prediction& prediction : renamed) {
        if (known.contains(prediction.id)) continue;
        const auto found = ids.find({file_key(prediction.id), bare_question(prediction.prompt)});
        if (found != ids.end()) prediction.id = found->second;
    }
    return match_by_id(dataset, renamed);
}

// "yes", "no" or "other".
std::string_view parse_answer(std::string_view answer) {
    const std::string lowered = lower_text(answer);
    if (lowered == "yes" || lowered == "no") return lowered == "yes" ? "yes" : "no";
    std::size_t end = 0;
    for (int i = 0; i < 4 && end < lowered.size(); ++i) {
        if (!base::next_code_point(lowered, end)) ++end;
    }
    const std::string_view head = std::string_view(lowered).substr(0, end);
    if (head.find("yes") != std::string_view::npos) return "yes";
    if (head.find("no") != std::string_view::npos) return "no";
    return "other";
}

struct Tally {
    std::size_t n_questions = 0;
    std::size_t n_right = 0;
    std::map<std::string, bool> all_right;  // per picture
};

Result<Scores> score(const Dataset& dataset, const Answers& answers, const Judgements* /*judgements*/) {
    Scores scores;
    scores.item_scores = grade(dataset, answers, [](const Item& item, const std::string& answer) {
        return parse_answer(answer) == item.answers.front() ? 1.0 : 0.0;
    });
    std::map<std::string, Tally> tallies;
    for (std::size_t i = 0; i < dataset.items.size(); ++i) {
        Tally& tally = tallies[dataset.items[i].category];
        const bool is_right = scores.item_scores[i] > 0.0;
        ++tally.n_questions;
        tally.n_right += is_right ? 1U : 0U;
        const auto [picture, is_new] = tally.all_right.emplace(dataset.items[i].group, is_right);
        picture->second = picture->second && is_right;
    }
    double perception = 0.0;
    double cognition = 0.0;
    std::vector<Metric> figures;
    for (std::size_t i = 0; i < kSubtasks.size(); ++i) {
        const std::string name(kSubtasks[i]);
        const auto found = tallies.find(name);
        if (found == tallies.end()) continue;
        const Tally& tally = found->second;
        const auto n_whole = std::count_if(tally.all_right.begin(), tally.all_right.end(),
                                           [](const auto& picture) { return picture.second; });
        const double accuracy =
            100.0 * static_cast<double>(tally.n_right) / static_cast<double>(tally.n_questions);
        const double plus =
            100.0 * static_cast<double>(n_whole) / static_cast<double>(tally.all_right.size());
        (i < kPerception ? perception : cognition) += accuracy + plus;
        figures.push_back({name + ".score", accuracy + plus, 2, tally.n_questions});
        figures.push_back({name + ".accuracy", accuracy, 2, tally.n_questions});
        figures.push_back({name + ".accuracy_plus", plus, 2, tally.all_right.size()});
    }
    scores.headline = {"total", perception + cognition, 2, 0};
    scores.metrics = {scores.headline, {"perception", perception, 2, 0}, {"cognition", cognition, 2, 0}};
    scores.metrics.insert(scores.metrics.end(), figures.begin(), figures.end());
    return scores;
}

}  // namespace

Benchmark mme_benchmark() {
    return {.name = "mme",
            .title = "MME",
            .headline = "perception and cognition together, 2800 at best",
            .scale = 2800.0,
            .is_mean = false,
            .load = load,
            .match = match,
            .score = score};
}

}  // namespace clasp::eval
