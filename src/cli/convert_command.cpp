// clasp-vlm convert: a checkpoint of Hugging Face's layout to a pair of GGUF files.
#include <chrono>
#include <optional>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/output_path.h"
#include "cli/progress_line.h"
#include "convert/convert.h"

namespace clasp::cli {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kMegabyte = 1e6;

// The line of the step that runs; a new step begins a new one.
class ConvertLine {
   public:
    explicit ConvertLine(Console& console) : console_(console) {}

    void update(const convert::ConvertProgress& progress) {
        if (!line_ || step_ != progress.step) {
            if (line_) line_->finish();
            line_.emplace(console_, "MB");
            step_ = progress.step;
            start_ = Clock::now();
        }
        const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
        const double rate = seconds > 0.0 ? static_cast<double>(progress.done) / kMegabyte / seconds : 0.0;
        const double left = static_cast<double>(progress.total - progress.done) / kMegabyte;
        std::string more(progress.step);
        if (!progress.tensor.empty()) more += " " + std::string(progress.tensor);
        line_->update(in_megabytes(progress.done), in_megabytes(progress.total), rate,
                      rate > 0.0 ? left / rate : -1.0, more);
    }
    void finish() {
        if (line_) line_->finish();
    }

   private:
    static std::size_t in_megabytes(std::uint64_t bytes) {
        return static_cast<std::size_t>(static_cast<double>(bytes) / kMegabyte);
    }

    Console& console_;
    std::optional<ProgressLine> line_;
    std::string_view step_;
    Clock::time_point start_;
};

Json as_json(const convert::ConvertOutput& output) {
    return {{"file", output.path},   {"architecture", output.architecture}, {"type", output.type},
            {"bytes", output.bytes}, {"tensors", output.n_tensors},         {"sha256", output.sha256}};
}

Json as_json(const convert::ConvertReport& report, double seconds) {
    Json inputs = Json::array();
    for (const convert::ConvertInput& input : report.inputs) {
        inputs.push_back({{"file", input.name},
                          {"bytes", input.bytes},
                          {"sha256", input.sha256.empty() ? Json() : Json(input.sha256)}});
    }
    Json notes = Json::array();
    for (const std::string& note : report.notes) notes.push_back(note);
    return {{"family", report.family},          {"inputs", std::move(inputs)}, {"text", as_json(report.text)},
            {"vision", as_json(report.vision)}, {"notes", std::move(notes)},   {"seconds", seconds}};
}

void print_output(const convert::ConvertOutput& output, Console& console) {
    console.out << "wrote " << base::printable(output.path) << ": " << output.architecture << ", "
                << output.type << ", " << output.n_tensors << " tensors, "
                << fixed(static_cast<double>(output.bytes) / kMegabyte, 1) << " MB\n  SHA-256 "
                << output.sha256 << '\n';
}

convert::ConvertOptions options_of(const Arguments& arguments) {
    convert::ConvertOptions options;
    options.folder = arguments.positional("DIR").front();
    options.prefix = arguments.text("out");
    options.type = arguments.text("type");
    // Towers are small and feel coarse numbers more than decoders do.
    const std::string fallback = options.type == "f32" || options.type == "bf16" ? options.type : "f16";
    options.mmproj_type = arguments.text_if("mmproj-type").value_or(fallback);
    options.tokenizer_from = arguments.text_if("tokenizer-from").value_or("");
    options.vision_tower = arguments.text_if("vision-tower").value_or("");
    options.force = arguments.flag("force");
    options.verify = !arguments.flag("no-verify");
    options.n_threads = static_cast<std::size_t>(arguments.integer("threads"));
    return options;
}

Status run(const Arguments& arguments, Console& console) {
    convert::ConvertOptions options = options_of(arguments);
    ConvertLine line(console);
    const std::atomic<bool>& stop = interrupted();
    options.on_progress = [&](const convert::ConvertProgress& progress) {
        line.update(progress);
        return !stop.load();
    };
    const Clock::time_point start = Clock::now();
    auto report = convert::convert(options);
    line.finish();
    if (!report.ok()) return report.status();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    for (const std::string& note : report->notes) console.err << "note: " << note << '\n';
    if (arguments.flag("json")) {
        write_json(console, as_json(*report, seconds));
        return ok_status();
    }
    console.out << report->family << ", " << report->inputs.size()
                << (report->inputs.size() == 1 ? " file" : " files") << " of weights, "
                << duration_text(seconds) << '\n';
    print_output(report->text, console);
    print_output(report->vision, console);
    return ok_status();
}

Status check(const Arguments& arguments) {
    const Option option = {.name = "out"};
    if (arguments.text("out").empty() || arguments.text("out").ends_with('/')) {
        return {Code::InvalidArgument, "--out: the name that the files begin with is missing"};
    }
    for (const std::string& path : {convert::text_output_path(arguments.text("out")),
                                    convert::vision_output_path(arguments.text("out"))}) {
        CLASP_RETURN_IF_ERROR(check_output_file(option, path));
    }
    return ok_status();
}

}  // namespace

