#include "convert/checkpoint.h"

#include <sys/stat.h>

#include <array>
#include <set>

#include "base/text.h"
#include "convert/safetensors_reader.h"
#include "convert/torch_file.h"

namespace clasp::convert {
namespace {

using base::Json;

constexpr std::size_t kMaxJsonBytes = std::size_t{64} << 20U;
constexpr std::size_t kMaxJsonDepth = 32;
constexpr std::size_t kMaxShards = 4096;
constexpr std::size_t kMaxShardName = 255;
constexpr std::size_t kMaxCheckpointTensors = std::size_t{1} << 17U;  // some hundred times what models have
constexpr std::string_view kPointerMark = "version https://git-lfs";

std::string path_in(const std::string& folder, const std::string& name) {
    return folder + (folder.ends_with('/') ? "" : "/") + name;
}

// What is left of a large file where git has been told to fetch it later.
Status check_pointer(const ByteSource& source) {
    if (source.size() < kPointerMark.size()) return ok_status();
    CLASP_ASSIGN_OR_RETURN(const std::string head, source.read(0, kPointerMark.size()));
    if (head != kPointerMark) return ok_status();
    return source.refused(Code::Unsupported,
                          "it is a pointer of git-lfs, not the file itself; fetch it with git lfs pull");
}

bool is_plain_name(std::string_view name, bool is_safetensors) {
    if (name.empty() || name.size() > kMaxShardName || name.front() == '.') return false;
    for (const char c : name) {
        if (static_cast<unsigned char>(c) < 0x20 || c == '/' || c == '\\') return false;
    }
    return name.ends_with(is_safetensors ? ".safetensors" : ".bin");
}

}  // namespace

const StoredTensor* Checkpoint::find(std::string_view name) const {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : &found->second;
}

Status Checkpoint::add_file(const std::string& name, bool is_safetensors) {
    CLASP_ASSIGN_OR_RETURN(base::InputFile file, base::InputFile::open(path_in(folder_, name)));
    WeightFile weights = {.name = name, .source = std::make_unique<FileSource>(std::move(file))};
    CLASP_RETURN_IF_ERROR(check_pointer(*weights.source));
    std::vector<StoredTensor> tensors;
    if (is_safetensors) {
        CLASP_ASSIGN_OR_RETURN(tensors, read_safetensors(*weights.source));
    } else {
        CLASP_ASSIGN_OR_RETURN(TorchFile torch, read_torch_file(*weights.source));
        tensors = std::move(torch.tensors);
        weights.entries = std::move(torch.entries);
    }
    if (tensors.size() > kMaxCheckpointTensors - tensors_.size()) {
        return weights.source->refused(
            Code::TooLarge,
            "with it the checkpoint has more than " + std::to_string(kMaxCheckpointTensors) + " tensors");
    }
    for (StoredTensor& tensor : tensors) {
        const auto [known, is_new] = tensors_.emplace(tensor.name, tensor);
        if (is_new) continue;
        return weights.source->corrupt(tensor_text(tensor.name) + " is also in " +
                                       base::path_in_quotes(known->second.source->path()));
    }
    files_.push_back(std::move(weights));
    return ok_status();
}

Status Checkpoint::add_index(const std::string& name, bool is_safetensors) {
    CLASP_ASSIGN_OR_RETURN(const auto index, read_json_file(folder_, name));
    const std::string path = base::path_in_quotes(path_in(folder_, name));
    const Json* const map = index ? index->find("weight_map") : nullptr;
    if (map == nullptr || !map->is_object() || map->empty()) {
        return {Code::Corrupt, path + ": it has no weight_map with the files of tensors"};
    }
    std::set<std::string> shards;
    for (const auto& [tensor, file] : map->items()) {
        const std::string* const shard = file.as_string();
        if (shard == nullptr || !is_plain_name(*shard, is_safetensors)) {
            return {Code::Corrupt, path + ": " + tensor_text(tensor) + " is said to be in " +
                                       base::in_quotes(shard != nullptr ? *shard : base::dump_json(file)) +
                                       ", which is no plain name of a " +
                                       (is_safetensors ? ".safetensors" : ".bin") + " file"};
        }
        shards.insert(*shard);
        if (shards.size() > kMaxShards) {
            return {Code::TooLarge, path + ": it names more than " + std::to_string(kMaxShards) + " files"};
        }
    }
    for (const std::string& shard : shards) CLASP_RETURN_IF_ERROR(add_file(shard, is_safetensors));
    for (const auto& [tensor, file] : map->items()) {
        const StoredTensor* const stored = find(tensor);
        if (stored == nullptr || stored->source->path() != path_in(folder_, *file.as_string())) {
            return {Code::Corrupt,
                    path + ": " + tensor_text(tensor) + " is not in " + base::in_quotes(*file.as_string())};
        }
    }
    return ok_status();
}

Result<Checkpoint> Checkpoint::open(const std::string& folder) {
    struct stat info {};
    if (::stat(folder.c_str(), &info) != 0) {
        return Status(Code::NotFound, "there is no folder " + base::path_in_quotes(folder));
    }
    if (!S_ISDIR(info.st_mode)) {
        return Status(Code::InvalidArgument, base::path_in_quotes(folder) +
                                                 " is no folder; a checkpoint is the folder of its files");
    }
    struct Kind {
        const char* name;
        bool is_index;
        bool is_safetensors;
    };
    constexpr std::array<Kind, 4> kKinds = {{{"model.safetensors.index.json", true, true},
                                             {"model.safetensors", false, true},
                                             {"pytorch_model.bin.index.json", true, false},
                                             {"pytorch_model.bin", false, false}}};
    Checkpoint checkpoint;
    checkpoint.folder_ = folder;
    for (const Kind& kind : kKinds) {
        if (!has_file(folder, kind.name)) continue;
        CLASP_RETURN_IF_ERROR(kind.is_index ? checkpoint.add_index(kind.name, kind.is_safetensors)
                                            : checkpoint.add_file(kind.name, kind.is_safetensors));
        return checkpoint;
    }
    return Status(Code::NotFound,
                  base::path_in_quotes(folder) +
                      " holds no weights: neither model.safetensors nor pytorch_model.bin, nor "
                      "their .index.json files");
}

bool has_file(const std::string& folder, const std::string& name) {
    struct stat info {};
    return ::stat(path_in(folder, name).c_str(), &info) == 0;
}

Result<std::optional<std::string>> read_small_file(const std::string& folder, const std::string& name,
                                                   std::size_t limit_bytes) {
    if (!has_file(folder, name)) return std::optional<std::string>();
    CLASP_ASSIGN_OR_RETURN(std::string text, base::read_file(path_in(folder, name), limit_bytes));
    if (!text.starts_with(kPointerMark)) return std::optional(std::move(text));
    return Status(Code::Unsupported,
                  base::path_in_quotes(path_in(folder, name)) +
                      ": it is a pointer of git-lfs, not the file itself; fetch it with git lfs pull");
}

Result<std::optional<Json>> read_json_file(const std::string& folder, const std::string& name) {
    CLASP_ASSIGN_OR_RETURN(const auto text, read_small_file(folder, name, kMaxJsonBytes));
    if (!text) return std::optional<Json>();
    auto json = base::parse_json(*text, {.max_bytes = kMaxJsonBytes, .max_depth = kMaxJsonDepth},
                                 base::KeyOrder::Sorted);
    if (!json.ok()) return json.status().with_context(base::path_in_quotes(path_in(folder, name)));
    return std::optional(std::move(json).value());
}

}  // namespace clasp::convert
