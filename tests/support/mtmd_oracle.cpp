#include "support/mtmd_oracle.h"

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <numeric>
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

llama_pos MtmdOracle::read_prompt(llama_context* into, const std::string& prompt,
                                  std::span<const Image> pictures) {
    std::vector<std::unique_ptr<mtmd_bitmap, void (*)(mtmd_bitmap*)>> owned;
    std::vector<const mtmd_bitmap*> bitmaps;
    for (const Image& picture : pictures) {
        owned.emplace_back(mtmd_bitmap_init(static_cast<std::uint32_t>(picture.width),
                                            static_cast<std::uint32_t>(picture.height), picture.rgb.data()),
                           mtmd_bitmap_free);
        bitmaps.push_back(owned.back().get());
    }
    const std::unique_ptr<mtmd_input_chunks, void (*)(mtmd_input_chunks*)> chunks(mtmd_input_chunks_init(),
                                                                                  mtmd_input_chunks_free);
    const mtmd_input_text text = {
        .text = prompt.c_str(), .text_len = prompt.size(), .add_special = true, .parse_special = true};
    if (mtmd_tokenize(context_.get(), chunks.get(), &text, bitmaps.data(), bitmaps.size()) != 0) return -1;
    llama_pos next = 0;
    for (std::size_t i = 0; i < mtmd_input_chunks_size(chunks.get()); ++i) {
        const mtmd_input_chunk* chunk = mtmd_input_chunks_get(chunks.get(), i);
        const bool is_image = mtmd_input_chunk_get_type(chunk) == MTMD_INPUT_CHUNK_TYPE_IMAGE;
        if (!(is_image ? read_image(into, chunk, next) : read_text(into, chunk, next))) return -1;
        next += mtmd_input_chunk_get_n_pos(chunk);
    }
    return next;
}

bool MtmdOracle::read_text(llama_context* into, const mtmd_input_chunk* chunk, llama_pos first) {
    std::size_t n = 0;
    const llama_token* tokens = mtmd_input_chunk_get_tokens_text(chunk, &n);
    return read_tokens(into, {tokens, n}, first);
}

bool MtmdOracle::read_tokens(llama_context* into, std::span<const llama_token> tokens, llama_pos first) {
    std::vector<llama_token> ids(tokens.begin(), tokens.end());
    std::vector<llama_pos> positions(ids.size());
    std::iota(positions.begin(), positions.end(), first);
    llama_batch batch = llama_batch_get_one(ids.data(), static_cast<std::int32_t>(ids.size()));
    batch.pos = positions.data();
    return llama_decode(into, batch) == 0;
}

// As libmtmd's own helper does it, but for one picture as one batch.
bool MtmdOracle::read_image(llama_context* into, const mtmd_input_chunk* chunk, llama_pos first) {
    if (mtmd_encode_chunk(context_.get(), chunk) != 0) return false;
    const mtmd_image_tokens* image = mtmd_input_chunk_get_tokens_image(chunk);
    const std::size_t n = mtmd_input_chunk_get_n_tokens(chunk);
    const bool has_planes = mtmd_decode_use_mrope(context_.get());
    std::vector<llama_pos> positions(has_planes ? 4 * n : n);
    for (std::size_t i = 0; i < n; ++i) {
        if (has_planes) {
            const mtmd_decoder_pos at = mtmd_image_tokens_get_decoder_pos(image, first, i);
            positions[i] = static_cast<llama_pos>(at.t);
            positions[n + i] = static_cast<llama_pos>(at.y);
            positions[2 * n + i] = static_cast<llama_pos>(at.x);
        } else {
            positions[i] = first + static_cast<llama_pos>(i);
        }
    }
    llama_batch batch = {};
    batch.n_tokens = static_cast<std::int32_t>(n);
    batch.embd = mtmd_get_output_embd(context_.get());
    batch.pos = positions.data();
    return llama_decode(into, batch) == 0;
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
