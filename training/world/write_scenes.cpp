#include "world/write_scenes.h"

#include <png.h>

#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/atomic_file.h"
#include "base/json.h"
#include "clasp/classes.h"
#include "world/animation.h"
#include "world/compose.h"
#include "world/compose_clip.h"
#include "world/painter.h"

namespace clasp::world {
namespace {

using base::Json;

std::string file_name(const char* folder, std::uint64_t index) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%s/%06llu.png", folder, static_cast<unsigned long long>(index));
    return text.data();
}

Json line_of(const Question& question, std::string_view form, std::string_view place, const std::string& file,
             int id) {
    Json line;
    line["question_id"] = id;
    line["image"] = file;
    line["text"] = question.text;
    line["class_id"] = question.class_id;
    line["class"] = clasp::kClassNames[static_cast<std::size_t>(question.class_id)];
    line["answer"] = question.answer;
    line["template"] = form;
    line["test_only_phrasing"] = question.test_only_phrasing;
    line["conversations"] = {{{"from", "human"}, {"value", std::string(place) + "\n" + question.text}},
                             {{"from", "gpt"}, {"value", question.answer}}};
    return line;
}

Status save(const std::filesystem::path& path, std::string_view bytes) {
    CLASP_ASSIGN_OR_RETURN(base::AtomicFile file, base::AtomicFile::create(path.string()));
    CLASP_RETURN_IF_ERROR(file.append(bytes));
    return file.commit(base::Flush::LeaveToSystem);  // thousands of them, and they can be made again
}

// Calls draw(index, report) for every scene: it saves the picture and returns the lines of its questions.
template <typename Draw>
Result<WriteReport> write_all(const std::filesystem::path& folder, const WriteOptions& options,
                              const char* pictures, const Draw& draw) {
    if (options.count < 1) return Status(Code::InvalidArgument, "the number of scenes must be at least 1");
    if (options.questions_per_scene < 1)
        return Status(Code::InvalidArgument, "the number of questions per scene must be at least 1");
    std::error_code error;
    std::filesystem::create_directories(folder / pictures, error);
    if (error)
        return Status(Code::Unavailable,
                      "cannot make the folder " + (folder / pictures).string() + ": " + error.message());
    CLASP_ASSIGN_OR_RETURN(base::AtomicFile lines,
                           base::AtomicFile::create((folder / "questions.jsonl").string()));
    WriteReport report;
    for (int i = 0; i < options.count; ++i) {
        CLASP_ASSIGN_OR_RETURN(const std::vector<Json> written,
                               draw(options.first + static_cast<std::uint64_t>(i), report.questions));
        for (const Json& line : written) CLASP_RETURN_IF_ERROR(lines.append(base::dump_json(line) + "\n"));
        report.questions += static_cast<int>(written.size());
        ++report.scenes;
    }
    CLASP_RETURN_IF_ERROR(lines.commit());
    return report;
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
    return save(path, std::string_view(bytes).substr(0, size));
}

Result<WriteReport> write_scenes(const std::filesystem::path& folder, const WriteOptions& options) {
    const auto draw = [&](std::uint64_t index, int id) -> Result<std::vector<Json>> {
        const Scene scene = compose_scene(options.split, options.seed, index);
        const std::string file = file_name("images", index);
        CLASP_RETURN_IF_ERROR(write_png(folder / file, paint_scene(scene)));
        std::vector<Json> lines;
        for (const Question& question : ask_many(scene, options.questions_per_scene))
            lines.push_back(line_of(question, name(question.form), "<image>", file, id++));
        return lines;
    };
    return write_all(folder, options, "images", draw);
}

Result<WriteReport> write_clips(const std::filesystem::path& folder, const WriteOptions& options) {
    const auto draw = [&](std::uint64_t index, int id) -> Result<std::vector<Json>> {
        const Clip clip = compose_clip(options.split, options.seed, index);
        const std::string file = file_name("clips", index);
        CLASP_ASSIGN_OR_RETURN(const std::string bytes, encode_animation(paint_clip(clip)));
        CLASP_RETURN_IF_ERROR(save(folder / file, bytes));
        std::vector<Json> lines;
        for (const ClipQuestion& question : ask_about_clip(clip, options.questions_per_scene))
            lines.push_back(line_of(question.said, name(question.form), "<video>", file, id++));
        return lines;
    };
    return write_all(folder, options, "clips", draw);
}

}  // namespace clasp::world
