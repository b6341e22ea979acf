#include "convert/convert.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/text.h"
#include "convert/checkpoint.h"
#include "convert/family.h"
#include "convert/gguf_output.h"

namespace clasp::convert {
namespace {

namespace fs = std::filesystem;

struct TypeRow {
    std::string_view name;
    ggml_type type;
    std::uint32_t file_type;  // general.file_type, as llama.cpp numbers it
};

constexpr std::array<TypeRow, 6> kTypes = {{{"f32", GGML_TYPE_F32, 0},
                                            {"f16", GGML_TYPE_F16, 1},
                                            {"bf16", GGML_TYPE_BF16, 32},
                                            {"q8_0", GGML_TYPE_Q8_0, 7},
                                            {"q4_0", GGML_TYPE_Q4_0, 2},
                                            {"q4_k", GGML_TYPE_Q4_K, 14}}};

Result<TypeRow> find_type(std::string_view name) {
    for (const TypeRow& row : kTypes) {
        if (row.name == name) return row;
    }
    return Status(Code::InvalidArgument, "there is no type " + base::in_quotes(name) + "; there are " +
                                             base::join(output_type_names()));
}

std::string model_name(const std::string& folder) {
    std::error_code error;
    const fs::path whole = fs::weakly_canonical(folder, error);
    const std::string name = whole.filename().string();
    return name.empty() ? "model" : name;
}

void set_type(const TypeRow& type, std::string_view file, OutputFile& output,
              std::vector<std::string>& notes) {
    output.keys.set_u32("general.file_type", type.file_type);
    if (ggml_is_quantized(type.type)) output.keys.set_u32("general.quantization_version", 2);
    assign_types({.matrix = type.type}, file, output, notes);
}

// A file that is there is not replaced unless that was asked for.
Status check_place(const std::string& path, bool force) {
    std::error_code error;
    if (force || !fs::exists(path, error)) return ok_status();
    return {Code::InvalidArgument, base::path_in_quotes(path) + " is there already; --force replaces it"};
}

Status check_room(const std::string& path, std::uint64_t bytes) {
    const fs::path parent = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
    struct statvfs info {};
    if (::statvfs(parent.c_str(), &info) != 0) return ok_status();  // writing will tell
    const std::uint64_t room = std::uint64_t{info.f_bavail} * info.f_frsize;
    if (room >= bytes) return ok_status();
    return {Code::Unavailable, "the two files will have " + std::to_string(bytes) +
                                   " bytes, but the disk of " + base::path_in_quotes(path) +
                                   " has room for " + std::to_string(room)};
}

class Conversion {
   public:
    explicit Conversion(const ConvertOptions& options) : options_(options), pool_(options.n_threads) {}

    Result<ConvertReport> run() {
        CLASP_ASSIGN_OR_RETURN(text_type_, find_type(options_.type));
        CLASP_ASSIGN_OR_RETURN(vision_type_, find_type(options_.mmproj_type));
        text_path_ = text_output_path(options_.prefix);
        vision_path_ = vision_output_path(options_.prefix);
        for (const std::string& path : {text_path_, vision_path_}) {
            CLASP_RETURN_IF_ERROR(check_place(path, options_.force));
        }
        CLASP_ASSIGN_OR_RETURN(Checkpoint checkpoint, Checkpoint::open(options_.folder));
        CLASP_RETURN_IF_ERROR(make_plan(checkpoint));
        if (options_.verify) CLASP_RETURN_IF_ERROR(verify(checkpoint));
        CLASP_RETURN_IF_ERROR(write());
        for (const WeightFile& file : checkpoint.files()) {
            report_.inputs.push_back({file.name, file.source->size(), file.sha256});
        }
        report_.family = plan_.family;
        report_.notes = plan_.notes;
        return report_;
    }

   private:
    Status make_plan(const Checkpoint& checkpoint) {
        CLASP_ASSIGN_OR_RETURN(const auto config, read_json_file(options_.folder, "config.json"));
        if (!config || !config->is_object()) {
            return {Code::NotFound, base::path_in_quotes(options_.folder) + " has no config.json"};
        }
        TensorPool pool(checkpoint);
        FamilyInput input;
        input.folder = options_.folder;
        input.name = model_name(options_.folder);
        input.tokenizer_from = options_.tokenizer_from;
        input.vision_tower = options_.vision_tower;
        input.config = ModelConfig("config.json", *config);
        input.pool = &pool;
        input.others = &others_;
        CLASP_RETURN_IF_ERROR(plan_conversion(input, plan_));
        set_type(text_type_, "text", plan_.text, plan_.notes);
        set_type(vision_type_, "vision", plan_.vision, plan_.notes);
        return check_with_engine();
    }

