// Folders of checkpoints, made from a pair of GGUF files whose numbers are known: names, orders of rows and
// fused matrices of the checkpoints are written straight from their authors' code, the other way round than
// the converter goes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "made_files.h"
#include "support/gguf_edit.h"

namespace clasp::test {

// How the weights are stored.
struct CheckpointForm {
    bool is_torch = false;
    std::size_t n_files = 1;
    std::string dtype = "F32";
    bool is_64 = false;  // zip64
};

// Tensors in F32 become tensors of the form's type, rounded to nearest even.
std::string as_dtype(const std::string& float_bytes, const std::string& dtype);
// And back.
std::vector<float> floats_of(const std::string& bytes, const std::string& dtype);

// Writes model.safetensors or pytorch_model.bin, or several files and their index.
void write_weights(const std::filesystem::path& folder, const std::vector<MadeTensor>& tensors,
                   const CheckpointForm& form);
void write_text_file(const std::filesystem::path& path, const std::string& text);
void write_json(const std::filesystem::path& path, const base::Json& json);

// A text model: all tensors of the GGUF file under the names of its class at Hugging Face.
std::vector<MadeTensor> text_tensors(const EditedGguf& file, const std::string& body,
                                     const std::string& head);
// Its config, in the class's words.
base::Json text_config(const EditedGguf& file);
// tokenizer.model with its tokens; those of type control behind the first `n_own` go to
// tokenizer_config.json.
void write_tokenizer(const std::filesystem::path& folder, const EditedGguf& file, std::size_t n_own);
std::string sentencepiece_of(const EditedGguf& file, std::size_t n_own);

// CLIP's tower of a vision file, and blocks behind the last one that are not used.
std::vector<MadeTensor> clip_tensors(const EditedGguf& file, const std::string& prefix, std::size_t n_more);
base::Json clip_config(const EditedGguf& file, std::size_t n_more);
std::vector<MadeTensor> llava_projector(const EditedGguf& file, const std::string& first,
                                        const std::string& second);
// InternVL's tower and projector, and its config without llm_config.
std::vector<MadeTensor> internvl_tensors(const EditedGguf& file);
base::Json internvl_config(const EditedGguf& file);

// A tensor of the file as it is, under another name: shape turned round.
MadeTensor renamed(const EditedGguf& file, const std::string& stored, const std::string& name);

EditedGguf read_gguf(const std::string& path);
// Numbers of a tensor in F32 or F16.
std::vector<float> tensor_values(const EditedTensor& tensor);
// Numbers of keys.
std::uint32_t key_u32(const EditedGguf& file, const std::string& name);
float key_f32(const EditedGguf& file, const std::string& name);
std::string key_text(const EditedGguf& file, const std::string& name);
std::vector<std::string> key_texts(const EditedGguf& file, const std::string& name);
template <typename T>
std::vector<T> key_array(const EditedGguf& file, const std::string& name);

}  // namespace clasp::test
