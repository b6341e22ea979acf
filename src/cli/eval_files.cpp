#include "cli/eval_files.h"

#include <algorithm>
#include <iomanip>

#include "base/file.h"
#include "clasp/image.h"
#include "cli/eval_setup.h"
#include "cli/map_file.h"
#include "cli/output.h"
#include "draw/png_writer.h"
#include "draw/report_table.h"

namespace clasp::cli {

namespace {

std::string joined(const std::vector<std::string>& texts) {
    std::string all;
    for (const std::string& text : texts) all += (all.empty() ? "" : " / ") + text;
    return all;
}

// The picture with the tokens that each stage kept for this question.
Result<std::vector<std::uint8_t>> map_of(const eval::Item& item, AskRequest request, std::size_t class_id,
                                         const eval::Asker& asker, const std::string& model) {
    CLASP_ASSIGN_OR_RETURN(const std::string bytes, eval::read_image(item));
    request.images = {{{}, bytes}};
    request.question = item.prompt;
    request.class_choice = std::to_string(class_id);
    request.want_pictures = true;
    CLASP_ASSIGN_OR_RETURN(const Answer answer, asker(request));
    CLASP_ASSIGN_OR_RETURN(const draw::Canvas canvas, token_map(item.question, answer, model));
    return draw::encode_png(canvas.image());
}

}  // namespace

eval::Dataset shard_dataset(const eval::Dataset& dataset, const eval::Shard& shard) {
    if (shard.count == 1) return dataset;
    eval::Dataset part = dataset;
    part.items.clear();
    for (const std::size_t place : eval::shard_items(dataset, shard))
        part.items.push_back(dataset.items[place]);
    return part;
}

std::vector<std::string> labels_to_compare_with(const Arguments& arguments) {
    const auto against = arguments.text_if("against");
    return against ? split_list(*against) : std::vector<std::string>();
}

Result<eval::Summary> summarise_run(const eval::RunDescription& run, const eval::Benchmark& benchmark,
                                    const eval::Dataset& dataset, const eval::RecordTable& records,
                                    const Arguments& arguments) {
    eval::SummaryRequest request;
    request.benchmark = &benchmark;
    request.dataset = &dataset;
    request.rows = run.rows;
    request.class_names = run.class_names;
    request.records = &records;
    request.model = run.model;
    request.against = labels_to_compare_with(arguments);
    eval::Judgements judgements;
    if (arguments.is_given("judgements")) {
        if (benchmark.judge == nullptr) {
            return Status(Code::InvalidArgument, run.benchmark + " needs no judgements");
        }
        for (const std::string& file : arguments.all("judgements")) {
            CLASP_ASSIGN_OR_RETURN(const eval::Judgements more,
                                   eval::read_judgements(*benchmark.judge, file));
            eval::append_runs(judgements, more);
        }
        request.judgements = &judgements;
    }
    return eval::summarise(request);
}

Result<std::vector<draw::RegressionCase>> regression_cases(const eval::Summary& summary,
                                                           const eval::Dataset& dataset,
                                                           const std::vector<eval::Variant>& variants,
                                                           const eval::Asker& asker, std::size_t max_tokens) {
    std::vector<draw::RegressionCase> cases;
    for (const eval::Regression& entry : summary.regressions) {
        const eval::Row& row = summary.rows[entry.row];
        const eval::Item& item = dataset.items[entry.item];
        draw::RegressionCase shown;
        shown.title = summary.title + ", " + row.label + " at budget " + row.budget;
        shown.question = item.question;
        shown.expected = joined(item.answers);
        shown.unpruned = entry.unpruned_text;
        shown.pruned = entry.text;
        const auto variant = std::find_if(variants.begin(), variants.end(), [&](const eval::Variant& v) {
            return eval::variant_key(v, max_tokens) == row.variant;
        });
        if (asker && variant != variants.end()) {
            CLASP_ASSIGN_OR_RETURN(const auto routed, eval::route_items(dataset, variant->classes));
            CLASP_ASSIGN_OR_RETURN(const auto classes, eval::stress_classes(routed, *variant));
            CLASP_ASSIGN_OR_RETURN(AskRequest request, eval::variant_request(*variant, max_tokens));
            CLASP_ASSIGN_OR_RETURN(
                shown.map_png, map_of(item, std::move(request), classes[entry.item], asker, summary.model));
        }
        cases.push_back(std::move(shown));
    }
    return cases;
}

Status write_report_files(const std::string& folder, const draw::EvalReport& report,
                          const std::vector<std::string>& methods) {
    if (report.summaries.size() == 1) {
        CLASP_RETURN_IF_ERROR(base::write_file_atomic(
            folder + "/summary.json",
            base::dump_json(eval::summary_json(report.summaries.front(), methods)) + "\n"));
    }
    CLASP_RETURN_IF_ERROR(base::write_file_atomic(folder + "/report.md", draw::eval_report_markdown(report)));
    return base::write_file_atomic(folder + "/report.html", draw::eval_report_html(report));
}

void print_summary(const eval::Summary& summary, Console& console) {
    std::size_t width = 6;
    for (const eval::Row& row : summary.rows) width = std::max(width, row.label.size());
    const auto wide = static_cast<int>(width) + 2;
    const bool has_own_encoder =
        std::any_of(summary.rows.begin(), summary.rows.end(),
                    [](const eval::Row& row) { return row.encode_seconds.has_value(); });
    console.out << summary.title << ", " << summary.headline << ", " << summary.n_questions << " questions\n"
                << std::left << std::setw(wide) << "method" << std::setw(8) << "budget" << std::right
                << std::setw(9) << "score" << std::setw(18) << "95 % interval" << std::setw(8) << "kept %"
                << std::setw(9) << "loyal %" << std::setw(11) << "prefill s" << std::setw(10) << "decode s"
                << (has_own_encoder ? "  encode s" : "") << '\n';
    for (const eval::Row& row : summary.rows) {
        const std::string interval =
            draw::score_text(summary, row.ci95.low) + " to " + draw::score_text(summary, row.ci95.high);
        console.out << std::left << std::setw(wide) << row.label << std::setw(8) << row.budget << std::right
                    << std::setw(9) << draw::score_text(summary, row.score) << std::setw(18) << interval
                    << std::setw(8) << draw::percent_text(row.relative) << std::setw(9)
                    << draw::percent_text(row.loyalty) << std::setw(11) << fixed(row.prefill_seconds, 1)
                    << std::setw(10) << fixed(row.decode_seconds, 1);
        if (row.encode_seconds) console.out << std::setw(10) << fixed(*row.encode_seconds, 1);
        console.out << '\n';
    }
    console.out << "pictures: " << fixed(summary.encode_seconds, 1) << " s to decode and encode, "
                << (has_own_encoder ? "shared by all rows without an encoder of their own\n"
                                    : "shared by all rows\n");
    for (const std::string& note : summary.notes) console.err << "note: " << note << '\n';
}

}  // namespace clasp::cli
