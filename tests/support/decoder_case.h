// A small random text model with a prompt of text and visual embeddings, for tests of the decoder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/prefill.h"
#include "model/text_model.h"
#include "support/random_llama.h"

namespace clasp::test {

// The real vocabulary that small models get when a test needs one.
std::string real_vocabulary_file();

// Writes the model into the scratch folder under a name that the test chooses, and loads it with one
// thread. Aborts the test program when that fails: there is nothing to test then.
std::shared_ptr<const model::TextModel> load_random_llama(const std::string& name, const RandomLlama& spec,
                                                          const model::TextModelOptions& options = {});

// [text | image | text | image | text], or with one image [text | image | text]. Where the model's positions
// have planes, an image is a grid, about square.
class DecoderCase {
   public:
    DecoderCase(const model::TextModel& model, std::vector<std::size_t> text_lengths,
                std::vector<std::size_t> image_lengths, std::uint64_t seed = 7);

    [[nodiscard]] const std::vector<engine::PromptPart>& parts() const { return parts_; }
    // Places of the last text part.
    [[nodiscard]] const std::vector<std::int32_t>& question() const { return question_; }
    [[nodiscard]] std::size_t n_rows() const { return n_rows_; }
    [[nodiscard]] std::size_t n_visual() const { return n_visual_; }
    // rows x width, writable by the test before use.
    [[nodiscard]] std::vector<float>& image(std::size_t i) { return images_[i]; }
    // The same prompt after images lost all tokens but these before the decoder; it borrows from this one.
    [[nodiscard]] DecoderCase with_visual(const std::vector<std::int32_t>& kept, std::size_t width) const;

   private:
    DecoderCase() = default;

    std::vector<std::vector<std::int32_t>> texts_;
    std::vector<std::vector<float>> images_;
    std::vector<std::vector<model::Position>> offsets_;
    std::vector<std::vector<float>> additions_;  // of decoders with deepstack
    std::vector<std::int32_t> places_;
    std::vector<engine::PromptPart> parts_;
    std::vector<std::int32_t> question_;
    std::size_t n_rows_ = 0;
    std::size_t n_visual_ = 0;
};

// Largest |a - b| over the standard deviation of b.
double relative_distance(const std::vector<float>& a, const std::vector<float>& b);

std::int32_t argmax(const std::vector<float>& values);

}  // namespace clasp::test
