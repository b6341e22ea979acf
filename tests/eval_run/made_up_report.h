// The report of a made-up run, for tests of what is drawn from it.
#pragma once

#include <memory>
#include <string>

#include "draw/eval_report.h"
#include "eval_run/fake_model.h"
#include "support/paths.h"

namespace clasp::draw::test {

// With names that would break careless HTML.
inline EvalReport make_report() {
    namespace et = ::clasp::eval::test;
    eval::Dataset dataset = et::make_dataset(clasp::test::scratch_dir() + std::string("/report"), 24, 2);
    eval::Variant base;
    base.policy = std::make_shared<Policy>(find_profile("llava").value());
    eval::RunRequest request;
    request.benchmark = &et::yes_benchmark();
    request.dataset = &dataset;
    request.items = et::all_places(dataset);
    request.variants = eval::cross({"clasp", "random"}, {"none", "192", "64"}, base);
    request.variants.back().label = "a<b>&\"c\"";
    et::FakeModel model;
    const eval::RecordTable records = eval::run(request, model.asker())->records;
    eval::SummaryRequest asked;
    asked.benchmark = request.benchmark;
    asked.dataset = &dataset;
    asked.records = &records;
    for (const auto& variant : request.variants) asked.rows.push_back(eval::row_spec(variant, 128));
    EvalReport report;
    report.title = "Report <1> & more";
    report.summaries.push_back(eval::summarise(asked).value());
    report.cases.push_back(
        {"clasp at 64", "How many <b> are there?", "2", "2", "3 & more", {137, 80, 78, 71}});
    report.command = "clasp-vlm eval yes --data D --out O";
    return report;
}

}  // namespace clasp::draw::test
