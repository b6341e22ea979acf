// MMBench in English and Chinese: multiple choice, each question asked once per rotation of its options.
#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"
#include "eval/data_folder.h"
#include "eval/record.h"
#include "eval/scoring.h"
#include "eval/sets.h"
#include "eval/table.h"

namespace clasp::eval {

namespace {

constexpr std::uint64_t kRotation = 1000000;
constexpr std::string_view kChineseLine =
    "\xE8\xAF\xB7\xE7\x9B\xB4\xE6\x8E\xA5\xE5\x9B\x9E\xE7\xAD\x94\xE9\x80\x89\xE9\xA1\xB9\xE5\xAD\x97\xE6\xAF"
    "\x8D"
    "\xE3\x80\x82";
constexpr std::size_t kLongestIndex = 12;  // an image cell this short is the index of another row

// Empty cells, and what other tools write for them.
std::string cell_text(const Cell& cell) {
    std::string text = cell.text();
    const std::string lowered = base::lower(text);
    return lowered == "nan" || lowered == "none" ? std::string() : text;
}

struct Columns {
    std::size_t index = 0;
    std::size_t question = 0;
    std::array<std::optional<std::size_t>, 4> options;
    std::optional<std::size_t> hint;
    std::optional<std::size_t> answer;
    std::optional<std::size_t> category;
    std::optional<std::size_t> l2_category;
    std::optional<std::size_t> image;
    std::optional<std::size_t> split;
};

Result<Columns> find_columns(const TableReader& table) {
    Columns columns;
    for (const char* name : {"index", "question", "A", "B"}) {
        if (!table.column(name))
            return Status(Code::Corrupt, "the header has no column \"" + std::string(name) + "\"");
    }
    columns.index = *table.column("index");
    columns.question = *table.column("question");
    for (std::size_t i = 0; i < columns.options.size(); ++i)
        columns.options[i] = table.column(option_letter(i));
    columns.hint = table.column("hint");
    columns.answer = table.column("answer");
    columns.category = table.column("category");
    columns.l2_category =
        table.column("l2-category") ? table.column("l2-category") : table.column("L2-category");
    columns.image = table.column("image");
    columns.split = table.column("split");
    return columns;
}

std::string optional_text(const std::vector<Cell>& row, std::optional<std::size_t> column) {
    return column ? cell_text(row[*column]) : std::string();
}

Result<Item> as_item(const std::vector<Cell>& row, const Columns& columns, std::string_view last_line) {
    Item item;
    item.id = row[columns.index].text();
    const auto index = base::parse_size(item.id);
    if (!index)
        return Status(Code::Corrupt, "the index " + base::in_quotes(item.id) + " is not a whole number");
    item.group = std::to_string(*index % kRotation);
    item.question = row[columns.question].text();
    for (const auto& column : columns.options) {
        std::string option = optional_text(row, column);
        if (option.empty()) break;
        item.options.push_back(std::move(option));
    }
    const std::string hint = optional_text(row, columns.hint);
    item.prompt = option_prompt((hint.empty() ? "" : hint + "\n") + item.question, item.options, last_line);
    std::string answer = optional_text(row, columns.answer);
    if (!answer.empty()) {
        const bool is_option = answer.size() == 1 && answer[0] >= 'A' &&
                               static_cast<std::size_t>(answer[0] - 'A') < item.options.size();
        if (!is_option) {
            return Status(Code::Corrupt,
                          "the answer " + base::in_quotes(answer) + " is not the letter of an option");
        }
        item.answers.push_back(std::move(answer));
    }
    item.category = optional_text(row, columns.category);
    item.extra["l2"] = optional_text(row, columns.l2_category);
    item.extra["split"] = optional_text(row, columns.split);
    return item;
}

// Where each picture stands in the file. A rotated row may name the row that has it.
Status place_pictures(const std::string& path, const std::vector<Cell>& cells, Dataset& dataset) {
    std::map<std::string, std::size_t> rows;
    for (std::size_t i = 0; i < dataset.items.size(); ++i) rows.emplace(dataset.items[i].id, i);
    for (std::size_t i = 0; i < cells.size(); ++i) {
        Cell cell = cells[i];
        if (cell.raw.size() <= kLongestIndex && base::parse_size(cell.raw)) {
            const auto other = rows.find(std::string(cell.raw));
            if (other == rows.end()) {
                return {Code::Corrupt, path + ": row " + dataset.items[i].id +
                                           " takes its picture from row " + std::string(cell.raw) +
                                           ", which is not there"};
            }
            cell = cells[other->second];
        }
        dataset.items[i].embedded = {path, cell.offset, cell.raw.size()};
    }
    return ok_status();
}

Result<Dataset> load_table(std::string name, const std::string& folder, const std::vector<std::string>& files,
                           std::string_view last_line) {
    Dataset dataset;
    dataset.benchmark = std::move(name);
    CLASP_ASSIGN_OR_RETURN(const std::string path, find_file(folder, files));
    dataset.files.push_back(path);
    const std::size_t slash = path.find_last_of('/') + 1;
    dataset.split = path.substr(slash, path.size() - slash - std::string_view(".tsv").size());
    CLASP_ASSIGN_OR_RETURN(const std::string text, read_data_file(path));
    auto table = TableReader::open(text, '\t');
    if (!table) return table.status().with_context(path);
    auto columns = find_columns(*table);
    if (!columns) return columns.status().with_context(path);
    std::vector<Cell> pictures;
    while (true) {
        auto row = table->next();
        if (!row) return row.status().with_context(path);
        if (!*row) break;
        auto item = as_item(**row, *columns, last_line);
        if (!item) return item.status().with_context(path + ": line " + std::to_string(table->line()));
        dataset.items.push_back(std::move(*item));
        if (columns->image) pictures.push_back((**row)[*columns->image]);
    }
    CLASP_RETURN_IF_ERROR(check_unique_ids(dataset).with_context(path));
    CLASP_RETURN_IF_ERROR(place_pictures(path, pictures, dataset));
    return dataset;
}

Result<Dataset> load(const std::string& folder, const LoadOptions& options) {
    if (!options.split.empty())
        return load_table("mmbench", folder, {options.split + ".tsv"}, kOptionLetterLine);
    return load_table("mmbench", folder,
                      {"mmbench_dev_20230712.tsv", "mmbench_dev_en_20231003.tsv", "MMBench_DEV_EN.tsv",
                       "mmbench_test_20230712.tsv", "mmbench_test_en_20231003.tsv"},
                      kOptionLetterLine);
}

Result<Dataset> load_chinese(const std::string& folder, const LoadOptions& options) {
    if (!options.split.empty())
        return load_table("mmbench-cn", folder, {options.split + ".tsv"}, kChineseLine);
    return load_table("mmbench-cn", folder,
                      {"mmbench_dev_cn_20231003.tsv", "MMBench_DEV_CN.tsv", "mmbench_test_cn_20231003.tsv"},
                      kChineseLine);
}

bool is_option_letter(std::string_view word, std::size_t n_options) {
    return word.size() == 1 && word[0] >= 'A' && static_cast<std::size_t>(word[0] - 'A') < n_options;
}

// The one letter that stands alone, with brackets, colon, comma or full stop around it or not.
std::string letter_in(std::string_view answer, std::size_t n_options) {
    constexpr std::string_view kMarks = "()[].,:";
    std::string letter;
    const std::vector<std::string_view> all = words(answer);
    for (const std::string_view word : all) {
        const std::size_t first = word.find_first_not_of(kMarks);
        if (first == std::string_view::npos) continue;
        const std::string_view bare = word.substr(first, word.find_last_not_of(kMarks) - first + 1);
        if (!is_option_letter(bare, n_options)) continue;
        if (!letter.empty() && letter != bare) return {};
        letter = bare;
    }
    const bool is_article = letter == "A" && all.size() > 3;
    return is_article ? std::string() : letter;
}

// The one option whose text occurs in the answer.
std::string option_in(std::string_view answer, const std::vector<std::string>& options) {
    const std::string lowered = lower_text(answer);
    std::string letter;
    for (std::size_t i = 0; i < options.size(); ++i) {
        if (lowered.find(lower_text(options[i])) == std::string::npos) continue;
        if (!letter.empty()) return {};
        letter = option_letter(i);
    }
    return letter;
}

// Empty when neither rule finds one: a language model would be asked next, here the row counts as wrong.
std::string read_choice(const Item& item, std::string_view answer) {
    std::string letter = letter_in(answer, item.options.size());
    return letter.empty() ? option_in(answer, item.options) : letter;
}

Metric share(std::string name, const std::vector<bool>& right) {
    const auto n_right = static_cast<double>(std::count(right.begin(), right.end(), true));
    const double n = static_cast<double>(right.size());
    return {std::move(name), right.empty() ? 0.0 : 100.0 * n_right / n, 2, right.size()};
}

struct Question {
    bool is_right = true;
    const Item* item = nullptr;
};

Result<Scores> score(const Dataset& dataset, const Answers& answers, const Judgements* /*judgements*/) {
    for (const Item& item : dataset.items) {
        if (item.answers.empty()) {
            return Status(Code::Unsupported,
                          "row " + item.id + " of " + dataset.split +
                              " has no answer: the answers of a test split are not public, only the "
                              "benchmark's server can score it");
        }
    }
    Scores scores;
    scores.item_scores = grade(dataset, answers, [](const Item& item, const std::string& answer) {
        return read_choice(item, answer) == item.answers.front() ? 1.0 : 0.0;
    });
    std::map<std::string, Question> questions;
    std::vector<bool> vanilla;
    std::size_t n_unread = 0;
    for (std::size_t i = 0; i < dataset.items.size(); ++i) {
        const Item& item = dataset.items[i];
        const bool is_right = scores.item_scores[i] > 0.0;
        Question& question = questions[item.group];
        question.is_right = question.is_right && is_right;
        question.item = &item;
        if (item.id == item.group) vanilla.push_back(is_right);
        if (answers.texts[i] && read_choice(item, *answers.texts[i]).empty()) ++n_unread;
    }
    std::vector<bool> circular;
    std::map<std::string, std::vector<bool>> l2;
    std::map<std::string, std::vector<bool>> l3;
    for (const auto& [group, question] : questions) {
        circular.push_back(question.is_right);
        l2[extra(*question.item, "l2")].push_back(question.is_right);
        l3[question.item->category].push_back(question.is_right);
    }
    scores.headline = share("circular", circular);
    scores.metrics = {scores.headline, share("vanilla", vanilla),
                      mean_metric("rows", scores.item_scores, 100.0, 2)};
    scores.metrics.push_back({"unread", static_cast<double>(n_unread), 0, dataset.items.size()});
    for (const auto& [name, right] : l2) {
        if (!name.empty()) scores.metrics.push_back(share("l2." + name, right));
    }
    for (const auto& [name, right] : l3) {
        if (!name.empty()) scores.metrics.push_back(share("l3." + name, right));
    }
    return scores;
}

}  // namespace

Benchmark mmbench_benchmark() {
    return {.name = "mmbench",
            .title = "MMBench",
            .headline = "questions right in every rotation of their options (CircularEval), in percent",
            .max_new_tokens = 1024,
            .is_mean = false,
            .has_splits = true,
            .load = load,
            .match = match_by_id,
            .score = score};
}

Benchmark mmbench_cn_benchmark() {
    return {.name = "mmbench-cn",
            .title = "MMBench-CN",
            .headline = "questions right in every rotation of their options (CircularEval), in percent",
            .max_new_tokens = 1024,
            .is_mean = false,
            .has_splits = true,
            .load = load_chinese,
            .match = match_by_id,
            .score = score};
}

}  // namespace clasp::eval
