// Any bytes as a text model: our reader and checks refuse it with a message, or else ggml's own reader and
// libllama's vocabulary, which abort on what they do not expect, must take it or refuse it.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>

#include "gguf.h"
#include "llama.h"
#include "model/gguf_reader.h"
#include "model/text_config.h"

namespace {

constexpr std::int32_t kMaxVocabulary = 4096;

// The bytes as a file that has a path.
class MemoryFile {
   public:
    MemoryFile(const std::uint8_t* data, std::size_t size) : file_(::memfd_create("model", 0)) {
        for (std::size_t at = 0; at < size;) {
            const ssize_t n = ::write(file_, data + at, size - at);
            if (n <= 0) std::abort();
            at += static_cast<std::size_t>(n);
        }
    }
    ~MemoryFile() { ::close(file_); }
    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;
    [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

   private:
    int file_;
};

struct FreeModel {
    void operator()(llama_model* model) const { llama_model_free(model); }
};

bool passes_checks(std::span<const std::byte> bytes, std::int32_t& vocabulary) {
    const auto file = clasp::model::GgufReader::parse(bytes);
    if (!file.ok()) return false;
    const auto config = clasp::model::read_text_config(*file);
    if (!config.ok()) return false;
    vocabulary = config->vocabulary;
    return clasp::model::check_vocabulary(*file).ok() &&
           clasp::model::check_text_tensors(*file, *config).ok();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const bool is_quiet = [] {
        llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
        return true;
    }();
    static_cast<void>(is_quiet);
    std::int32_t vocabulary = 0;
    if (!passes_checks(std::as_bytes(std::span(data, size)), vocabulary)) return 0;
    if (vocabulary > kMaxVocabulary) return 0;
    const MemoryFile file(data, size);
    gguf_context* container = gguf_init_from_file(file.path().c_str(), {.no_alloc = true, .ctx = nullptr});
    if (container == nullptr) return 0;  // refusing is an answer too
    gguf_free(container);
    llama_model_params parameters = llama_model_default_params();
    parameters.vocab_only = true;
    const std::unique_ptr<llama_model, FreeModel> model(
        llama_model_load_from_file(file.path().c_str(), parameters));
    static_cast<void>(model);
    return 0;
}