Command convert_command() {
    return {
        .name = "convert",
        .summary = "Convert a checkpoint (safetensors or PyTorch) to a pair of GGUF files",
        .positionals = {{.name = "DIR", .help = "folder of the checkpoint, with its config.json"}},
        .options =
            {
                {.name = "out",
                 .type = OptionType::Text,
                 .value = "PREFIX",
                 .help = "what the files' names begin with: PREFIX.gguf and PREFIX-mmproj.gguf",
                 .group = OptionGroup::Output,
                 .is_required = true},
                {.name = "type",
                 .type = OptionType::Choice,
                 .value = "TYPE",
                 .fallback = "f16",
                 .help = "numbers of the decoder's matrices",
                 .choices = convert::output_type_names()},
                {.name = "mmproj-type",
                 .type = OptionType::Choice,
                 .value = "TYPE",
                 .help = "numbers of the vision tower's matrices; f16 by default, with f32 and bf16 as the "
                         "decoder's",
                 .choices = convert::output_type_names()},
                {.name = "tokenizer-from",
                 .type = OptionType::File,
                 .value = "FILE",
                 .help =
                     "take the tokenizer of a GGUF file of the same base model instead of the checkpoint's"},
                {.name = "vision-tower",
                 .type = OptionType::File,
                 .value = "DIR",
                 .help = "folder of the vision tower, where the checkpoint only names it: its config.json "
                         "and, if "
                         "they are not in the checkpoint, its weights"},
                {.name = "threads",
                 .type = OptionType::Integer,
                 .value = "N",
                 .fallback = "0",
                 .help = "threads; 0 means one per processor",
                 .group = OptionGroup::Performance,
                 .min = 0,
                 .max = 1024},
                {.name = "no-verify",
                 .help = "do not read the files once more to compare checksums that came with them",
                 .group = OptionGroup::Performance},
                {.name = "force", .help = "replace files that are there", .group = OptionGroup::Output},
            },
        .notes =
            "Files appear when they are whole: an error, a full disk or an interrupt leaves nothing behind, "
            "and "
            "what was there before. Weights are read a few megabytes at a time, so a checkpoint may be "
            "larger "
            "than memory. Of q4_0 and q4_k the output matrix and the embeddings are q6_K; rows that no block "
            "of a type divides are q8_0 or f16, and a note says so. Norms, biases and positions are f32, "
            "patch "
            "kernels f16.",
        .examples = {"clasp-vlm convert InternVL2-26B --out internvl2-26b --type q4_k --mmproj-type q8_0",
                     "clasp-vlm convert llava-v1.5-7b --vision-tower clip-vit-large-patch14-336 --out llava"},
        .check = check,
        .run = run,
    };
}

}  // namespace clasp::cli
