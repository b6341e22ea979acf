// llama.cpp's own vision encoder (libmtmd) in this process, over the same file: the oracle for the
// compatible mode and the rival in measurements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "clasp/image.h"
#include "mtmd.h"

namespace clasp::test {

class MtmdOracle {
   public:
    // Null inside when libmtmd refuses the file; see ok(). taps: keep the output of every block. text: needed
    // by families that put words around their pictures; must outlive this.
    MtmdOracle(const std::string& path, int n_threads, bool taps, const llama_model* text = nullptr);

    [[nodiscard]] bool ok() const { return context_ != nullptr; }
    // rgb: size x size pixels, interleaved. Returns n_tokens rows of the projector's width.
    std::vector<float> encode(std::span<const std::uint8_t> rgb, std::size_t size, std::size_t output_width);
    // A run of what the decoder gets: words, or the rows of one piece of a picture.
    struct Chunk {
        std::vector<std::int32_t> text;
        std::vector<float> rows;
    };
    // A whole prompt as libmtmd sees it, with mtmd_default_marker() where each picture stands. Empty on
    // failure.
    std::vector<Chunk> see_prompt(const std::string& prompt, std::span<const Image> pictures,
                                  std::size_t output_width);
    // The same for a picture of any shape: the tokens of its chunks one after the other, without words.
    std::vector<float> encode_picture(std::span<const std::uint8_t> rgb, std::size_t width,
                                      std::size_t height, std::size_t output_width);
    // The same for frames of a clip: those that the model takes as one are merged.
    std::vector<float> encode_clip(std::span<const Image> frames, std::size_t output_width);
    // A whole prompt through libmtmd and libllama, with mtmd_default_marker() where each picture stands;
    // `into` must be empty and of the text model given. Returns the position after it, or -1 on failure.
    llama_pos read_prompt(llama_context* into, const std::string& prompt, std::span<const Image> pictures);
    // One more piece of text behind it. False on failure.
    static bool read_tokens(llama_context* into, std::span<const llama_token> tokens, llama_pos first);
    // Outputs of blocks seen by the last chunk that was encoded: all rows, in llama.cpp's order.
    [[nodiscard]] const std::map<std::size_t, std::vector<float>>& layers() const { return layers_; }
    // Time of the encoder and projector alone in the last chunk.
    [[nodiscard]] double encode_ms() const { return encode_ms_; }

   private:
    std::vector<Chunk> encode_all(const mtmd_input_chunks* chunks, std::size_t output_width);
    static bool read_text(llama_context* into, const mtmd_input_chunk* chunk, llama_pos first);
    bool read_image(llama_context* into, const mtmd_input_chunk* chunk, llama_pos first);
    static bool observe(ggml_tensor* tensor, bool ask, void* user);

    struct Free {
        void operator()(mtmd_context* context) const { mtmd_free(context); }
    };
    std::unique_ptr<mtmd_context, Free> context_;
    std::map<std::size_t, std::vector<float>> layers_;
    double encode_ms_ = 0.0;
};

// A random picture of size x size, interleaved RGB, and the same as the normalised planes that a tower
// takes: (value / 255 - mean) / std.
std::vector<std::uint8_t> random_rgb(std::size_t size, std::uint64_t seed);
std::vector<float> normalised_planes(std::span<const std::uint8_t> rgb, std::span<const float, 3> mean,
                                     std::span<const float, 3> std);

}  // namespace clasp::test
