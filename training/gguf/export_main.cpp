// clasp-train-export: a checkpoint as a pair of GGUF files.
#include <cstdio>
#include <filesystem>
#include <string>

#include "gguf/export_model.h"
#include "train/checkpoint.h"

namespace {

int fail(const clasp::Status& status) {
    std::fprintf(stderr, "clasp-train-export: %s\n", status.message().c_str());
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    using namespace clasp::training;
    if (argc != 3) {
        std::fprintf(stderr, "usage: clasp-train-export CHECKPOINT FOLDER\n");
        return 2;
    }
    const auto checkpoint = load_checkpoint(argv[1]);
    if (!checkpoint) return fail(checkpoint.status());
    const std::string folder = argv[2];
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) return fail({clasp::Code::Unavailable, "cannot make the folder " + folder});
    const std::string name = name_of(*checkpoint->model);
    const std::string text = text_path(folder, name);
    const std::string vision = mmproj_path(folder, name);
    const clasp::Status text_status = text_file(*checkpoint->model, checkpoint->vocabulary).write(text);
    if (!text_status.ok()) return fail(text_status);
    const clasp::Status vision_status = mmproj_file(*checkpoint->model).write(vision);
    if (!vision_status.ok()) return fail(vision_status);
    std::printf("%s %ju bytes\n%s %ju bytes\n", text.c_str(), std::filesystem::file_size(text),
                vision.c_str(), std::filesystem::file_size(vision));
    return 0;
}
