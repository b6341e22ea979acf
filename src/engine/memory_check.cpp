#include "engine/memory_check.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "base/control_groups.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "model/gguf_reader.h"
#include "model/text_model_repack.h"
#include "model/vision_model.h"

namespace clasp::engine {

namespace {

std::string megabytes(std::size_t bytes) {
    return base::format_number(static_cast<double>(bytes) / 1e6, 1) + " MB";
}

std::size_t repacked_bytes(const base::MappedFile& file, const model::Compute& compute,
                           model::DecoderKernels kernels) {
    const auto reader = model::GgufReader::parse(file.bytes());
    return reader.ok() ? model::repacked_bytes(compute, *reader, kernels) : 0;
}

// A lower bound: matrices are kept in two bytes a number or fewer, those of 8 and 4 bits with two more for
// every 32, and what has no blocks takes more.
std::size_t vision_bytes(const base::MappedFile& file, model::VisionWeights weights) {
    const auto info = model::inspect_vision(file.bytes());
    if (!info.ok()) return 0;
    std::size_t block_bytes = 64;
    if (weights == model::VisionWeights::Q8) block_bytes = 34;
    if (weights == model::VisionWeights::Q4_0) block_bytes = 18;
    return std::min(file.bytes().size(), info->n_parameters * block_bytes / 32);
}

// "MemAvailable:   1234 kB" of /proc/meminfo, in bytes.
std::size_t memory_line(const std::string& text, std::string_view name) {
    const std::size_t at = text.find(std::string(name) + ":");
    if (at == std::string::npos) return 0;
    std::istringstream in(text.substr(at + name.size() + 1));
    std::size_t kilobytes = 0;
    in >> kilobytes;
    return kilobytes * 1024;
}

}  // namespace

MemoryNeed memory_need(const std::string& model, const std::string& mmproj, model::VisionWeights weights,
                       model::DecoderKernels kernels, const model::Compute& compute) {
    MemoryNeed need;
    if (const auto text = base::MappedFile::open(model); text.ok()) {
        need.mapped_bytes += text->bytes().size();
        need.kept_bytes += repacked_bytes(*text, compute, kernels);
    }
    if (const auto vision = base::MappedFile::open(mmproj); vision.ok()) {
        need.mapped_bytes += vision->bytes().size();
        need.kept_bytes += vision_bytes(*vision, weights);
    }
    return need;
}

MemoryRoom memory_room() {
    MemoryRoom room;
    struct rlimit limit {};
    if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        std::istringstream in(base::kernel_text("/proc/self/statm"));
        std::size_t pages = 0;
        in >> pages;
        const std::size_t used = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        room.address_bytes = limit.rlim_cur > used ? static_cast<std::size_t>(limit.rlim_cur) - used : 0;
    }
    const std::string memory = base::kernel_text("/proc/meminfo");
    room.total_bytes = memory_line(memory, "MemTotal") + memory_line(memory, "SwapTotal");
    room.free_bytes = memory_line(memory, "MemAvailable") + memory_line(memory, "SwapFree");
    const auto quota = base::memory_quota(base::kernel_text("/proc/self/cgroup"), "/sys/fs/cgroup");
    if (quota && *quota < static_cast<double>(room.total_bytes)) {
        room.total_bytes = static_cast<std::size_t>(*quota);
        room.free_bytes = std::min(room.free_bytes, room.total_bytes);
    }
    return room;
}

Result<std::string> judge_memory(const MemoryNeed& need, const MemoryRoom& room) {
    const std::size_t addresses = need.mapped_bytes + need.kept_bytes;
    if (room.address_bytes && addresses > *room.address_bytes) {
        return Status(Code::OutOfMemory, "the two model files need at least " + megabytes(addresses) +
                                             " of address space, but the limit of this process (ulimit -v) "
                                             "leaves " +
                                             megabytes(*room.address_bytes));
    }
    if (room.total_bytes != 0 && need.kept_bytes > room.total_bytes) {
        return Status(Code::OutOfMemory, "the weights need at least " + megabytes(need.kept_bytes) +
                                             " of memory, but there are " + megabytes(room.total_bytes) +
                                             " in all");
    }
    if (room.total_bytes != 0 && need.kept_bytes > room.free_bytes) {
        return "the weights need at least " + megabytes(need.kept_bytes) + " of memory, but " +
               megabytes(room.free_bytes) + " are free: this may be slow, or be ended by the system";
    }
    return std::string();
}

}  // namespace clasp::engine
