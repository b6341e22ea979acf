// Memory does not grow with the checkpoint.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "convert_case.h"

namespace clasp {
namespace {

using namespace test;
namespace fs = std::filesystem;

using ConvertMemory = ConvertCase;

// The largest resident size of this process so far, in bytes.
std::size_t peak_memory() {
    std::ifstream status("/proc/self/status");
    std::string word;
    while (status >> word) {
        std::size_t kilobytes = 0;
        if (word == "VmHWM:" && status >> kilobytes) return kilobytes * 1024;
    }
    return 0;
}

// 1.2 GB of weights in matrices of 200 MB, in a file full of holes.
TEST_F(ConvertMemory, DoesNotGrowWithTheCheckpoint) {
    constexpr std::uint64_t kWidth = 1024;
    constexpr std::uint64_t kWide = 100000;
    RandomLlama text = llava_family_text();
    text.n_layers = 2;
    MmprojSpec vision = clip_family_vision();
    vision.n_blocks = 3;
    const Pair pair = {made_text(text), made_vision(vision)};
    write_llava_port(pair, {}, false, false);
    auto tensors = text_tensors(pair.text, "language_model.model.", "language_model.lm_head.weight");
    append(tensors, clip_tensors(pair.vision, "vision_tower.vision_model.", 1));
    append(tensors,
           llava_projector(pair.vision, "multi_modal_projector.linear_1", "multi_modal_projector.linear_2"));
    std::string head = "{";
    std::uint64_t end = 0;
    for (MadeTensor& tensor : tensors) {
        // The decoder becomes wider; all its numbers are 0.
        if (tensor.name.starts_with("multi_modal_projector.linear_2")) tensor.shape[0] = kWidth;
        for (std::uint64_t& extent : tensor.shape) {
            if (!tensor.name.starts_with("language_model.")) break;
            if (extent == 96) extent = kWidth;
            if (extent == 128) extent = kWide;
        }
        std::uint64_t bytes = tensor.dtype == "I64" ? 8 : 2;
        std::string shape;
        for (const std::uint64_t extent : tensor.shape) {
            bytes *= extent;
            shape += (shape.empty() ? "" : ",") + std::to_string(extent);
        }
        head += std::string(end == 0 ? "" : ",") + "\"" + tensor.name + "\":{\"dtype\":\"" +
                (tensor.dtype == "I64" ? "I64" : "F16") + "\",\"shape\":[" + shape + "],\"data_offsets\":[" +
                std::to_string(end) + "," + std::to_string(end + bytes) + "]}";
        end += bytes;
    }
    const fs::path weights = folder() / "model.safetensors";
    write_text_file(weights, safetensors_of_head(head + "}", ""));
    fs::resize_file(weights, fs::file_size(weights) + end);
    EXPECT_GT(end, 1200000000U);
    base::Json config = {{"model_type", "llava"},
                         {"text_config", text_config(pair.text)},
                         {"vision_config", clip_config(pair.vision, 1)}};
    config["text_config"]["hidden_size"] = kWidth;
    config["text_config"]["intermediate_size"] = kWide;
    config["text_config"]["num_attention_heads"] = 4;
    config["text_config"]["num_key_value_heads"] = 4;
    write_json(folder() / "config.json", config);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        auto wanted = options();
        wanted.type = "q4_0";
        wanted.n_threads = 2;
        const std::size_t before = peak_memory();
        const auto report = convert::convert(wanted);
        if (!report.ok()) {
            std::fprintf(stderr, "%s\n", report.status().message().c_str());
            _exit(1);
        }
        const std::size_t grown = peak_memory() - before;
        _exit(grown < (std::size_t{200} << 20U) ? 0 : 2);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace clasp
