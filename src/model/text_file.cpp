#include "model/text_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <new>
#include <utility>

#include "base/mapped_file.h"
#include "base/text.h"
#include "llama-model.h"
#include "llama.h"
#include "model/backend.h"
#include "model/weight_types.h"

namespace clasp::model {
namespace {

struct CloseStream {
    void operator()(std::FILE* stream) const { std::fclose(stream); }
};

// A stream of its own over the open file, at its beginning.
Result<std::unique_ptr<std::FILE, CloseStream>> as_stream(const base::InputFile& file) {
    const std::string name = base::path_in_quotes(file.path());
    const int descriptor = ::fcntl(file.descriptor(), F_DUPFD_CLOEXEC, 0);
    if (descriptor < 0) return Status(Code::Unavailable, "no more files can be opened to read " + name);
    if (::lseek(descriptor, 0, SEEK_SET) < 0) {
        ::close(descriptor);
        return Status(Code::Unavailable, "cannot read " + name + " from its beginning");
    }
    std::unique_ptr<std::FILE, CloseStream> stream(::fdopen(descriptor, "rb"));
    if (stream != nullptr) return stream;
    ::close(descriptor);
    return Status(Code::OutOfMemory, "there is not enough memory to read " + name);
}

Result<TextConfig> check_description(const GgufReader& file) {
    CLASP_ASSIGN_OR_RETURN(TextConfig config, read_text_config(file));
    CLASP_RETURN_IF_ERROR(check_vocabulary(file));
    CLASP_RETURN_IF_ERROR(check_container(file));
    CLASP_RETURN_IF_ERROR(check_text_tensors(file, config));
    return config;
}

// What libllama made of the vocabulary.
Status check_loaded(const llama_model* model, const TextConfig& config) {
    const llama_vocab* vocabulary = llama_model_get_vocab(model);
    const std::int32_t n = llama_vocab_n_tokens(vocabulary);
    if (n != config.vocabulary) {
        return {Code::Internal, "libllama sees " + std::to_string(n) + " tokens, the file has " +
                                    std::to_string(config.vocabulary)};
    }
    // libllama would abort in the tokenizer.
    if (llama_vocab_get_add_bos(vocabulary) && llama_vocab_bos(vocabulary) == LLAMA_TOKEN_NULL) {
        return {Code::Corrupt, "the vocabulary wants a first token but names none"};
    }
    if (llama_vocab_get_add_eos(vocabulary) && llama_vocab_eos(vocabulary) == LLAMA_TOKEN_NULL) {
        return {Code::Corrupt, "the vocabulary wants a last token but names none"};
    }
    return ok_status();
}

Result<TextFile> load_checked(const base::InputFile& file, TextConfig config,
                              const llama_model_params& params) {
    TextFile result;
    result.config = std::move(config);
    CLASP_ASSIGN_OR_RETURN(result.model, load_llama_model(file, params));
    CLASP_RETURN_IF_ERROR(check_loaded(result.model.get(), result.config));
    return result;
}

// Everything but the data of tensors.
llama_model_params params_without_data() {
    static const std::array<ggml_backend_dev_t, 1> kNoDevices = {nullptr};
    llama_model_params params = llama_model_default_params();
    params.devices = const_cast<ggml_backend_dev_t*>(kNoDevices.data());
    params.n_gpu_layers = 0;
    params.use_extra_bufts = false;
    params.no_alloc = true;
    params.load_mode = LLAMA_LOAD_MODE_NONE;
    return params;
}

// Lets the tensors of a model that was loaded without data find it in the mapped file.
Status attach_data(const GgufReader& reader, const Compute& compute, TextFile& file) {
    const std::span<const std::byte> bytes = file.mapped.bytes();
    std::size_t largest = 0;
    for (const GgufTensor& tensor : reader.tensors()) largest = std::max(largest, tensor.data.size());
    // ggml takes memory that it may write to; nothing writes to weights.
    file.buffer.reset(ggml_backend_dev_buffer_from_host_ptr(
        compute.cpu(), const_cast<std::byte*>(bytes.data()), bytes.size(), largest));
    if (file.buffer == nullptr) return {Code::OutOfMemory, "no memory to describe the weights"};
    ggml_backend_buffer_set_usage(file.buffer.get(), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    for (const auto& [name, tensor] : llama_internal_get_tensor_map(file.model.get())) {
        const GgufTensor* stored = reader.find_tensor(name);
        if (stored == nullptr || stored->type != tensor->type || stored->data.size() != ggml_nbytes(tensor)) {
            return {Code::Internal, "libllama and the file do not mean the same by the tensor " + name};
        }
        tensor->buffer = file.buffer.get();
        tensor->data = const_cast<std::byte*>(stored->data.data());
    }
    // From here on it is a model like any other.
    file.model->hparams.no_alloc = false;
    return ok_status();
}

// Mapped for the time of the checks only: libllama maps the file again.
Result<TextConfig> read_checked_config(const base::InputFile& file) {
    CLASP_ASSIGN_OR_RETURN(const base::MappedFile mapped, base::MappedFile::map(file));
    CLASP_ASSIGN_OR_RETURN(const GgufReader reader, GgufReader::parse(mapped.bytes()));
    return check_description(reader);
}

Result<TextFile> map_checked(const base::InputFile& file, const Compute& compute) {
    CLASP_ASSIGN_OR_RETURN(base::MappedFile mapped, base::MappedFile::map(file));
    CLASP_ASSIGN_OR_RETURN(const GgufReader reader, GgufReader::parse(mapped.bytes()));
    CLASP_ASSIGN_OR_RETURN(TextConfig config, check_description(reader));
    CLASP_ASSIGN_OR_RETURN(TextFile result, load_checked(file, std::move(config), params_without_data()));
    result.mapped = std::move(mapped);
    CLASP_RETURN_IF_ERROR(attach_data(reader, compute, result));
    CLASP_ASSIGN_OR_RETURN(result.packed_key, packed_key(file, result.mapped.bytes(), reader));
    return result;
}

}  // namespace

void FreeLlamaModel::operator()(llama_model* model) const {
    llama_model_free(model);
}

Status check_container(const GgufReader& file) {
    if (file.alignment() < kTextAlignment) {
        return {Code::Unsupported, "general.alignment is " + std::to_string(file.alignment()) +
                                       "; a text model is mapped into memory, where tensors must lie at "
                                       "multiples of " +
                                       std::to_string(kTextAlignment) + " bytes"};
    }
    for (const GgufTensor& tensor : file.tensors()) {
        CLASP_RETURN_IF_ERROR(check_weight_type(tensor.name, tensor.type, WeightRole::Matrix));
    }
    return ok_status();
}

Result<LlamaModelPointer> load_llama_model(const base::InputFile& file, const llama_model_params& params) {
    CLASP_RETURN_IF_ERROR(prepare_ggml());
    CLASP_ASSIGN_OR_RETURN(const auto stream, as_stream(file));
    const ErrorLines lines;
    try {
        LlamaModelPointer model(llama_model_load_from_file_ptr(stream.get(), params));
        if (model != nullptr) return model;
    } catch (const std::bad_alloc&) {
        return Status(Code::OutOfMemory, "there is not enough memory to load the model");
    } catch (const std::exception& error) {
        return Status(Code::Unsupported,
                      "libllama could not load the file: " + base::in_quotes(error.what()));
    }
    const std::string reason = lines.text();
    return Status(Code::Unsupported, "libllama could not load the file" +
                                         (reason.empty() ? " and gave no reason" : ": " + reason));
}

Result<TextFile> open_text_file(const std::string& path, const llama_model_params& params) {
    CLASP_ASSIGN_OR_RETURN(const base::InputFile file, base::InputFile::open(path));
    auto config = read_checked_config(file);
    if (!config.ok()) return config.status().with_context(path);
    auto result = load_checked(file, std::move(*config), params);
    if (!result.ok()) return result.status().with_context(path);
    return result;
}

Result<TextFile> map_text_file(const std::string& path, const Compute& compute) {
    CLASP_ASSIGN_OR_RETURN(const base::InputFile file, base::InputFile::open(path));
    auto result = map_checked(file, compute);
    if (!result.ok()) return result.status().with_context(path);
    return result;
}

Status check_text_file(const base::InputFile& file, const GgufReader& reader) {
    CLASP_ASSIGN_OR_RETURN(TextConfig config, check_description(reader));
    return load_checked(file, std::move(config), params_without_data()).status();
}

}  // namespace clasp::model
