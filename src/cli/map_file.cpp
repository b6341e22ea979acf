#include "cli/map_file.h"

#include <algorithm>

#include "clasp/image.h"
#include "cli/output.h"
#include "draw/png_writer.h"
#include "draw/token_map.h"
#include "image/preprocess.h"

namespace clasp::cli {

namespace {

// The square that LLaVA cuts into patches: the picture centred on the mean colour.
image::Canvas padded_square(const Image& picture) {
    const int side = std::max(picture.width, picture.height);
    return {{side, side}, (side - picture.width) / 2, (side - picture.height) / 2, image::kClipMeanColour};
}

draw::StagePanel stage_panel(const StageReport& stage, std::size_t n_tokens) {
    draw::StagePanel panel;
    panel.title = stage.site == "before" ? "entering" : "from layer " + std::to_string(stage.layer);
    panel.marks.assign(n_tokens, draw::Mark::Dropped);
    for (const TokenIndex token : stage.kept) panel.marks[token] = draw::Mark::Kept;
    for (const TokenIndex token : stage.pivots) panel.marks[token] = draw::Mark::Pivot;
    for (const TokenIndex token : stage.coverage) panel.marks[token] = draw::Mark::Coverage;
    for (const TokenIndex token : stage.merged) panel.marks[token] = draw::Mark::Merged;
    return panel;
}

// What the decoder saw last: the last stage that kept something, or all tokens when none did.
draw::StagePanel last_panel(const Answer& answer) {
    const auto last = std::find_if(answer.stages.rbegin(), answer.stages.rend(),
                                   [](const StageReport& stage) { return !stage.kept.empty(); });
    if (last != answer.stages.rend()) return stage_panel(*last, answer.tokens.visual);
    draw::StagePanel panel;
    panel.marks.assign(answer.tokens.visual, draw::Mark::Kept);
    return panel;
}

draw::TokenMap empty_map(const Image& picture, const Answer& answer, const std::string& question) {
    draw::TokenMap map;
    map.picture = &picture;
    map.frame = padded_square(picture);
    map.rows = static_cast<int>(answer.grids.front().height);
    map.columns = static_cast<int>(answer.grids.front().width);
    map.question = question;
    return map;
}

}  // namespace

Result<draw::Canvas> token_map(const Image& picture, const std::string& question, const Answer& answer,
                               const std::string& model_name) {
    draw::TokenMap map = empty_map(picture, answer, question);
    for (const StageReport& stage : answer.stages)
        map.stages.push_back(stage_panel(stage, answer.tokens.visual));
    map.answer = answer.text;
    map.note = model_name + ", " + answer.method + ", " + fixed(answer.tokens.average, 1) + " of " +
               std::to_string(answer.tokens.visual) + " visual tokens per layer, class " +
               answer.chosen_class.name;
    return draw::draw_token_map(map);
}

Status write_token_map(const std::string& map_path, const std::string& image_path,
                       const std::string& question, const Answer& answer, const std::string& model_name) {
    CLASP_ASSIGN_OR_RETURN(const Image picture, load_image(image_path));
    CLASP_ASSIGN_OR_RETURN(const draw::Canvas canvas, token_map(picture, question, answer, model_name));
    return draw::write_png(canvas.image(), map_path);
}

Status write_comparison_map(const std::string& map_path, const std::string& image_path,
                            const std::string& question, std::span<const Answer> answers,
                            const std::string& note) {
    if (answers.empty()) return {Code::InvalidArgument, "there is no answer to draw"};
    CLASP_ASSIGN_OR_RETURN(const Image picture, load_image(image_path));
    draw::TokenMap map = empty_map(picture, answers.front(), question);
    for (const Answer& answer : answers) {
        draw::StagePanel panel = last_panel(answer);
        panel.title = answer.method;
        if (answer.mass == MassRule::Nearest && answer.method != "clasp+") panel.title += " + masses";
        if (answer.tokens.final == 0) panel.title += " (none in the end)";
        panel.title += ": " + answer.text;
        map.stages.push_back(std::move(panel));
    }
    map.note = note;
    CLASP_ASSIGN_OR_RETURN(const draw::Canvas canvas, draw::draw_token_map(map));
    return draw::write_png(canvas.image(), map_path);
}

}  // namespace clasp::cli
