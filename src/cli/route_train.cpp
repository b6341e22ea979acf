#include "cli/route_train.h"

#include <algorithm>

#include "base/file.h"
#include "base/text.h"
#include "cli/output.h"
#include "cli/route_picture.h"
#include "request/router_files.h"
#include "route/evaluate.h"
#include "route/labelled.h"
#include "route/lexicon.h"

namespace clasp::cli {

namespace {

double share(std::size_t part, std::size_t whole) {
    return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

Json as_json(const route::Agreement& a) {
    return {{"questions", a.n},
            {"agreement", share(a.n_right, a.n)},
            {"agreement_after_fallback", share(a.n_right_final, a.n)},
            {"fallback", share(a.n_fallback, a.n)},
            {"confident_errors", share(a.n_confident_wrong, a.n)},
            {"calibration_error", a.calibration_error},
            {"confusion", a.confusion}};
}

std::string percent(std::size_t part, std::size_t whole) {
    return fixed(100.0 * share(part, whole), 1);
}

void print(const std::string& name, const route::Agreement& a, std::ostream& out) {
    out << name << ": " << percent(a.n_right, a.n) << " % of " << a.n << " agree, "
        << percent(a.n_right_final, a.n) << " % after fallback, " << percent(a.n_fallback, a.n)
        << " % fall back, " << percent(a.n_confident_wrong, a.n) << " % confident errors, calibration error "
        << fixed(100.0 * a.calibration_error, 1) << " points\n";
}

struct Request {
    std::vector<route::Question> questions;
    std::string taxonomy_json;
    route::TrainOptions options;
};

Result<Request> read_train_request(const Arguments& arguments) {
    Request request;
    const std::vector<std::string>& unwanted = arguments.all("without");
    for (const std::string& path : arguments.all("data")) {
        CLASP_ASSIGN_OR_RETURN(const std::string text, base::read_file(path, request::kMaxFileBytes));
        auto questions = route::parse_questions(text);
        if (!questions) return questions.status().with_context(path);
        for (route::Question& question : *questions) {
            if (std::find(unwanted.begin(), unwanted.end(), question.benchmark) == unwanted.end()) {
                request.questions.push_back(std::move(question));
            }
        }
    }
    if (const auto path = arguments.text_if("taxonomy")) {
        CLASP_ASSIGN_OR_RETURN(request.taxonomy_json, base::read_file(*path, request::kMaxFileBytes));
    }
    request.options.seed = static_cast<std::uint64_t>(arguments.integer("seed"));
    return request;
}

Result<std::vector<RouteClass>> classes_of(const Request& request) {
    if (request.taxonomy_json.empty()) return route::Taxonomy::builtin().classes;
    CLASP_ASSIGN_OR_RETURN(const route::Taxonomy taxonomy, route::Taxonomy::parse(request.taxonomy_json));
    return taxonomy.classes;
}

Status report_random(const Request& request, const std::optional<std::string>& picture, Json& json,
                     Console& console) {
    CLASP_ASSIGN_OR_RETURN(const route::Agreement random,
                           route::measure_random(request.questions, request.taxonomy_json, request.options));
    json["random"] = as_json(random);
    print("random fifth held out", random, console.err);
    if (!picture) return ok_status();
    CLASP_ASSIGN_OR_RETURN(const std::vector<RouteClass> classes, classes_of(request));
    return base::write_file_atomic(*picture, confusion_svg(classes, random.confusion));
}

Status report_left_out(const Request& request, Json& json, Console& console) {
    const auto progress = [&](const route::Part& part) {
        print("left out " + base::printable(part.benchmark, 64), part.agreement, console.err);
    };
    CLASP_ASSIGN_OR_RETURN(
        const std::vector<route::Part> parts,
        route::measure_left_out(request.questions, request.taxonomy_json, request.options, progress));
    double sum = 0.0;
    std::size_t n = 0;
    std::size_t n_right = 0;
    Json rows = Json::object();
    for (const route::Part& part : parts) {
        sum += share(part.agreement.n_right, part.agreement.n);
        n += part.agreement.n;
        n_right += part.agreement.n_right;
        rows[part.benchmark] = as_json(part.agreement);
    }
    const double mean = parts.empty() ? 0.0 : sum / static_cast<double>(parts.size());
    json["left_out"] = {
        {"mean_agreement", mean}, {"pooled_agreement", share(n_right, n)}, {"benchmarks", rows}};
    console.err << "mean over " << parts.size() << " benchmarks left out: " << fixed(100.0 * mean, 1)
                << " %, all their questions pooled: " << percent(n_right, n) << " %\n";
    return ok_status();
}

Status write_model(const Request& request, const std::string& path, Json& json, Console& console) {
    route::Taxonomy taxonomy = route::Taxonomy::builtin();
    if (!request.taxonomy_json.empty()) {
        CLASP_ASSIGN_OR_RETURN(taxonomy, route::Taxonomy::parse(request.taxonomy_json));
    }
    const route::Lexicon& lexicon = route::Lexicon::builtin();
    CLASP_ASSIGN_OR_RETURN(const route::Model model,
                           route::fit_router(request.questions, taxonomy, lexicon, request.options));
    const std::string bytes = model.save(lexicon);
    CLASP_RETURN_IF_ERROR(base::write_file_atomic(path, bytes));
    json["model"] = {{"file", path},
                     {"bytes", bytes.size()},
                     {"features", model.n_features()},
                     {"temperature", model.calibration().temperature},
                     {"threshold", model.calibration().threshold},
                     {"default_threshold", model.calibration().default_threshold}};
    console.err << base::printable(path) << ": " << bytes.size() << " bytes, " << model.n_features()
                << " features, temperature " << fixed(static_cast<double>(model.calibration().temperature), 3)
                << ", threshold " << fixed(static_cast<double>(model.calibration().threshold), 2)
                << ", for Default " << fixed(static_cast<double>(model.calibration().default_threshold), 2)
                << '\n';
    return ok_status();
}

}  // namespace

Status check_route_train(const Arguments& arguments) {
    const auto& words = arguments.positional("QUESTION");
    if (words.size() != 1 || words.front() != "train") {
        return {Code::InvalidArgument, "--data goes with 'route train'"};
    }
    for (const char* name : {"file", "explain", "threshold", "classifier", "router-model"}) {
        if (arguments.is_given(name)) {
            return {Code::InvalidArgument, std::string("--") + name + " does not go with training"};
        }
    }
    const std::string report = arguments.text_if("report").value_or("");
    if (arguments.is_given("confusion") && report != "random" && report != "all") {
        return {Code::InvalidArgument, "--confusion needs --report random or all"};
    }
    if (!arguments.is_given("out") && !arguments.is_given("report")) {
        return {Code::InvalidArgument, "training needs --out FILE, --report, or both"};
    }
    return ok_status();
}

Status run_route_train(const Arguments& arguments, Console& console) {
    CLASP_ASSIGN_OR_RETURN(const Request request, read_train_request(arguments));
    Json json = Json::object();
    const std::string report = arguments.text_if("report").value_or("");
    if (report == "random" || report == "all")
        CLASP_RETURN_IF_ERROR(report_random(request, arguments.text_if("confusion"), json, console));
    if (report == "left-out" || report == "all")
        CLASP_RETURN_IF_ERROR(report_left_out(request, json, console));
    if (const auto path = arguments.text_if("out")) {
        CLASP_RETURN_IF_ERROR(write_model(request, *path, json, console));
    }
    if (arguments.flag("json")) write_json(console, json);
    return ok_status();
}

}  // namespace clasp::cli
