#include "request/option_rows.h"

namespace clasp::request {

namespace {

// Far beyond what any decoder reads; what a model makes of a limit, its tower says.
constexpr double kMaxPictureTokens = 1 << 20;
constexpr double kMaxTiles = 1024;
// As many as the most patient model samples, and a day.
constexpr double kMaxClipFrames = 768;
constexpr double kMaxClipSeconds = 86400;

}  // namespace

std::vector<Row> detail_rows() {
    return {
        {.scope = Scope::Asking,
         .option =
             {.name = "image-min-tokens",
              .type = OptionType::Integer,
              .value = "N",
              .help =
                  "visual tokens of a picture at least, of models that take pictures of any size; smaller "
                  "pictures are enlarged (default: as the model's authors have it)",
              .min = 1,
              .max = kMaxPictureTokens},
         .set =
             [](Settings& s, const Value& value) {
                 s.request.detail.min_tokens = static_cast<std::size_t>(value.integer);
                 return ok_status();
             },
         .about = About::Detail},
        {.scope = Scope::Asking,
         .option =
             {.name = "image-max-tokens",
              .type = OptionType::Integer,
              .value = "N",
              .help = "visual tokens of a picture at most, of models that take pictures of any size; larger "
                      "pictures are reduced (default: as the model's authors have it: a photograph of 4000 x "
                      "3000 "
                      "pixels is 15301 tokens to Qwen2.5-VL)",
              .min = 1,
              .max = kMaxPictureTokens},
         .set =
             [](Settings& s, const Value& value) {
                 s.request.detail.max_tokens = static_cast<std::size_t>(value.integer);
                 return ok_status();
             },
         .about = About::Detail},
        {.scope = Scope::Asking,
         .option =
             {.name = "image-tokens",
              .type = OptionType::Choice,
              .value = "NAME",
              .fallback = "default",
              .help =
                  "both limits by name: the authors' own, or those behind the paper's figures (1280 to 16384 "
                  "for Qwen2.5-VL)",
              .choices = {"default", "paper"}},
         .set =
             [](Settings& s, const Value& value) {
                 s.request.detail.preset = value.text == "default" ? "" : value.text;
                 return ok_status();
             },
         .about = About::Detail},
        {.scope = Scope::Asking,
         .option =
             {.name = "max-tiles",
              .type = OptionType::Integer,
              .value = "N",
              .help =
                  "tiles that a picture is cut into at most, of models that take as many as fit (default: as "
                  "the file says)",
              .min = 1,
              .max = kMaxTiles},
         .set =
             [](Settings& s, const Value& value) {
                 s.request.detail.max_tiles = static_cast<std::size_t>(value.integer);
                 return ok_status();
             },
         .about = About::Detail},
        {.scope = Scope::Asking,
         .option =
             {.name = "merge",
              .type = OptionType::Choice,
              .value = "NAME",
              .help =
                  "order of the tokens of LLaVA-NeXT's tiles: row by row over all of them without padding "
                  "and "
                  "with line breaks (spatial_unpad), the same with padding and without line breaks (spatial: "
                  "2880 tokens of most photographs, which papers count), or tile by tile (flat) (default: as "
                  "the file says)",
              .choices = {"spatial_unpad", "spatial", "flat"}},
         .set =
             [](Settings& s, const Value& value) {
                 s.request.detail.tile_merge = value.text;
                 return ok_status();
             },
         .about = About::Detail},
        {.scope = Scope::Asking,
         .option =
             {.name = "newline",
              .type = OptionType::Choice,
              .value = "HOW",
              .fallback = "carried",
              .help =
                  "line breaks behind the rows of LLaVA-NeXT's tiles: carried along with the tokens of their "
                  "row, or tokens that are chosen, scored and counted like patches, as the published code of "
                  "some methods has them",
              .choices = {"carried", "as-patch"}},
         .set =
             [](Settings& s, const Value& value) {
                 s.request.detail.newline = value.text == "carried" ? "" : value.text;
                 return ok_status();
             },
         .about = About::Detail},
    };
}

std::vector<Row> clip_rows() {
    return {
        {.scope = Scope::Asking,
         .option = {.name = "frames",
                    .type = OptionType::Integer,
                    .value = "N",
                    .help = "frames of a clip that the model sees, evenly spread (default: as the model's "
                            "authors have it)",
                    .min = 1,
                    .max = kMaxClipFrames},
         .set =
             [](Settings& s, const Value& value) {
                 s.request.clip.n_frames = static_cast<std::size_t>(value.integer);
                 return ok_status();
             },
         .about = About::Clips},
        {.scope = Scope::Asking,
         .option =
             {.name = "fps",
              .type = OptionType::Number,
              .value = "F",
              .help =
                  "instead: frames of a clip per second; of a folder of frames, the rate at which they were "
                  "taken "
                  "(default: as the model's authors have it; 2 for a folder)",
              .min = 0.01,
              .max = 1000},
         .set =
             [](Settings& s, const Value& value) {
                 s.request.clip.fps = value.number;
                 return ok_status();
             },
         .about = About::Clips},
        {.scope = Scope::Asking,
         .option = {.name = "start",
                    .type = OptionType::Number,
                    .value = "S",
                    .help = "see a clip from this second on",
                    .min = 0,
                    .max = kMaxClipSeconds},
         .set =
             [](Settings& s, const Value& value) {
                 s.request.clip.start_s = value.number;
                 return ok_status();
             },
         .about = About::Clips},
        {.scope = Scope::Asking,
         .option = {.name = "end",
                    .type = OptionType::Number,
                    .value = "S",
                    .help = "see a clip up to this second",
                    .min = 0,
                    .max = kMaxClipSeconds},
         .set =
             [](Settings& s, const Value& value) {
                 s.request.clip.end_s = value.number;
                 return ok_status();
             },
         .about = About::Clips},
        {.scope = Scope::Asking,
         .option =
             {.name = "split-time",
              .type = OptionType::Choice,
              .value = "HOW",
              .fallback = "free",
              .help =
                  "how the steps of a clip share what is kept: the method chooses among all at once (free), "
                  "or each "
                  "keeps its share, so that no moment disappears (even)",
              .choices = {"free", "even"}},
         .set =
             [](Settings& s, const Value& value) {
                 s.request.split_time = value.text;
                 return ok_status();
             },
         .about = About::Clips},
    };
}

}  // namespace clasp::request
