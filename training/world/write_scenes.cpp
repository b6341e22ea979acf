#include "world/write_scenes.h"

#include <png.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include "clasp/classes.h"
#include "world/compose.h"
#include "world/painter.h"

namespace clasp::world {
namespace {

using Json = nlohmann::ordered_json;

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
    if (png_image_write_to_file(&image, path.c_str(), 0, canvas.rgb().data(), 0, nullptr) == 0)
        return {Code::Unavailable, "cannot write the picture " + path.string() + ": " + image.message};
    return {};
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
    const std::filesystem::path part = folder / "questions.jsonl.part";
    std::ofstream lines(part);
    WriteReport report;
    for (int i = 0; i < options.count; ++i) {
        const Scene scene =
            compose_scene(options.split, options.seed, options.first + static_cast<std::uint64_t>(i));
        CLASP_RETURN_IF_ERROR(write_png(folder / image_name(scene.index), paint_scene(scene)));
        for (const Question& question : ask_many(scene, options.questions_per_scene))
            lines << line_of(question, scene, report.questions++).dump() << '\n';
        ++report.scenes;
    }
    lines.close();
    if (!lines) return Status(Code::Unavailable, "cannot write " + part.string());
    std::filesystem::rename(part, folder / "questions.jsonl", error);
    if (error) return Status(Code::Unavailable, "cannot rename " + part.string() + ": " + error.message());
    return report;
}

}  // namespace clasp::world
