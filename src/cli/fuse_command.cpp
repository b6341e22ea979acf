// clasp-vlm fuse: the class-conditioned mix of vision layers on .npy files.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/npy.h"
#include "base/text.h"
#include "clasp/fuse.h"
#include "clasp/policy.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "request/option_table.h"
#include "request/option_value.h"

namespace clasp::cli {

namespace {

Status bad_value(const std::string& option, const std::string& text, const std::string& wanted) {
    return {Code::InvalidArgument, "option --" + option + " takes " + wanted + ", not '" + text + "'"};
}

// "5=A.npy" for --layer, "5=48x48" for --grid: the layer and what stands behind the sign.
Result<std::map<std::size_t, std::string>> read_pairs(const Arguments& arguments, const std::string& option,
                                                      const std::string& wanted) {
    std::map<std::size_t, std::string> pairs;
    for (const std::string& text : arguments.all(option)) {
        const std::size_t equals = text.find('=');
        const auto layer = request::parse_integer(text.substr(0, equals));
        if (equals == std::string::npos || !layer || *layer < 0 || equals + 1 == text.size()) {
            return bad_value(option, text, wanted);
        }
        if (!pairs.emplace(static_cast<std::size_t>(*layer), text.substr(equals + 1)).second) {
            return Status(Code::InvalidArgument,
                          "option --" + option + " names layer " + std::to_string(*layer) + " twice");
        }
    }
    return pairs;
}

Result<Grid> parse_grid(const std::string& text) {
    constexpr std::size_t kMaxSide = std::size_t{1} << 16U;
    const std::size_t cross = std::min(text.find('x'), text.size());
    const auto height = base::parse_size(text.substr(0, cross));
    const auto width = base::parse_size(std::string_view(text).substr(std::min(cross + 1, text.size())));
    const std::size_t rows = height.value_or(0);
    const std::size_t columns = width.value_or(0);
    if (rows < 1 || columns < 1 || rows > kMaxSide || columns > kMaxSide) {
        return bad_value("grid", text, "LAYER=HEIGHTxWIDTH");
    }
    return Grid{rows, columns};
}

Result<Mix> read_mix(const Arguments& arguments) {
    if (arguments.is_given("weights")) return parse_mix(arguments.text("weights"));
    CLASP_ASSIGN_OR_RETURN(const Policy policy, load_policy(arguments.text("policy")));
    CLASP_ASSIGN_OR_RETURN(const std::size_t class_id, find_class(policy, arguments.text("class")));
    return mix_for(policy, class_id);
}

Status check(const Arguments& arguments) {
    if (arguments.is_given("class") == arguments.is_given("weights")) {
        return {Code::InvalidArgument, "give either --class (with --policy) or --weights"};
    }
    if (arguments.is_given("policy") && arguments.is_given("weights")) {
        return {Code::InvalidArgument, "--policy and --weights exclude each other"};
    }
    CLASP_RETURN_IF_ERROR(read_pairs(arguments, "layer", "LAYER=FILE.npy").status());
    CLASP_ASSIGN_OR_RETURN(const auto grids, read_pairs(arguments, "grid", "LAYER=HEIGHTxWIDTH"));
    for (const auto& [layer, grid] : grids) CLASP_RETURN_IF_ERROR(parse_grid(grid).status());
    return read_mix(arguments).status();
}

struct Layers {
    std::vector<base::NpyArray> arrays;  // hold what views point to
    std::vector<LayerView> views;
    std::vector<float> weights;
    std::vector<Grid> grids;  // empty when none were given
};

Result<Layers> read_layers(const Arguments& arguments, const Mix& mix) {
    CLASP_ASSIGN_OR_RETURN(const auto files, read_pairs(arguments, "layer", "LAYER=FILE.npy"));
    CLASP_ASSIGN_OR_RETURN(const auto grids, read_pairs(arguments, "grid", "LAYER=HEIGHTxWIDTH"));
    for (const auto& [layer, file] : files) {
        const bool is_mixed = std::any_of(mix.begin(), mix.end(),
                                          [l = layer](const LayerWeight& entry) { return entry.layer == l; });
        if (!is_mixed) {
            return Status(Code::InvalidArgument,
                          "the mix does not use layer " + std::to_string(layer) + " (" + file + ")");
        }
    }
    Layers layers;
    for (const LayerWeight& entry : mix) {
        const auto file = files.find(entry.layer);
        if (file == files.end()) {
            return Status(Code::InvalidArgument,
                          "the mix needs layer " + std::to_string(entry.layer) + ", which no --layer names");
        }
        CLASP_ASSIGN_OR_RETURN(base::NpyArray array, base::read_npy(file->second));
        if (array.shape.size() != 2) {
            return Status(Code::InvalidArgument, file->second + ": a layer must be tokens x width");
        }
        layers.arrays.push_back(std::move(array));
        layers.weights.push_back(static_cast<float>(entry.weight));
        if (grids.empty()) continue;
        const auto grid = grids.find(entry.layer);
        if (grid == grids.end()) {
            return Status(Code::InvalidArgument, "no --grid for layer " + std::to_string(entry.layer));
        }
        CLASP_ASSIGN_OR_RETURN(const Grid parsed, parse_grid(grid->second));
        layers.grids.push_back(parsed);
    }
    if (grids.size() > layers.grids.size()) {
        return Status(Code::InvalidArgument, "--grid names a layer that the mix does not use");
    }
    for (const base::NpyArray& array : layers.arrays) {
        layers.views.push_back({array.data.data(), array.type, array.shape[0], array.shape[1], 0});
    }
    return layers;
}

Status run(const Arguments& arguments, Console& console) {
    CLASP_ASSIGN_OR_RETURN(const Mix mix, read_mix(arguments));
    CLASP_ASSIGN_OR_RETURN(const Layers layers, read_layers(arguments, mix));
    const Upsample upsample =
        arguments.text("upsample") == "nearest" ? Upsample::Nearest : Upsample::Bilinear;
    ThreadPool pool(static_cast<std::size_t>(arguments.integer("threads")));
    // Rising layers: the last one is the deepest, whose grid is the common one.
    const LayerView& last = layers.views.back();
    std::vector<float> fused(last.n_tokens * last.width);
    if (layers.grids.empty()) {
        CLASP_RETURN_IF_ERROR(fuse_layers(layers.views, layers.weights, fused, &pool));
    } else {
        CLASP_RETURN_IF_ERROR(fuse_grids(layers.views, layers.grids, layers.weights, layers.grids.back(),
                                         upsample, fused, &pool));
    }
    const std::string path = arguments.text("out");
    const std::array<std::size_t, 2> shape = {last.n_tokens, last.width};
    CLASP_RETURN_IF_ERROR(base::write_npy(path, shape, fused));
    Json weights = Json::object();
    for (const LayerWeight& entry : mix) weights[std::to_string(entry.layer)] = entry.weight;
    if (arguments.flag("json")) {
        write_json(console,
                   {{"out", path}, {"tokens", last.n_tokens}, {"width", last.width}, {"mix", weights}});
    } else {
        console.out << "wrote " << base::printable(path) << ": " << last.n_tokens << " tokens x "
                    << last.width << ", mix " << base::dump_json(weights) << '\n';
    }
    return ok_status();
}

}  // namespace

Command fuse_command() {
    return {
        .name = "fuse",
        .summary = "Mix vision layers from .npy files",
        .options =
            {
                {.name = "layer",
                 .type = OptionType::Text,
                 .value = "L=FILE.npy",
                 .help = "output of vision block L, tokens x width, float32 or float16",
                 .is_required = true,
                 .is_repeatable = true},
                {.name = "class",
                 .type = OptionType::Text,
                 .value = "ID|NAME",
                 .help = "question class whose mix the policy gives"},
                {.name = "policy",
                 .type = OptionType::Text,
                 .value = "NAME|FILE",
                 .fallback = "llava",
                 .help = "profile or policy file"},
                {.name = "weights",
                 .type = OptionType::Text,
                 .value = "L:W,...",
                 .help = "the mix itself, such as 5:0.2,22:0.8"},
                {.name = "grid",
                 .type = OptionType::Text,
                 .value = "L=HxW",
                 .help = "grid of a layer; unequal grids are aligned to the deepest layer's",
                 .is_repeatable = true},
                {.name = "upsample",
                 .type = OptionType::Choice,
                 .value = "HOW",
                 .fallback = "bilinear",
                 .help = "how a smaller grid grows",
                 .choices = {"bilinear", "nearest"}},
                {.name = "out",
                 .type = OptionType::File,
                 .value = "FILE.npy",
                 .help = "where the result goes, float32",
                 .is_required = true,
                 .writes = Writes::File},
                request::option_named("threads"),
            },
        .check = check,
        .run = run,
    };
}

}  // namespace clasp::cli
