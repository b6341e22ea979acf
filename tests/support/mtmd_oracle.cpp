#include "support/mtmd_oracle.h"

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string_view>

#include "ggml-backend.h"
#include "model/backend.h"

namespace clasp::test {

MtmdOracle::MtmdOracle(const std::string& path, int n_threads, bool taps, const llama_model* text) {
    if (!model::prepare_ggml().ok()) return;
    mtmd_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
    mtmd_context_params params = mtmd_context_params_default();
    params.use_gpu = false;
    params.print_timings = false;
    params.n_threads = n_threads;
    params.warmup = false;
    params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED;  // what the warm-up would choose
    if (taps) {
        params.cb_eval = observe;
        params.cb_eval_user_data = this;
    }
    context_.reset(mtmd_init_from_file(path.c_str(), text, params));
}

bool MtmdOracle::observe(ggml_tensor* tensor, bool ask, void* user) {
    constexpr std::string_view kPrefix = "layer_out-";
    const std::string_view name(tensor->name);
    if (!name.starts_with(kPrefix)) return !ask;
    if (ask) return true;
    const auto layer = static_cast<std::size_t>(std::atoi(tensor->name + kPrefix.size()));
    std::vector<float> values(static_cast<std::size_t>(ggml_nelements(tensor)));
    ggml_backend_tensor_get(tensor, values.data(), 0, ggml_nbytes(tensor));
    static_cast<MtmdOracle*>(user)->layers_[layer] = std::move(values);
    return true;
}

std::vector<float> MtmdOracle::encode(std::span<const std::uint8_t> rgb, std::size_t size,
                                      std::size_t output_width) {
    return encode_picture(rgb, size, size, output_width);
}

std::vector<float> MtmdOracle::encode_picture(std::span<const std::uint8_t> rgb, std::size_t width,
                                              std::size_t height, std::size_t output_width) {
    const std::unique_ptr<mtmd_bitmap, void (*)(mtmd_bitmap*)> bitmap(
        mtmd_bitmap_init(static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(height), rgb.data()),
        mtmd_bitmap_free);
    const std::unique_ptr<mtmd_input_chunks, void (*)(mtmd_input_chunks*)> chunks(mtmd_input_chunks_init(),
                                                                                  mtmd_input_chunks_free);
    const mtmd_input_part part = {.text = nullptr, .bitmap = bitmap.get()};
    const mtmd_input_part* parts[] = {&part};
    if (mtmd_tokenize_from_parts(context_.get(), chunks.get(), parts, 1, false) != 0) return {};
    std::vector<float> tokens;
    for (std::size_t i = 0; i < mtmd_input_chunks_size(chunks.get()); ++i) {
        const mtmd_input_chunk* chunk = mtmd_input_chunks_get(chunks.get(), i);
        if (mtmd_input_chunk_get_type(chunk) != MTMD_INPUT_CHUNK_TYPE_IMAGE) continue;
        layers_.clear();
        const auto start = std::chrono::steady_clock::now();
        if (mtmd_encode_chunk(context_.get(), chunk) != 0) return {};
        encode_ms_ =
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
        const float* values = mtmd_get_output_embd(context_.get());
        tokens.insert(tokens.end(), values, values + mtmd_input_chunk_get_n_tokens(chunk) * output_width);
    }
    return tokens;
}

std::vector<std::uint8_t> random_rgb(std::size_t size, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<std::uint8_t> rgb(3 * size * size);
    for (std::size_t i = 0; i < rgb.size(); ++i) {
        const double wave =
            100.0 + 80.0 * std::sin(0.05 * static_cast<double>(i / 3 % size) +
                                    0.03 * static_cast<double>(i / 3 / size) + static_cast<double>(i % 3));
        rgb[i] = static_cast<std::uint8_t>(wave + static_cast<double>(random() % 60));
    }
    return rgb;
}

std::vector<float> normalised_planes(std::span<const std::uint8_t> rgb, std::span<const float, 3> mean,
                                     std::span<const float, 3> std) {
    const std::size_t n = rgb.size() / 3;
    std::vector<float> planes(rgb.size());
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t channel = 0; channel < 3; ++channel) {
            const float value = static_cast<float>(rgb[3 * i + channel]) / 255.0F;
            planes[channel * n + i] = (value - mean[channel]) / std[channel];
        }
    }
    return planes;
}

}  // namespace clasp::test
