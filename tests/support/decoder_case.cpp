#include "support/decoder_case.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <random>

#include "support/paths.h"

namespace clasp::test {
namespace {

[[noreturn]] void give_up(const std::string& why) {
    std::fprintf(stderr, "%s\n", why.c_str());
    std::abort();
}

// Of the smallest square that n tokens fit into.
std::size_t side_of(std::size_t n) {
    std::size_t side = 1;
    while (side * side < n) ++side;
    return side;
}

std::vector<model::Position> grid_of(std::size_t n) {
    std::vector<std::int32_t> places(n);
    std::iota(places.begin(), places.end(), 0);
    return model::grid_offsets(places, static_cast<std::int32_t>(side_of(n)));
}

}  // namespace

std::string real_vocabulary_file() {
    return std::string(llama_source_dir()) + "/models/ggml-vocab-llama-spm.gguf";
}

std::shared_ptr<const model::TextModel> load_random_llama(const std::string& name, const RandomLlama& spec,
                                                          const model::TextModelOptions& options) {
    // Cases of one test run as processes of their own, at the same time.
    const std::string path =
        std::string(scratch_dir()) + "/" + name + "_" + std::to_string(::getpid()) + ".gguf";
    if (!write_random_llama(path, spec)) give_up("cannot write " + path);
    auto compute = model::Compute::create({.n_threads = 1, .use_gpu = false});
    if (!compute.ok()) give_up(compute.status().message());
    auto model = model::TextModel::load(path, *compute, options);
    if (!model.ok()) give_up(model.status().message());
    std::remove(path.c_str());
    return *model;
}

DecoderCase::DecoderCase(const model::TextModel& model, std::vector<std::size_t> text_lengths,
                         std::vector<std::size_t> image_lengths, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::uniform_int_distribution<std::int32_t> token(3, model.config().vocabulary - 1);
    std::normal_distribution<float> value;
    const auto width = static_cast<std::size_t>(model.config().width);
    for (const std::size_t n : text_lengths) {
        texts_.emplace_back(n);
        for (std::int32_t& id : texts_.back()) id = token(random);
    }
    for (const std::size_t n : image_lengths) {
        images_.emplace_back(n * width);
        for (float& x : images_.back()) x = value(random);
        additions_.emplace_back(n * width * static_cast<std::size_t>(model.config().n_deepstack));
        for (float& x : additions_.back()) x = value(random);
        offsets_.push_back(model.config().family->has_planes() ? grid_of(n) : std::vector<model::Position>());
    }
    for (std::size_t i = 0; i < std::max(texts_.size(), images_.size()); ++i) {
        if (i < texts_.size() && !texts_[i].empty()) {
            parts_.push_back({.tokens = texts_[i]});
            question_.clear();
            for (std::size_t k = 0; k < texts_[i].size(); ++k) {
                question_.push_back(static_cast<std::int32_t>(n_rows_ + k));
            }
            n_rows_ += texts_[i].size();
        }
        if (i < images_.size() && !images_[i].empty()) {
            const auto side = static_cast<std::int32_t>(side_of(image_lengths[i]));
            parts_.push_back({.embeddings = images_[i],
                              .offsets = offsets_[i],
                              .n_positions = side,
                              .additions = additions_[i]});
            n_rows_ += image_lengths[i];
            n_visual_ += image_lengths[i];
        }
    }
}

DecoderCase DecoderCase::with_visual(const std::vector<std::int32_t>& kept, std::size_t width) const {
    DecoderCase result;
    result.places_ = kept;
    result.images_.resize(1);
    result.offsets_.resize(1);
    result.additions_.resize(1);
    for (const engine::PromptPart& part : parts_) {
        result.parts_.push_back(part);
        if (part.embeddings.empty()) continue;
        for (const std::int32_t place : kept) {
            const auto at = static_cast<std::size_t>(place);
            const auto row = part.embeddings.subspan(at * width, width);
            result.images_[0].insert(result.images_[0].end(), row.begin(), row.end());
            const std::size_t n_more = part.additions.size() / (part.embeddings.size() / width);
            const auto more = part.additions.subspan(at * n_more, n_more);
            result.additions_[0].insert(result.additions_[0].end(), more.begin(), more.end());
            if (!part.offsets.empty()) result.offsets_[0].push_back(part.offsets[at]);
        }
        engine::PromptPart& pruned = result.parts_.back();
        pruned.embeddings = result.images_[0];
        pruned.offsets = result.offsets_[0];
        pruned.additions = result.additions_[0];
        pruned.places = result.places_;
        pruned.n_unpruned = static_cast<std::int32_t>(part.embeddings.size() / width);
    }
    return result;
}

double relative_distance(const std::vector<float>& a, const std::vector<float>& b) {
    if (a.size() != b.size() || a.empty()) return std::numeric_limits<double>::infinity();
    double sum = 0;
    double squares = 0;
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        sum += static_cast<double>(b[i]);
        squares += static_cast<double>(b[i]) * static_cast<double>(b[i]);
        largest = std::max(largest, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
    }
    const double n = static_cast<double>(a.size());
    return largest / std::sqrt(squares / n - sum / n * (sum / n));
}

std::int32_t argmax(const std::vector<float>& values) {
    return static_cast<std::int32_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

}  // namespace clasp::test
