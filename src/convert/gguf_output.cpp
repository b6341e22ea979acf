#include "convert/gguf_output.h"

#include <cerrno>
#include <csignal>
#include <filesystem>

#include "base/text.h"

namespace clasp::convert {
namespace {

std::vector<GgufTensorPlace> places_of(const OutputFile& output) {
    std::vector<GgufTensorPlace> places;
    for (const PlannedTensor& tensor : output.tensors) places.push_back(tensor.place);
    return places;
}

}  // namespace

std::uint64_t output_bytes(const OutputFile& output) {
    std::uint64_t bytes = gguf_head(output.keys, places_of(output)).size();
    for (const PlannedTensor& tensor : output.tensors) {
        bytes += tensor.place.n_bytes + gguf_padding(tensor.place.n_bytes);
    }
    return bytes;
}

Result<GgufOutput> GgufOutput::create(const std::string& path) {
    CLASP_ASSIGN_OR_RETURN(base::AtomicFile file, base::AtomicFile::create(path));
    return GgufOutput(std::move(file));
}

Status GgufOutput::append(std::string_view bytes) {
    hash_.update(bytes);
    return file_.append(bytes);
}

Status GgufOutput::write(const OutputFile& output, ThreadPool& pool, const WriteProgress& progress) {
    CLASP_RETURN_IF_ERROR(append(gguf_head(output.keys, places_of(output))));
    for (const PlannedTensor& tensor : output.tensors) {
        const ByteSink sink = [&](std::string_view bytes) -> Status {
            Status written = append(bytes);
            if (!written.ok() || !progress || progress(bytes.size(), tensor.place.name)) return written;
            return {Code::Cancelled, "stopped; nothing was written"};
        };
        CLASP_RETURN_IF_ERROR(stream_tensor(tensor, pool, sink));
        const std::string padding(static_cast<std::size_t>(gguf_padding(tensor.place.n_bytes)), '\0');
        CLASP_RETURN_IF_ERROR(append(padding));
    }
    sha256_ = base::to_hex(hash_.finish());
    return ok_status();
}

void remove_stale(const std::string& path) {
    namespace fs = std::filesystem;
    const fs::path file(path);
    const std::string prefix = file.filename().string() + ".tmp-";
    const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
        const std::string name = it->path().filename().string();
        if (!name.starts_with(prefix)) continue;
        const auto parts = base::split(std::string_view(name).substr(prefix.size()), '-');
        const auto process = parts.size() == 2 ? base::parse_size(parts[0]) : std::nullopt;
        if (!process || *process == 0 || *process > 0x7fffffff || !base::parse_size(parts[1])) continue;
        if (::kill(static_cast<pid_t>(*process), 0) == 0 || errno != ESRCH) continue;
        std::error_code ignored;
        fs::remove(it->path(), ignored);
    }
}

}  // namespace clasp::convert
