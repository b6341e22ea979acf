// libmtmd, llama.cpp's own front end for pictures, loaded when a vision file needs it: nothing else waits for
// it. Its types as it declares them in the pinned release; a test compares them with its header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "clasp/status.h"
#include "ggml-backend.h"
#include "llama.h"

namespace clasp::model {

struct MtmdContext;
struct MtmdBitmap;
struct MtmdChunks;
struct MtmdChunk;
struct MtmdImageTokens;

struct MtmdParameters {
    bool use_gpu;
    ggml_backend_dev_t device;
    bool print_timings;
    int n_threads;
    const char* image_marker;
    const char* media_marker;
    llama_flash_attn_type flash_attn_type;
    bool warmup;
    int image_min_tokens;
    int image_max_tokens;
    ggml_backend_sched_eval_callback cb_eval;
    void* cb_eval_user_data;
    std::int32_t batch_max_tokens;
    bool (*progress_callback)(float progress, void* user_data);
    void* progress_callback_user_data;
};

// A text or a picture; texts are not used here.
struct MtmdPart {
    const void* text;
    const MtmdBitmap* bitmap;
};

enum class MtmdChunkType : std::uint8_t { Text = 0, Image = 1 };

struct MtmdLibrary {
    MtmdParameters (*context_params_default)();
    MtmdContext* (*init_from_file)(const char* path, const llama_model* text, MtmdParameters parameters);
    void (*free)(MtmdContext* context);
    void (*log_set)(ggml_log_callback callback, void* user);
    bool (*support_vision)(const MtmdContext* context);
    bool (*decode_use_non_causal)(const MtmdContext* context, const MtmdChunk* chunk);
    // Without data: a picture of that size, to learn what becomes of it.
    MtmdBitmap* (*bitmap_init)(std::uint32_t width, std::uint32_t height, const unsigned char* rgb);
    void (*bitmap_free)(MtmdBitmap* bitmap);
    MtmdChunks* (*input_chunks_init)();
    std::size_t (*input_chunks_size)(const MtmdChunks* chunks);
    const MtmdChunk* (*input_chunks_get)(const MtmdChunks* chunks, std::size_t index);
    void (*input_chunks_free)(MtmdChunks* chunks);
    int (*input_chunk_get_type)(const MtmdChunk* chunk);
    const llama_token* (*input_chunk_get_tokens_text)(const MtmdChunk* chunk, std::size_t* n_tokens);
    const MtmdImageTokens* (*input_chunk_get_tokens_image)(const MtmdChunk* chunk);
    std::size_t (*input_chunk_get_n_tokens)(const MtmdChunk* chunk);
    std::size_t (*image_tokens_get_nx)(const MtmdImageTokens* tokens);
    std::size_t (*image_tokens_get_ny)(const MtmdImageTokens* tokens);
    std::int32_t (*tokenize_from_parts)(const MtmdContext* context, MtmdChunks* output,
                                        const MtmdPart* const* parts, std::size_t n_parts, bool add_special);
    std::int32_t (*encode_chunk)(MtmdContext* context, const MtmdChunk* chunk);
    float* (*get_output_embd)(MtmdContext* context);
};

// From this file. Error: unavailable, with the command that builds it.
Result<MtmdLibrary> load_mtmd(const std::string& file);

// From the file that CLASP_MTMD names, or that scripts/build-llama --mtmd puts into the user's cache; loaded
// once for the process.
Result<const MtmdLibrary*> mtmd_library();

}  // namespace clasp::model