    // What the engine would refuse is refused before hours are spent on it.
    Status check_with_engine() {
        const auto table = std::find_if(plan_.text.tensors.begin(), plan_.text.tensors.end(),
                                        [](const auto& t) { return t.place.name == "token_embd.weight"; });
        CLASP_RETURN_IF_ERROR(check_text_output(plan_.text).with_context("the text file would not load"));
        CLASP_ASSIGN_OR_RETURN(const bool is_checked,
                               check_vision_output(plan_.vision, table->place.shape.front()));
        if (!is_checked)
            plan_.notes.emplace_back("this version of the engine does not run such vision files");
        return ok_status();
    }

    Status verify(Checkpoint& checkpoint) {
        std::uint64_t total = bytes_to_check(checkpoint);
        for (const auto& other : others_) total += bytes_to_check(*other);
        std::uint64_t before = 0;
        const auto progress = [&](std::uint64_t done) {
            return tell({.step = "checking", .done = before + done, .total = total});
        };
        CLASP_RETURN_IF_ERROR(check_files(checkpoint, progress));
        before = bytes_to_check(checkpoint);
        for (const auto& other : others_) {
            CLASP_RETURN_IF_ERROR(check_files(*other, progress));
            before += bytes_to_check(*other);
        }
        return ok_status();
    }

    Status write() {
        report_.text = {.path = text_path_,
                        .architecture = plan_.architecture,
                        .type = options_.type,
                        .bytes = output_bytes(plan_.text),
                        .n_tensors = plan_.text.tensors.size(),
                        .sha256 = {}};
        report_.vision = {.path = vision_path_,
                          .architecture = "clip",
                          .type = options_.mmproj_type,
                          .bytes = output_bytes(plan_.vision),
                          .n_tensors = plan_.vision.tensors.size(),
                          .sha256 = {}};
        const std::uint64_t total = report_.text.bytes + report_.vision.bytes;
        remove_stale(text_path_);
        remove_stale(vision_path_);
        CLASP_RETURN_IF_ERROR(check_room(text_path_, total));
        CLASP_ASSIGN_OR_RETURN(GgufOutput vision, GgufOutput::create(vision_path_));
        CLASP_ASSIGN_OR_RETURN(GgufOutput text, GgufOutput::create(text_path_));
        std::uint64_t done = 0;
        const auto progress = [&](std::uint64_t bytes, const std::string& tensor) {
            done += bytes;
            return tell({.step = "writing", .done = std::min(done, total), .total = total, .tensor = tensor});
        };
        CLASP_RETURN_IF_ERROR(vision.write(plan_.vision, pool_, progress));
        CLASP_RETURN_IF_ERROR(text.write(plan_.text, pool_, progress));
        CLASP_RETURN_IF_ERROR(vision.commit());
        CLASP_RETURN_IF_ERROR(text.commit());
        report_.vision.sha256 = vision.sha256();
        report_.text.sha256 = text.sha256();
        return ok_status();
    }

    bool tell(const ConvertProgress& progress) const {
        return !options_.on_progress || options_.on_progress(progress);
    }

    const ConvertOptions& options_;
    ThreadPool pool_;
    TypeRow text_type_ = kTypes[1];
    TypeRow vision_type_ = kTypes[1];
    std::string text_path_;
    std::string vision_path_;
    std::vector<std::unique_ptr<Checkpoint>> others_;
    ConversionPlan plan_;
    ConvertReport report_;
};

}  // namespace

std::vector<std::string_view> output_type_names() {
    std::vector<std::string_view> names;
    for (const TypeRow& row : kTypes) names.push_back(row.name);
    return names;
}

std::string text_output_path(const std::string& prefix) {
    return prefix + ".gguf";
}

std::string vision_output_path(const std::string& prefix) {
    return prefix + "-mmproj.gguf";
}

Result<ConvertReport> convert(const ConvertOptions& options) {
    return Conversion(options).run();
}

}  // namespace clasp::convert
