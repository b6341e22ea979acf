// clasp-vlm inspect: what is in a GGUF file, and whether it can be run.
#include "base/text.h"
#include "clasp/inspect.h"
#include "cli/commands.h"
#include "cli/output.h"

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
                          {"blocks", vision.n_blocks},
                          {"width", vision.width},
                          {"heads", vision.n_heads},
                          {"ffn_width", vision.ffn_width},
                          {"output_width", vision.output_width},
                          {"feature_layer", vision.feature_layer},
                          {"llama_cpp_feature_layer", vision.llama_cpp_feature_layer},
                          {"grid", {{"rows", vision.grid.height}, {"columns", vision.grid.width}}},
                          {"tokens", vision.grid.height * vision.grid.width}};
    }
    json["supported"] = info.is_supported;
    if (!info.is_supported) json["reason"] = info.reason;
    return json;
}

void print(const GgufFileInfo& info, Console& console) {
    std::ostream& out = console.out;
    out << info.path << '\n'
        << "  architecture   " << info.architecture << (info.name.empty() ? "" : " (" + info.name + ")")
        << '\n'
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
        out << "  vision tower   " << vision.family << ", " << vision.n_blocks << " blocks of width "
            << vision.width << ", " << vision.image_size << " px in " << vision.grid.height << " x "
            << vision.grid.width << " patches of " << vision.patch_size << " px\n"
            << "  feature layer  " << vision.feature_layer << " (llama.cpp reads "
            << vision.llama_cpp_feature_layer << "), projector " << vision.projector << " to width "
            << vision.output_width << '\n';
    }
    out << "  supported      " << (info.is_supported ? "yes" : "no: " + info.reason) << '\n';
}

// Why two files cannot be used together; empty when they can.
std::string mismatch(const GgufFileInfo& text, const GgufFileInfo& vision) {
    if (!text.text) return "'" + text.path + "' is not a text model";
    if (!vision.vision) return "'" + vision.path + "' is not a vision tower";
    if (text.text->width != vision.vision->output_width) {
        return "the vision file gives tokens of width " + std::to_string(vision.vision->output_width) +
               ", the text model takes width " + std::to_string(text.text->width);
    }
    return "";
}

Status run(const Arguments& arguments, Console& console) {
    CLASP_ASSIGN_OR_RETURN(const GgufFileInfo info, inspect_gguf(arguments.positional("FILE").front()));
    const auto mmproj = arguments.text_if("mmproj");
    if (!mmproj) {
        if (arguments.flag("json")) {
            write_json(console, as_json(info));
        } else {
            print(info, console);
        }
        return ok_status();
    }
    CLASP_ASSIGN_OR_RETURN(const GgufFileInfo vision, inspect_gguf(*mmproj));
    const std::string reason = mismatch(info, vision);
    if (arguments.flag("json")) {
        Json json = as_json(info);
        json["mmproj"] = as_json(vision);
        if (json["mmproj"].contains("vision")) json["vision"] = json["mmproj"]["vision"];
        json["fits"] = reason.empty();
        if (!reason.empty()) json["fits_reason"] = reason;
        write_json(console, json);
    } else {
        print(info, console);
        print(vision, console);
        console.out << "the two files " << (reason.empty() ? "belong together" : "do not fit: " + reason)
                    << '\n';
    }
    return ok_status();
}

}  // namespace

Command inspect_command() {
    return {
        .name = "inspect",
        .summary = "Show what is in a GGUF file and whether it can be run",
        .positionals = {{"FILE", "a text or vision GGUF file", 1, 1}},
        .options = {{.name = "mmproj",
                     .type = OptionType::File,
                     .value = "FILE",
                     .help = "the vision file that goes with it"}},
        .run = run,
    };
}

}  // namespace clasp::cli
