#include "train/recipe.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numbers>
#include <sstream>

namespace clasp::training {
namespace {

// Sets one field; false if the key is unknown or the number is malformed.
bool set_field(Phase& phase, const std::string& key, const std::string& text) {
    std::istringstream in(text);
    const auto read = [&](auto& field) { return static_cast<bool>(in >> field) && in.eof(); };
    if (key == "side") return read(phase.side);
    if (key == "frames")
        return read(phase.frames) && (phase.frames == 1 || phase.frames == world::kClipFrames);
    if (key == "vision") return read(phase.vision_blocks);
    if (key == "decoder") return read(phase.decoder_blocks);
    if (key == "steps") return read(phase.steps);
    if (key == "batch") return read(phase.batch);
    if (key == "micro") return read(phase.micro);
    if (key == "questions") return read(phase.questions);
    if (key == "rate") {
        const bool good = read(phase.rate_from);
        phase.rate_to = phase.rate_from;
        return good;
    }
    if (key == "rate_to") return read(phase.rate_to);
    if (key == "warm_up") return read(phase.warm_up);
    if (key == "aux") return read(phase.aux);
    if (key == "mention") return read(phase.mention);
    if (key == "early") return read(phase.early);
    if (key == "relation") return read(phase.relation);
    if (key == "heads_only")
        return read(phase.heads_only) && (phase.heads_only == 0 || phase.heads_only == 1);
    const auto read_weights = [&](auto& weights) {
        for (float& weight : weights) {
            char comma = ',';
            if (&weight != weights.data() && !(in >> comma)) return false;
            if (comma != ',' || !(in >> weight) || weight < 0) return false;
        }
        return in.eof();
    };
    if (key == "tower") return read(phase.tower) && (phase.tower == 0 || phase.tower == 1);
    if (key == "classes") return read_weights(phase.class_weights);
    if (key == "forms") return read_weights(phase.form_weights);
    if (key == "probes") return read(phase.probes);
    if (key == "counts") return read(phase.counts);
    if (key == "sides") return read(phase.sides);
    if (key == "strays") return read(phase.strays);
    if (key == "newline") return read(phase.newline);
    if (key == "chained") return read(phase.chained);
    return false;
}

}  // namespace

Result<std::vector<Phase>> read_recipe(const std::string& path) {
    std::ifstream file(path);
    if (!file) return Status(Code::NotFound, "cannot read the recipe " + path);
    std::vector<Phase> phases;
    std::string line;
    for (int number = 1; std::getline(file, line); ++number) {
        std::istringstream words(line.substr(0, line.find('#')));
        std::string word;
        if (!(words >> word)) continue;
        const std::string where = path + ":" + std::to_string(number) + ": ";
        Phase phase;
        if (word != "phase" || !(words >> phase.name))
            return Status(Code::Corrupt, where + "a line must begin with 'phase NAME'");
        while (words >> word) {
            const std::size_t equals = word.find('=');
            if (equals == std::string::npos ||
                !set_field(phase, word.substr(0, equals), word.substr(equals + 1)))
                return Status(Code::Corrupt, where + "cannot read '" + word + "'");
        }
        if (phase.batch % phase.micro != 0)
            return Status(Code::Corrupt, where + "batch must be a multiple of micro");
        phases.push_back(phase);
    }
    return phases;
}

float learning_rate(const Phase& phase, int step) {
    if (step < phase.warm_up)
        return phase.rate_from * static_cast<float>(step + 1) / static_cast<float>(phase.warm_up);
    const float done = static_cast<float>(step - phase.warm_up) /
                       static_cast<float>(std::max(1, phase.steps - phase.warm_up));
    const float fall = 0.5F * (1.0F + std::cos(std::numbers::pi_v<float> * done));
    return phase.rate_to + (phase.rate_from - phase.rate_to) * fall;
}

}  // namespace clasp::training
