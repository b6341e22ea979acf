// POPE: is the object in the picture? Three settings that differ in how the absent objects were drawn.
#include <array>
#include <map>

#include "base/text.h"
#include "eval/data_folder.h"
#include "eval/record.h"
#include "eval/scoring.h"
#include "eval/sets.h"

namespace clasp::eval {

namespace {

struct Setting {
    std::string_view name;
    std::uint64_t first_id;  // LLaVA's numbering; used when its question file is not there
};

constexpr std::array<Setting, 3> kSettings = {
    {{"random", 10000001}, {"popular", 20000001}, {"adversarial", 1}}};

// The label files are JSON Lines in spite of their name; those for A-OKVQA and GQA pictures are lists.
Status each_label(const std::string& path, const std::function<Status(const Record&)>& take) {
    CLASP_ASSIGN_OR_RETURN(const std::string text, read_data_file(path));
    if (!strip(text).starts_with("[")) return each_json_line(text, take).with_context(path);
    CLASP_ASSIGN_OR_RETURN(const JsonDocument document, parse_document(text, path));
    CLASP_ASSIGN_OR_RETURN(const std::vector<Record> records, document.root().objects());
    for (const Record& record : records) CLASP_RETURN_IF_ERROR(take(record));
    return ok_status();
}

Result<std::string> find_labels(const std::string& folder, std::string_view setting) {
    const std::string name(setting);
    return find_file(folder, {"coco_pope_" + name + ".json", "coco/coco_pope_" + name + ".json",
                              "aokvqa_pope_seem_" + name + ".json", "gqa_pope_seem_" + name + ".json"});
}

// The ids that LLaVA's question file gives to the lines of each setting, in order.
Result<std::map<std::string, std::vector<std::string>>> read_llava_ids(const std::string& path) {
    std::map<std::string, std::vector<std::string>> ids;
    CLASP_RETURN_IF_ERROR(each_file_line(path, [&](const Record& record) -> Status {
        CLASP_ASSIGN_OR_RETURN(const std::string setting, record.text("category"));
        CLASP_ASSIGN_OR_RETURN(std::string id, record.id("question_id"));
        ids[setting].push_back(std::move(id));
        return ok_status();
    }));
    return ids;
}

Result<Item> as_item(const Record& record, std::string_view setting, const std::string& images) {
    Item item;
    CLASP_ASSIGN_OR_RETURN(const std::string image, record.text("image"));
    item.image = in_folder(images, image);
    item.group = image;
    CLASP_ASSIGN_OR_RETURN(item.question, record.text("text"));
    item.prompt = item.question + "\n" + std::string(kShortAnswerLine);
    CLASP_ASSIGN_OR_RETURN(std::string label, record.text("label"));
    if (label != "yes" && label != "no") return record.error("\"label\" is neither yes nor no");
    item.answers.push_back(std::move(label));
    item.category = setting;
    return item;
}

Status other_release(const std::string& labels, std::size_t n_labels, const std::string& questions,
                     std::size_t n_questions) {
    return {Code::Corrupt, labels + " has " + std::to_string(n_labels) + " labels, but " + questions +
                               " has " + std::to_string(n_questions) +
                               " questions of that setting: they belong to different releases"};
}

Result<Dataset> load(const std::string& folder, const LoadOptions& /*options*/) {
    Dataset dataset;
    dataset.benchmark = "pope";
    const std::string images = find_image_folder(folder, {"val2014", "images"});
    std::map<std::string, std::vector<std::string>> llava_ids;
    const std::string question_file = in_folder(folder, "llava_pope_test.jsonl");
    if (is_file(question_file)) {
        CLASP_ASSIGN_OR_RETURN(llava_ids, read_llava_ids(question_file));
        dataset.files.push_back(question_file);
    }
    for (const Setting& setting : kSettings) {
        CLASP_ASSIGN_OR_RETURN(const std::string path, find_labels(folder, setting.name));
        dataset.files.push_back(path);
        const std::vector<std::string>& ids = llava_ids[std::string(setting.name)];
        std::size_t n = 0;
        CLASP_RETURN_IF_ERROR(each_label(path, [&](const Record& record) -> Status {
            CLASP_ASSIGN_OR_RETURN(Item item, as_item(record, setting.name, images));
            item.id = n < ids.size() ? ids[n] : std::to_string(setting.first_id + n);
            ++n;
            dataset.items.push_back(std::move(item));
            return ok_status();
        }));
        if (!ids.empty() && ids.size() != n) {
            return other_release(path, n, question_file, ids.size());
        }
    }
    CLASP_RETURN_IF_ERROR(check_unique_ids(dataset));
    return dataset;
}

// Before the first full stop, without commas: a "no" or "not" as a word is no, everything else is yes.
bool says_yes(std::string_view answer) {
    std::string text(answer.substr(0, answer.find('.')));
    std::erase(text, ',');
    for (const std::string_view word : base::split(text, ' ')) {
        if (word == "No" || word == "no" || word == "not") return false;
    }
    return true;
}

struct Confusion {
    std::size_t true_yes = 0;
    std::size_t false_yes = 0;
    std::size_t true_no = 0;
    std::size_t false_no = 0;

