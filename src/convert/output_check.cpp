// The engine's own checks over a file that is not written yet: its head lies in front of memory that is
// reserved, so that offsets are right, and that nobody may touch.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "convert/gguf_output.h"
#include "model/gguf_metadata.h"
#include "model/gguf_reader.h"
#include "model/text_config.h"
#include "model/text_file.h"
#include "model/vision_tower.h"

namespace clasp::convert {
namespace {

class ReservedFile {
   public:
    static Result<ReservedFile> make(const OutputFile& output) {
        std::vector<GgufTensorPlace> places;
        for (const PlannedTensor& tensor : output.tensors) places.push_back(tensor.place);
        const std::string head = gguf_head(output.keys, places);
        ReservedFile file;
        file.size_ = static_cast<std::size_t>(output_bytes(output));
        void* const address =
            ::mmap(nullptr, file.size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        const std::size_t head_pages = (head.size() + page - 1) / page * page;
        if (address == MAP_FAILED) {
            return Status(Code::OutOfMemory, "there is no room in memory to check a file of " +
                                                 std::to_string(file.size_) + " bytes");
        }
        file.address_ = address;
        if (::mprotect(address, head_pages, PROT_READ | PROT_WRITE) != 0) {
            return Status(Code::OutOfMemory, "there is no memory for the head of a file");
        }
        std::memcpy(address, head.data(), head.size());
        return file;
    }
    ReservedFile(ReservedFile&& other) noexcept
        : address_(std::exchange(other.address_, nullptr)), size_(other.size_) {}
    ReservedFile& operator=(ReservedFile&&) = delete;
    ReservedFile(const ReservedFile&) = delete;
    ReservedFile& operator=(const ReservedFile&) = delete;
    ~ReservedFile() {
        if (address_ != nullptr) ::munmap(address_, size_);
    }

    [[nodiscard]] std::span<const std::byte> bytes() const {
        return {static_cast<const std::byte*>(address_), size_};
    }

   private:
    ReservedFile() = default;

    void* address_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace

Status check_text_output(const OutputFile& output) {
    CLASP_ASSIGN_OR_RETURN(const ReservedFile file, ReservedFile::make(output));
    CLASP_ASSIGN_OR_RETURN(const auto reader, model::GgufReader::parse(file.bytes()));
    CLASP_ASSIGN_OR_RETURN(const model::TextConfig config, model::read_text_config(reader));
    CLASP_RETURN_IF_ERROR(model::check_vocabulary(reader));
    CLASP_RETURN_IF_ERROR(model::check_container(reader));
    return model::check_text_tensors(reader, config);
}

Result<bool> check_vision_output(const OutputFile& output, std::uint64_t text_width) {
    constexpr const char* kContext = "the vision file would not load";
    CLASP_ASSIGN_OR_RETURN(const ReservedFile file, ReservedFile::make(output));
    CLASP_ASSIGN_OR_RETURN(const auto reader, model::GgufReader::parse(file.bytes()));
    CLASP_ASSIGN_OR_RETURN(const auto projector, model::read_string(reader, "clip.projector_type"));
    const auto known = model::supported_projector_types();
    if (std::find(known.begin(), known.end(), projector) == known.end()) return false;
    const auto tower = model::open_vision_tower(reader);
    if (!tower.ok()) return tower.status().with_context(kContext);
    if ((*tower)->info().output_width == text_width) return true;
    return Status(Code::Corrupt, std::string(kContext) + ": the projector makes rows of " +
                                     std::to_string((*tower)->info().output_width) +
                                     ", but the decoder takes rows of " + std::to_string(text_width));
}

}  // namespace clasp::convert
