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
    panel.title = "from layer " + std::to_string(stage.layer);
    panel.marks.assign(n_tokens, draw::Mark::Dropped);
    for (const TokenIndex token : stage.kept) panel.marks[token] = draw::Mark::Kept;
    for (const TokenIndex token : stage.pivots) panel.marks[token] = draw::Mark::Pivot;
    for (const TokenIndex token : stage.coverage) panel.marks[token] = draw::Mark::Coverage;
    return panel;
}

}  // namespace

Status write_token_map(const std::string& map_path, const std::string& image_path,
                       const std::string& question, const Answer& answer, const std::string& model_name) {
    CLASP_ASSIGN_OR_RETURN(const Image picture, load_image(image_path));
    const Grid grid = answer.grids.front();
    draw::TokenMap map;
    map.picture = &picture;
    map.frame = padded_square(picture);
    map.rows = static_cast<int>(grid.height);
    map.columns = static_cast<int>(grid.width);
    for (const StageReport& stage : answer.stages)
        map.stages.push_back(stage_panel(stage, answer.tokens.visual));
    map.question = question;
    map.answer = answer.text;
    map.note = model_name + ", " + answer.method + ", " + fixed(answer.tokens.average, 1) + " of " +
               std::to_string(answer.tokens.visual) + " visual tokens per layer, class " +
               answer.chosen_class.name;
    CLASP_ASSIGN_OR_RETURN(const draw::Canvas canvas, draw::draw_token_map(map));
    return draw::write_png(canvas.image(), map_path);
}

}  // namespace clasp::cli
