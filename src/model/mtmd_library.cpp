#include "model/mtmd_library.h"

#include <dlfcn.h>

#include <cstdlib>

#include "base/text.h"
#include "model/ggml_libraries.h"

namespace clasp::model {

namespace {

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

std::string usual_file() {
    std::string named = variable("CLASP_MTMD");
    if (!named.empty()) return named;
    std::string folder = variable("XDG_CACHE_HOME");
    if (folder.empty()) folder = variable("HOME") + "/.cache";
    return folder + "/clasp/llama/mtmd-v" + compiled_versions().llama + ".so";
}

Status unavailable(const std::string& file, const std::string& why) {
    return {Code::Unavailable, "libmtmd, which reads vision files of this kind, cannot be loaded from " +
                                   base::path_in_quotes(file) + ": " + why +
                                   "; scripts/build-llama --mtmd builds it"};
}

template <typename Function>
bool find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
}

}  // namespace

Result<MtmdLibrary> load_mtmd(const std::string& file) {
    // Never closed: what it registered with ggml stays.
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char* why = dlerror();
        return unavailable(file, base::printable(why != nullptr ? why : "unknown"));
    }
    MtmdLibrary all = {};
    const char* missing = nullptr;
    const auto need = [&](const char* name, auto& function) {
        if (!find(library, name, function) && missing == nullptr) missing = name;
    };
    need("mtmd_context_params_default", all.context_params_default);
    need("mtmd_init_from_file", all.init_from_file);
    need("mtmd_free", all.free);
    need("mtmd_log_set", all.log_set);
    need("mtmd_support_vision", all.support_vision);
    need("mtmd_decode_use_non_causal", all.decode_use_non_causal);
    need("mtmd_bitmap_init", all.bitmap_init);
    need("mtmd_bitmap_free", all.bitmap_free);
    need("mtmd_input_chunks_init", all.input_chunks_init);
    need("mtmd_input_chunks_size", all.input_chunks_size);
    need("mtmd_input_chunks_get", all.input_chunks_get);
    need("mtmd_input_chunks_free", all.input_chunks_free);
    need("mtmd_input_chunk_get_type", all.input_chunk_get_type);
    need("mtmd_input_chunk_get_tokens_text", all.input_chunk_get_tokens_text);
    need("mtmd_input_chunk_get_tokens_image", all.input_chunk_get_tokens_image);
    need("mtmd_input_chunk_get_n_tokens", all.input_chunk_get_n_tokens);
    need("mtmd_image_tokens_get_nx", all.image_tokens_get_nx);
    need("mtmd_image_tokens_get_ny", all.image_tokens_get_ny);
    need("mtmd_tokenize_from_parts", all.tokenize_from_parts);
    need("mtmd_encode_chunk", all.encode_chunk);
    need("mtmd_get_output_embd", all.get_output_embd);
    if (missing != nullptr) return unavailable(file, "it has no function " + std::string(missing));
    return all;
}

Result<const MtmdLibrary*> mtmd_library() {
    static const Result<MtmdLibrary> library = load_mtmd(usual_file());
    if (!library.ok()) return library.status();
    return &*library;
}

}  // namespace clasp::model
