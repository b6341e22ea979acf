#include "world/write_scenes.h"

#include <png.h>

#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <system_error>

#include "base/atomic_file.h"
#include "base/json.h"
#include "clasp/classes.h"
#include "world/compose.h"
#include "world/painter.h"

namespace clasp::world {
namespace {

using base::Json;

std::string image_name(std::uint64_t index) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "images/%06llu.png", static_cast<unsigned long long>(index));
    return text.data();
}

Json line_of(const Question& question, const Scene& scene, int id) {
    Json line;
    line["question_id"] = id;
    line["image"] = image_name(scene.index);
    line["text"] = question.text;
    line["class_id"] = question.class_id;
    line["class"] = kClassNames[static_cast<std::size_t>(question.class_id)];
    line["answer"] = question.answer;
    line["template"] = name(question.form);
    line["test_only_phrasing"] = question.test_only_phrasing;
    line["conversations"] = {{{"from", "human"}, {"value", "<image>\n" + question.text}},
                             {{"from", "gpt"}, {"value", question.answer}}};
    return line;
}

}  // namespace

Result<Split> parse_split(std::string_view text) {
    for (const Split split : {Split::Train, Split::Calibrate, Split::Test})
        if (text == name(split)) return split;
    return Status(Code::InvalidArgument,
                  "the split '" + std::string(text) + "' is not one of train, calibrate, test");
}

Status write_png(const std::filesystem::path& path, const Canvas& canvas) {
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    image.width = image.height = static_cast<png_uint_32>(canvas.side());
    image.format = PNG_FORMAT_RGB;
    std::string bytes(PNG_IMAGE_PNG_SIZE_MAX(image), '\0');
    png_alloc_size_t size = bytes.size();
    if (png_image_write_to_memory(&image, bytes.data(), &size, 0, canvas.rgb().data(), 0, nullptr) == 0)
        return {Code::Internal, "cannot make the picture " + path.string() + ": " + image.message};
    CLASP_ASSIGN_OR_RETURN(base::AtomicFile file, base::AtomicFile::create(path.string()));
    CLASP_RETURN_IF_ERROR(file.append(std::string_view(bytes).substr(0, size)));
    return file.commit(base::Flush::LeaveToSystem);  // thousands of them, and they can be made again
}

Result<WriteReport> write_scenes(const std::filesystem::path& folder, const WriteOptions& options) {
    if (options.count < 1) return Status(Code::InvalidArgument, "the number of scenes must be at least 1");
    if (options.questions_per_scene < 1)
        return Status(Code::InvalidArgument, "the number of questions per scene must be at least 1");
    std::error_code error;
    std::filesystem::create_directories(folder / "images", error);
    if (error)
        return Status(Code::Unavailable,
                      "cannot make the folder " + (folder / "images").string() + ": " + error.message());
    CLASP_ASSIGN_OR_RETURN(base::AtomicFile lines,
                           base::AtomicFile::create((folder / "questions.jsonl").string()));
    WriteReport report;
    for (int i = 0; i < options.count; ++i) {
        const Scene scene =
            compose_scene(options.split, options.seed, options.first + static_cast<std::uint64_t>(i));
        CLASP_RETURN_IF_ERROR(write_png(folder / image_name(scene.index), paint_scene(scene)));
        for (const Question& question : ask_many(scene, options.questions_per_scene))
            CLASP_RETURN_IF_ERROR(
                lines.append(base::dump_json(line_of(question, scene, report.questions++)) + "\n"));
        ++report.scenes;
    }
    CLASP_RETURN_IF_ERROR(lines.commit());
    return report;
}

}  // namespace clasp::world