    void add(bool label_is_yes, bool answer_is_yes) {
        if (answer_is_yes) {
            ++(label_is_yes ? true_yes : false_yes);
        } else {
            ++(label_is_yes ? false_no : true_no);
        }
    }
    [[nodiscard]] std::size_t total() const { return true_yes + false_yes + true_no + false_no; }
};

double ratio(double part, double whole) {
    return whole > 0.0 ? part / whole : 0.0;
}

double add_figures(std::vector<Metric>& metrics, const std::string& setting, const Confusion& counts) {
    const auto as_double = [](std::size_t n) { return static_cast<double>(n); };
    const double n = as_double(counts.total());
    const double precision = ratio(as_double(counts.true_yes), as_double(counts.true_yes + counts.false_yes));
    const double recall = ratio(as_double(counts.true_yes), as_double(counts.true_yes + counts.false_no));
    const double f1 = ratio(2.0 * precision * recall, precision + recall);
    const auto add = [&](const char* name, double value, int digits) {
        metrics.push_back({setting + "." + name, value, digits, counts.total()});
    };
    add("accuracy", ratio(as_double(counts.true_yes + counts.true_no), n), 4);
    add("precision", precision, 4);
    add("recall", recall, 4);
    add("f1", f1, 4);
    add("yes_ratio", ratio(as_double(counts.true_yes + counts.false_yes), n), 4);
    add("tp", as_double(counts.true_yes), 0);
    add("fp", as_double(counts.false_yes), 0);
    add("tn", as_double(counts.true_no), 0);
    add("fn", as_double(counts.false_no), 0);
    return f1;
}

Result<Scores> score(const Dataset& dataset, const Answers& answers, const Judgements* /*judgements*/) {
    Scores scores;
    scores.item_scores.resize(dataset.items.size());
    std::map<std::string, Confusion> settings;
    for (std::size_t i = 0; i < dataset.items.size(); ++i) {
        const Item& item = dataset.items[i];
        const bool label = item.answers.front() == "yes";
        // No answer is neither yes nor no: it counts as the wrong one.
        const bool answer = answers.texts[i] ? says_yes(*answers.texts[i]) : !label;
        settings[item.category].add(label, answer);
        scores.item_scores[i] = label == answer ? 1.0 : 0.0;
    }
    double sum = 0.0;
    std::size_t n_settings = 0;
    std::vector<Metric> figures;
    for (const Setting& setting : kSettings) {
        const auto counts = settings.find(std::string(setting.name));
        if (counts == settings.end()) continue;
        sum += add_figures(figures, counts->first, counts->second);
        ++n_settings;
    }
    scores.headline = {"f1", ratio(sum, static_cast<double>(n_settings)), 4, 0};
    scores.metrics.push_back(scores.headline);
    scores.metrics.push_back(mean_metric("accuracy", scores.item_scores, 1.0, 4));
    scores.metrics.insert(scores.metrics.end(), figures.begin(), figures.end());
    return scores;
}

}  // namespace

Benchmark pope_benchmark() {
    return {.name = "pope",
            .title = "POPE",
            .headline = "mean F1 of the settings",
            .scale = 1.0,
            .is_mean = false,
            .load = load,
            .match = match_by_id,
            .score = score};
}

}  // namespace clasp::eval
