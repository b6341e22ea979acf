// Scenes as files: PNG pictures and questions in LLaVA's JSON Lines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "clasp/status.h"
#include "world/canvas.h"
#include "world/clip_questions.h"
#include "world/questions.h"
#include "world/scene.h"

namespace clasp::world {

struct WriteOptions {
    Split split = Split::Test;
    std::uint64_t seed = 1;       // another seed gives other scenes of the same split
    std::uint64_t first = 0;      // index of the first scene
    int count = 0;                // scenes
    int questions_per_scene = 1;  // the first is of class index % 9, so that classes are balanced
};

struct WriteReport {
    int scenes = 0;
    int questions = 0;
};

// "train", "calibrate" or "test".
Result<Split> parse_split(std::string_view text);

// Writes DIR/images/000000.png ... and DIR/questions.jsonl, one line per question with question_id,
// image, text, class_id, class, answer, template, test_only_phrasing and LLaVA's conversations. Makes the
// folder if it is not there; the question file appears last and whole.
Result<WriteReport> write_scenes(const std::filesystem::path& folder, const WriteOptions& options);

// The same for moving scenes: DIR/clips/000000.png ..., animated PNG files of eight frames. Scene i asks
// first in the form i % kClipForms.
Result<WriteReport> write_clips(const std::filesystem::path& folder, const WriteOptions& options);

Status write_png(const std::filesystem::path& path, const Canvas& canvas);

}  // namespace clasp::world
