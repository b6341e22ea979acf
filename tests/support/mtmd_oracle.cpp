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

namespace {

using Bitmap = std::unique_ptr<mtmd_bitmap, void (*)(mtmd_bitmap*)>;
using Chunks = std::unique_ptr<mtmd_input_chunks, void (*)(mtmd_input_chunks*)>;

Bitmap make_bitmap(std::span<const std::uint8_t> rgb, std::size_t width, std::size_t height) {
    return {
        mtmd_bitmap_init(static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(height), rgb.data()),
        mtmd_bitmap_free};
}

Chunks make_chunks() {
    return {mtmd_input_chunks_init(), mtmd_input_chunks_free};
}

// No chunks on failure.
Chunks cut_prompt(mtmd_context* context, const std::string& prompt, std::span<const Image> pictures) {
    std::vector<Bitmap> owned;
    std::vector<const mtmd_bitmap*> bitmaps;
    for (const Image& picture : pictures) {
        owned.push_back(make_bitmap(picture.rgb, static_cast<std::size_t>(picture.width),
                                    static_cast<std::size_t>(picture.height)));
        bitmaps.push_back(owned.back().get());
    }
    Chunks chunks = make_chunks();
    const mtmd_input_text text = {
        .text = prompt.c_str(), .text_len = prompt.size(), .add_special = true, .parse_special = true};
    if (mtmd_tokenize(context, chunks.get(), &text, bitmaps.data(), bitmaps.size()) != 0) chunks.reset();
    return chunks;
}

}  // namespace

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
    // Views and copies of it have its name with a remark.
    if (!name.starts_with(kPrefix) || name.find(' ') != std::string_view::npos) return !ask;
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
    const Bitmap bitmap = make_bitmap(rgb, width, height);
    const Chunks chunks = make_chunks();
    const mtmd_input_part part = {.text = nullptr, .bitmap = bitmap.get()};
    const mtmd_input_part* parts[] = {&part};
    if (mtmd_tokenize_from_parts(context_.get(), chunks.get(), parts, 1, false) != 0) return {};
    std::vector<float> tokens;
    for (const Chunk& chunk : encode_all(chunks.get(), output_width)) {
        tokens.insert(tokens.end(), chunk.rows.begin(), chunk.rows.end());
    }
    return tokens;
}

std::vector<float> MtmdOracle::encode_clip(std::span<const Image> frames, std::size_t output_width) {
    std::vector<Bitmap> bitmaps;
    std::vector<mtmd_input_part> parts;
    std::vector<const mtmd_input_part*> pointers;
    for (const Image& frame : frames) {
        bitmaps.push_back(make_bitmap(frame.rgb, static_cast<std::size_t>(frame.width),
                                      static_cast<std::size_t>(frame.height)));
        mtmd_bitmap_set_mergeable(bitmaps.back().get(), true);
        parts.push_back({.text = nullptr, .bitmap = bitmaps.back().get()});
    }
    for (const mtmd_input_part& part : parts) pointers.push_back(&part);
    const Chunks chunks = make_chunks();
    if (mtmd_tokenize_from_parts(context_.get(), chunks.get(), pointers.data(), pointers.size(), false) !=
        0) {
        return {};
    }
    std::vector<float> tokens;
    for (const Chunk& chunk : encode_all(chunks.get(), output_width)) {
        tokens.insert(tokens.end(), chunk.rows.begin(), chunk.rows.end());
    }
    return tokens;
}

std::vector<MtmdOracle::Chunk> MtmdOracle::see_prompt(const std::string& prompt,
                                                      std::span<const Image> pictures,
                                                      std::size_t output_width) {
    const Chunks chunks = cut_prompt(context_.get(), prompt, pictures);
    return chunks == nullptr ? std::vector<Chunk>() : encode_all(chunks.get(), output_width);
}

std::vector<MtmdOracle::Chunk> MtmdOracle::encode_all(const mtmd_input_chunks* chunks,
                                                      std::size_t output_width) {
    std::vector<Chunk> all;
    for (std::size_t i = 0; i < mtmd_input_chunks_size(chunks); ++i) {
        const mtmd_input_chunk* chunk = mtmd_input_chunks_get(chunks, i);
        if (mtmd_input_chunk_get_type(chunk) == MTMD_INPUT_CHUNK_TYPE_TEXT) {
            std::size_t n = 0;
            const llama_token* tokens = mtmd_input_chunk_get_tokens_text(chunk, &n);
            all.push_back({.text = {tokens, tokens + n}, .rows = {}});
            continue;
        }
        layers_.clear();
        const auto start = std::chrono::steady_clock::now();
        if (mtmd_encode_chunk(context_.get(), chunk) != 0) return {};
        encode_ms_ =
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
        const float* values = mtmd_get_output_embd(context_.get());
        const std::size_t n_values = mtmd_input_chunk_get_n_tokens(chunk) * output_width;
        all.push_back({.text = {}, .rows = {values, values + n_values}});
    }
    return all;
}

llama_pos MtmdOracle::read_prompt(llama_context* into, const std::string& prompt,
                                  std::span<const Image> pictures) {
    const Chunks chunks = cut_prompt(context_.get(), prompt, pictures);
    if (chunks == nullptr) return -1;
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
