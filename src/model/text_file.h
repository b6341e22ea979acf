// A text GGUF file on its way into libllama, which trusts files and aborts on some: everything that it would
// trust is checked first. Loading a model and telling whether it could be loaded go the same way here, so
// that they cannot disagree.
#pragma once

#include <memory>
#include <string>

#include "base/file.h"
#include "base/mapped_file.h"
#include "clasp/status.h"
#include "model/backend.h"
#include "model/gguf_reader.h"
#include "model/packed_file.h"
#include "model/text_config.h"

struct llama_model;
struct llama_model_params;

namespace clasp::model {

struct FreeLlamaModel {
    void operator()(llama_model* model) const;
};
using LlamaModelPointer = std::unique_ptr<llama_model, FreeLlamaModel>;

// Where libllama may put the tensors of a file that it maps: its CPU backend wants them at multiples of this.
inline constexpr std::size_t kTextAlignment = 32;

// What libllama and ggml take on trust in any text model, whatever its architecture: the alignment and the
// types of tensors.
Status check_container(const GgufReader& file);

// Loads the open file, not whatever its path names by now. The error carries the reason that libllama gives
// to its log. Errors: unsupported, out_of_memory, unavailable.
Result<LlamaModelPointer> load_llama_model(const base::InputFile& file, const llama_model_params& params);

struct FreeBuffer {
    void operator()(ggml_backend_buffer_t buffer) const { ggml_backend_buffer_free(buffer); }
};

struct TextFile {
    TextConfig config;
    LlamaModelPointer model;
    // Of map_text_file(): the tensors' data, and what stands for it in ggml. Both must outlive the tensors.
    base::MappedFile mapped;
    std::unique_ptr<ggml_backend_buffer, FreeBuffer> buffer;
    PackedKey packed_key;
};

// Checks the file and loads it; libllama puts the weights where the parameters say.
Result<TextFile> open_text_file(const std::string& path, const llama_model_params& params);

// The same for the CPU, with the weights where they are: libllama reads all but the data of tensors, which
// are then found in the mapped file. Nothing of it is read before it is needed, where libllama would bring
// the whole file into memory first, even what is going to be packed.
Result<TextFile> map_text_file(const std::string& path, const Compute& compute);

// The same without the data of weights: fails where open_text_file() would, memory apart.
Status check_text_file(const base::InputFile& file, const GgufReader& reader);

}  // namespace clasp::model
