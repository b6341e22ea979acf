// clasp-vlm inspect: what is in a GGUF file, and whether it can be run.
#include <filesystem>
#include <optional>

#include "base/file.h"
#include "base/text.h"
#include "clasp/image.h"
#include "clasp/inspect.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/request_rows.h"
#include "request/model_files.h"

namespace clasp::cli {

namespace {

Json as_json(const GgufFileInfo& info) {
    Json types = Json::object();
    for (const auto& [type, count] : info.types) types[type] = count;
    Json json = {{"file", info.path},
                 {"architecture", info.architecture},
                 {"name", info.name},
                 {"bytes", info.n_bytes},
                 {"tensors", info.n_tensors},
                 {"parameters", info.n_parameters},
                 {"quantisation", info.types.empty() ? "" : info.types.front().first},
                 {"types", types}};
    if (info.text) {
        json["layers"] = info.text->n_layers;
        json["width"] = info.text->width;
        json["ffn_width"] = info.text->ffn_width;
        json["heads"] = info.text->n_heads;
        json["kv_heads"] = info.text->n_kv_heads;
        json["head_width"] = info.text->head_width;
        json["vocabulary"] = info.text->vocabulary;
        json["context_length"] = info.text->context_length;
    }
    if (info.vision) {
        const VisionFileInfo& vision = *info.vision;
        json["vision"] = {{"family", vision.family},
                          {"projector", vision.projector},
                          {"image_size", vision.image_size},
                          {"patch_size", vision.patch_size},
                          {"merge", vision.merge},
                          {"blocks", vision.n_blocks},
                          {"width", vision.width},
                          {"heads", vision.n_heads},
                          {"ffn_width", vision.ffn_width},
                          {"output_width", vision.output_width},
                          {"feature_layer", vision.feature_layer},
                          {"llama_cpp_feature_layer",
                           vision.is_in_llama_cpp ? Json(vision.llama_cpp_feature_layer) : Json(nullptr)},
                          {"grid", {{"rows", vision.grid.height}, {"columns", vision.grid.width}}},
                          {"tokens", vision.grid.height * vision.grid.width}};
        if (vision.max_tokens > 0) {  // its size decides
            json["vision"]["tokens"] = nullptr;
            json["vision"]["token_range"] = {{"least", vision.min_tokens}, {"most", vision.max_tokens}};
        }
        json["vision"]["differences"] = vision.differences;
        if (!vision.exactness.empty()) json["vision"]["exactness"] = vision.exactness;
        if (!vision.note.empty()) json["vision"]["note"] = vision.note;
        if (vision.clip) {
            json["vision"]["clip"] = {{"frames", vision.clip->n_frames},
                                      {"tokens", vision.clip->n_tokens},
                                      {"class_rows", vision.clip->has_class_rows},
                                      {"temporal_attention", vision.clip->has_temporal_part},
                                      {"source", vision.clip->source},
                                      {"preprocess", vision.clip->preprocess}};
        }
        if (vision.max_tiles > 0) json["vision"]["tiles"] = {vision.min_tiles, vision.max_tiles};
        if (!vision.tile_merge.empty()) {
            Json resolutions = Json::array();
            for (const PixelSize& size : vision.resolutions) {
                resolutions.push_back(Json::array({size.width, size.height}));
            }
            json["vision"]["tile_merge"] = vision.tile_merge;
            json["vision"]["resolutions"] = std::move(resolutions);
        }
    }
    json["supported"] = info.is_supported;
    if (!info.is_supported) json["reason"] = info.reason;
    if (!info.needs.empty()) json["needs"] = info.needs;
    return json;
}

// A string of the file.
std::string shown(const std::string& text) {
    constexpr std::size_t kLongest = 200;
    return base::printable(text, kLongest);
}

// What the cells of a tower's grid are.
std::string patches_of(const VisionFileInfo& vision) {
    const std::string side = std::to_string(vision.merge);
    const std::string patches = " patches of " + std::to_string(vision.patch_size);
    return vision.merge == 1 ? patches : " tokens of " + side + " x " + side + patches;
}

// What becomes of a clip.
void print_clip(const ClipTowerInfo& clip, std::ostream& out) {
    const bool is_authors = clip.source == "authors";
    const std::size_t n_each = clip.n_tokens / clip.n_frames;
    out << "  clips          " << clip.n_frames << " frames of " << n_each << " tokens"
        << (clip.has_class_rows ? ", their class row among them" : "") << ": " << clip.n_tokens << " tokens; "
        << (clip.has_temporal_part ? "frames see each other" : "each frame is seen alone")
        << "\n  rules          of " << (is_authors ? "the authors" : "Hugging Face's port") << ": frames "
        << (is_authors ? "from the first to the last" : "at the beginnings of equal parts") << ", "
        << (clip.preprocess == "clip" ? "resampled bicubically" : "resampled bilinearly, unrounded")
        << ", the square in the middle\n";
}

// What a user of llama.cpp would find otherwise, and what is exact.
void print_differences(const VisionFileInfo& vision, std::ostream& out) {
    std::string_view name = "  differs        ";
    for (const std::string& difference : vision.differences) {
        out << name << difference << '\n';
        name = "                 ";
    }
    if (!vision.exactness.empty()) out << "  exact          " << vision.exactness << '\n';
}

void print(const GgufFileInfo& info, Console& console) {
    std::ostream& out = console.out;
    out << base::printable(info.path) << '\n'
        << "  architecture   " << shown(info.architecture)
        << (info.name.empty() ? "" : " (" + shown(info.name) + ")") << '\n'
        << "  parameters     " << fixed(static_cast<double>(info.n_parameters) / 1e6, 1) << " million in "
        << info.n_tensors << " tensors, " << fixed(static_cast<double>(info.n_bytes) / 1e6, 1) << " MB\n"
        << "  types          ";
    for (std::size_t i = 0; i < info.types.size(); ++i) {
        const double share =
            100.0 * static_cast<double>(info.types[i].second) / static_cast<double>(info.n_parameters);
        out << (i > 0 ? ", " : "") << info.types[i].first << ' ' << fixed(share, 1) << " %";
    }
    out << '\n';
    if (info.text) {
        out << "  decoder        " << info.text->n_layers << " layers of width " << info.text->width << ", "
            << info.text->n_heads << " heads (" << info.text->n_kv_heads << " for keys), feed-forward "
            << info.text->ffn_width << ", vocabulary " << info.text->vocabulary << ", context "
            << info.text->context_length << '\n';
    }
    if (info.vision) {
        const VisionFileInfo& vision = *info.vision;
        out << "  vision tower   " << shown(vision.family) << ", " << vision.n_blocks << " blocks of width "
            << vision.width << ", " << vision.image_size << " px in " << vision.grid.height << " x "
            << vision.grid.width << patches_of(vision) << " px\n"
            << "  feature layer  " << vision.feature_layer
            << (vision.is_in_llama_cpp
                    ? " (llama.cpp reads " + std::to_string(vision.llama_cpp_feature_layer) + ")"
                    : " (llama.cpp does not know this tower)")
            << ", projector " << shown(vision.projector) << " to width " << vision.output_width << '\n';
        if (vision.clip) print_clip(*vision.clip, out);
        if (vision.max_tokens > 0) {
            out << "  tokens         " << vision.min_tokens << " to " << vision.max_tokens
                << ", by the size of the picture (--image-min-tokens, --image-max-tokens)\n";
        }
        if (vision.max_tiles > 0) {
            out << "  tiles          " << vision.min_tiles << " to " << vision.max_tiles << " of "
                << vision.image_size << " px " << vision.tile_words << " (--max-tiles)\n";
        }
        if (!vision.tile_merge.empty()) {
            out << "  tiles          ";
            for (std::size_t i = 0; i < vision.resolutions.size(); ++i) {
                const PixelSize& size = vision.resolutions[i];
                out << (i > 0 ? ", " : "") << size.width << " x " << size.height;
            }
            out << " px in tiles of " << vision.image_size << " and an overview, arranged by "
                << vision.tile_merge << '\n';
        }
    }
    if (info.vision) print_differences(*info.vision, out);
    if (info.vision && !info.vision->note.empty()) out << "  note           " << info.vision->note << '\n';
    out << "  supported      " << (info.is_supported ? "yes" : "no: " + base::printable(info.reason)) << '\n';
    if (!info.needs.empty()) out << "  needs          " << info.needs << '\n';
}

// A file that is there, or else a model that comes with the program, with both its files.
struct Inspected {
    std::string file;
    std::optional<std::string> mmproj;
};

Result<Inspected> find_inspected(const Arguments& arguments) {
    const std::string& word = arguments.positional("FILE").front();
    Inspected found = {word, arguments.text_if("mmproj")};
    std::error_code error;
    const bool is_path = word.ends_with(".gguf") || word.find('/') != std::string::npos;
    if (is_path || std::filesystem::exists(word, error)) return found;
    CLASP_ASSIGN_OR_RETURN(const request::ModelFiles files,
                           request::find_named_model(word, "the path of a GGUF file"));
    if (found.mmproj) {
        return Status(Code::InvalidArgument, "--mmproj goes with a file; " + base::in_quotes(word) +
                                                 " names a model that brings its own");
    }
    return Inspected{files.model, files.mmproj};
}

// Of "640x480"; nothing of any other word, which is the name of a file.
Result<std::optional<PixelSize>> size_in_words(const std::string& word) {
    const std::size_t cross = word.find('x');
    const bool is_size = cross != std::string::npos && cross > 0 && cross + 1 < word.size() &&
                         word.find_first_not_of("0123456789x") == std::string::npos &&
                         word.find('x', cross + 1) == std::string::npos;
    if (!is_size) return std::optional<PixelSize>();
    const ImageLimits limits;
    const auto side = [&](const std::string& digits) -> Result<int> {
        constexpr std::size_t kMostDigits = 9;
        const std::size_t value = digits.size() > kMostDigits ? limits.max_side + 1 : std::stoul(digits);
        if (value < limits.min_side || value > limits.max_side) {
            return Status(Code::InvalidArgument, "a picture side of " + base::printable(digits, 32) +
                                                     " pixels is outside " + std::to_string(limits.min_side) +
                                                     " to " + std::to_string(limits.max_side));
        }
        return static_cast<int>(value);
    };
    PixelSize size;
    CLASP_ASSIGN_OR_RETURN(size.width, side(word.substr(0, cross)));
    CLASP_ASSIGN_OR_RETURN(size.height, side(word.substr(cross + 1)));
    return std::optional(size);
}

// As it was named, or that of a picture file, whose header is read.
Result<PixelSize> picture_size(const std::string& word) {
    CLASP_ASSIGN_OR_RETURN(const std::optional<PixelSize> named, size_in_words(word));
    if (named) return *named;
    CLASP_ASSIGN_OR_RETURN(const std::string bytes, base::read_file(word, ImageLimits().max_file_bytes));
    const auto header =
        read_image_header({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    if (!header.ok()) return header.status().with_context(base::path_in_quotes(word));
    return header->size;
}

Json layout_json(const ImageLayout& layout) {
    return {{"width", layout.picture.width},
            {"height", layout.picture.height},
            {"resized", {layout.resized.width, layout.resized.height}},
            {"tiles", {layout.tiles.width, layout.tiles.height}},
            {"pieces", layout.n_pieces},
            {"grid", {layout.grid.width, layout.grid.height}},
            {"fixed", layout.n_fixed},
            {"tokens", layout.n_tokens() + layout.n_fixed}};
}

void print_layout(const ImageLayout& layout, Console& console) {
    console.out << "a picture of " << layout.picture.width << " x " << layout.picture.height
                << " pixels is resized to " << layout.resized.width << " x " << layout.resized.height
                << ", cut into " << layout.tiles.width << " x " << layout.tiles.height
                << " tiles (pieces: " << layout.n_pieces << "), and becomes "
                << layout.n_tokens() + layout.n_fixed << " visual tokens (grid: " << layout.grid.width
                << " x " << layout.grid.height;
    if (layout.n_fixed > 0) console.out << ", line breaks: " << layout.n_fixed;
    console.out << ")\n";
}

// Of the request's options, those that change what a picture becomes.
std::vector<Option> picture_options() {
    std::vector<Option> options = request::options_about(request::About::Detail);
    options.insert(options.begin(), request::option_named("compat"));
    return options;
}

std::vector<Option> inspect_options() {
    std::vector<Option> options = {
        {.name = "mmproj",
         .type = OptionType::File,
         .value = "FILE",
         .help = "the vision file that goes with it"},
        {.name = "image",
         .type = OptionType::Text,
         .value = "FILE|WxH",
         .help = "show what this picture, or one of that size, becomes: pieces and tokens"}};
    for (Option& option : picture_options()) options.push_back(std::move(option));
    return options;
}

// What the picture of --image becomes, if there is one.
Result<std::optional<ImageLayout>> inspected_picture(const Arguments& arguments, const GgufFileInfo& vision) {
    const auto word = arguments.text_if("image");
    if (!word) return std::optional<ImageLayout>();
    if (!vision.vision) {
        return Status(Code::InvalidArgument, base::path_in_quotes(vision.path) +
                                                 " is not a vision file; --image needs one, see --mmproj");
    }
    CLASP_ASSIGN_OR_RETURN(const PixelSize size, picture_size(*word));
    request::Settings settings;
    for (const Option& option : picture_options()) {
        CLASP_RETURN_IF_ERROR(read_row(arguments, option.name, settings));
    }
    CLASP_ASSIGN_OR_RETURN(ImageLayout layout, inspect_picture(vision.path, size, settings.request.compat,
                                                               settings.request.detail));
    return std::optional(std::move(layout));
}

Status check(const Arguments& arguments) {
    for (const Option& option : picture_options()) {
        if (arguments.is_given(option.name) && !arguments.is_given("image")) {
            return {Code::InvalidArgument, "--" + std::string(option.name) + " goes with --image"};
        }
    }
    if (const auto word = arguments.text_if("image")) CLASP_RETURN_IF_ERROR(size_in_words(*word).status());
    return find_inspected(arguments).status();
}

Status run(const Arguments& arguments, Console& console) {
    CLASP_ASSIGN_OR_RETURN(const Inspected inspected, find_inspected(arguments));
    CLASP_ASSIGN_OR_RETURN(GgufFileInfo info, inspect_gguf(inspected.file));
    const auto& mmproj = inspected.mmproj;
    if (!mmproj) {
        CLASP_ASSIGN_OR_RETURN(const auto picture, inspected_picture(arguments, info));
        if (arguments.flag("json")) {
            Json json = as_json(info);
            if (picture) json["image"] = layout_json(*picture);
            write_json(console, json);
        } else {
            print(info, console);
            if (picture) print_layout(*picture, console);
        }
        if (info.is_supported) return ok_status();
        return Status(Code::Unsupported, info.reason).with_context(base::path_in_quotes(info.path));
    }
    CLASP_ASSIGN_OR_RETURN(GgufFileInfo vision, inspect_gguf(*mmproj));
    CLASP_ASSIGN_OR_RETURN(const auto picture, inspected_picture(arguments, vision));
    Status pair = check_pair(info, vision);
    Policy policy;
    if (pair.ok()) {  // what each needs is there
        CLASP_ASSIGN_OR_RETURN(policy, inspect_policy(inspected.file, *mmproj));
        info.needs.clear();
        vision.needs.clear();
    }
    if (arguments.flag("json")) {
        Json json = as_json(info);
        json["mmproj"] = as_json(vision);
        if (json["mmproj"].contains("vision")) json["vision"] = json["mmproj"]["vision"];
        json["fits"] = pair.ok();
        if (!pair.ok()) json["fits_reason"] = pair.message();
        if (pair.ok()) json["policy"] = {{"name", policy.name}, {"hash", policy_hash(policy)}};
        if (picture) json["image"] = layout_json(*picture);
        write_json(console, json);
    } else {
        print(info, console);
        print(vision, console);
        console.out << (pair.ok() ? "the two files belong together\n"
                                  : "the two files cannot be used together\n");
        if (pair.ok()) console.out << "policy: " << policy.name << ", " << policy.description << "\n";
        if (picture) print_layout(*picture, console);
    }
    return pair;
}

}  // namespace

Command inspect_command() {
    return {
        .name = "inspect",
        .summary = "Show what is in a GGUF file and whether it can be run",
        .positionals = {{"FILE",
                         "a text or vision GGUF file, or the name of a model that comes with the program", 1,
                         1}},
        .options = inspect_options(),
        .examples = {"clasp-vlm inspect tiny", "clasp-vlm inspect llava.gguf --mmproj mmproj.gguf",
                     "clasp-vlm inspect tiny --image 640x480"},
        .check = check,
        .run = run,
    };
}

}  // namespace clasp::cli
