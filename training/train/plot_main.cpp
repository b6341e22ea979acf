// clasp-train-plot: draws the log of a training run as two pictures, losses and accuracies.
#include <cstdio>
#include <fstream>
#include <string>

#include "base/json.h"
#include "draw/plot.h"
#include "draw/png_writer.h"
#include "world/clip_questions.h"
#include "world/scene.h"

namespace clasp::training {
namespace {

int fail(const Status& status) {
    std::fprintf(stderr, "clasp-train-plot: %s\n", status.message().c_str());
    return 1;
}

Status save(const std::vector<draw::LineSeries>& series, const draw::PlotLabels& labels,
            const std::string& path) {
    CLASP_ASSIGN_OR_RETURN(const draw::Canvas canvas, draw::draw_line_plot(series, labels, {960, 520}));
    return draw::write_png(canvas.image(), path);
}

// One series per class, or per form if the log is that of a model of clips.
std::vector<draw::LineSeries> empty_series(const base::Json& exact) {
    const auto form = [](int i) { return std::string(world::name(static_cast<world::ClipForm>(i))); };
    const bool is_of_clips = exact[form(0)].get<double>().has_value();
    std::vector<draw::LineSeries> series;
    for (int i = 0; i < (is_of_clips ? world::kClipForms : world::kClasses); ++i)
        series.push_back({is_of_clips ? form(i) : std::string(world::class_name(i)), {}});
    return series;
}

int run(const std::string& log, const std::string& folder) {
    std::ifstream file(log);
    if (!file) return fail({Code::NotFound, "cannot read the log " + log});
    std::vector<draw::LineSeries> losses = {{"answers", {}}, {"auxiliary", {}}};
    std::vector<draw::LineSeries> exact;
    for (std::string line; std::getline(file, line);) {
        const auto json = base::parse_json(line, {});
        if (!json) return fail({Code::Corrupt, "the log " + log + " has a broken line"});
        const auto number = [](const base::Json& value) { return value.get<double>().value_or(0.0); };
        const double at = number((*json)["pictures"]) / 1000.0;
        losses[1].points.push_back({at, number((*json)["aux_loss"])});
        if (number((*json)["answer_loss"]) <= 0) continue;  // the tower learns alone
        losses[0].points.push_back({at, number((*json)["answer_loss"])});
        if (exact.empty()) exact = empty_series((*json)["exact"]);
        for (auto& series : exact)
            series.points.push_back({at, 100.0 * number((*json)["exact"][series.label])});
    }
    if (losses[0].points.empty()) return fail({Code::Corrupt, "the log " + log + " has no answers yet"});
    const Status first =
        save(losses, {"Loss of fresh scenes", "thousand pictures", "loss"}, folder + "/loss.png");
    if (!first.ok()) return fail(first);
    const Status second = save(exact, {"Exact answers on fresh training scenes", "thousand pictures", "%"},
                               folder + "/exact.png");
    return second.ok() ? 0 : fail(second);
}

}  // namespace
}  // namespace clasp::training

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: clasp-train-plot LOG.jsonl FOLDER\n");
        return 2;
    }
    return clasp::training::run(argv[1], argv[2]);
}
