// clasp-train-plot: draws the log of a training run as two pictures, losses and accuracies.
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "draw/plot.h"
#include "draw/png_writer.h"
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

int run(const std::string& log, const std::string& folder) {
    std::ifstream file(log);
    if (!file) return fail({Code::NotFound, "cannot read the log " + log});
    std::vector<draw::LineSeries> losses = {{"answers", {}}, {"auxiliary", {}}};
    std::vector<draw::LineSeries> exact;
    for (int c = 0; c < world::kClasses; ++c) exact.push_back({std::string(world::class_name(c)), {}});
    for (std::string line; std::getline(file, line);) {
        const auto json = nlohmann::json::parse(line, nullptr, false);
        if (json.is_discarded()) return fail({Code::Corrupt, "the log " + log + " has a broken line"});
        const double at = json.value("pictures", 0.0) / 1000.0;
        losses[1].points.push_back({at, json.value("aux_loss", 0.0)});
        if (json.value("answer_loss", 0.0) <= 0) continue;  // the tower learns alone
        losses[0].points.push_back({at, json.value("answer_loss", 0.0)});
        for (auto& series : exact)
            series.points.push_back({at, 100.0 * json["exact"].value(series.label, 0.0)});
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
