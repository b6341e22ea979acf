// clasp-vlm scenes: pictures or clips of our own benchmark with their questions.
#include "base/text.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "world/write_scenes.h"

namespace clasp::cli {

namespace {

Status run(const Arguments& arguments, Console& console) {
    world::WriteOptions options;
    CLASP_ASSIGN_OR_RETURN(options.split, world::parse_split(arguments.text("split")));
    options.count = static_cast<int>(arguments.integer("count"));
    options.seed = static_cast<std::uint64_t>(arguments.integer("seed"));
    options.questions_per_scene = static_cast<int>(arguments.integer("questions"));
    const std::string folder = arguments.text("out");
    CLASP_ASSIGN_OR_RETURN(const world::WriteReport report, arguments.flag("video")
                                                                ? world::write_clips(folder, options)
                                                                : world::write_scenes(folder, options));
    if (arguments.flag("json")) {
        write_json(console, {{"out", folder},
                             {"split", arguments.text("split")},
                             {"seed", options.seed},
                             {"scenes", report.scenes},
                             {"questions", report.questions}});
    } else {
        console.out << "wrote " << report.scenes
                    << (arguments.flag("video") ? " clips with " : " scenes with ") << report.questions
                    << " questions to " << base::printable(folder) << '\n';
    }
    return ok_status();
}

}  // namespace

Command scenes_command() {
    return {
        .name = "scenes",
        .summary = "Draw scenes of our own benchmark with questions and exact answers",
        .options =
            {
                {.name = "split",
                 .type = OptionType::Choice,
                 .value = "NAME",
                 .help = "which part of the world",
                 .choices = {"train", "calibrate", "test"},
                 .is_required = true},
                {.name = "count",
                 .type = OptionType::Integer,
                 .value = "N",
                 .help = "scenes to draw",
                 .min = 1,
                 .max = 1000000,
                 .is_required = true},
                {.name = "seed",
                 .type = OptionType::Integer,
                 .value = "S",
                 .fallback = "1",
                 .help = "another seed gives other scenes of the same split",
                 .min = 0,
                 .max = 9e15},
                {.name = "questions",
                 .type = OptionType::Integer,
                 .value = "N",
                 .fallback = "1",
                 .help = "questions per scene",
                 .min = 1,
                 .max = 9},
                {.name = "video",
                 .help =
                     "moving scenes: animated PNG files of eight frames, with questions that no single frame "
                     "answers"},
                {.name = "out",
                 .type = OptionType::File,
                 .value = "DIR",
                 .help = "folder for images/ (clips/ with --video) and questions.jsonl",
                 .is_required = true,
                 .writes = Writes::Folder},
            },
        .run = run,
    };
}

}  // namespace clasp::cli
