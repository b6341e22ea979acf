// A folder of Hugging Face's layout: tensors by name, in whatever files they are, and the small files beside
// them. Heads and tables are read when it is opened; tensors stay where they are.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "clasp/status.h"
#include "convert/stored_tensor.h"
#include "convert/zip_reader.h"

namespace clasp::convert {

// One file of weights.
struct WeightFile {
    std::string name;  // in the folder
    std::unique_ptr<ByteSource> source;
    std::vector<ZipEntry> entries = {};  // of a zip archive
    std::string sha256 = {};             // when it was computed
};

class Checkpoint {
   public:
    // A folder with model.safetensors or pytorch_model.bin or, of either, the index of several files.
    // Errors: not_found, corrupt, unsupported, too_large, unavailable; all name the file.
    static Result<Checkpoint> open(const std::string& folder);

    [[nodiscard]] const std::string& folder() const { return folder_; }
    [[nodiscard]] const std::map<std::string, StoredTensor, std::less<>>& tensors() const { return tensors_; }
    // Null when there is none.
    [[nodiscard]] const StoredTensor* find(std::string_view name) const;
    [[nodiscard]] std::vector<WeightFile>& files() { return files_; }
    [[nodiscard]] const std::vector<WeightFile>& files() const { return files_; }

   private:
    Status add_file(const std::string& name, bool is_safetensors);
    Status add_index(const std::string& name, bool is_safetensors);

    std::string folder_;
    std::vector<WeightFile> files_;
    std::map<std::string, StoredTensor, std::less<>> tensors_;
};

// A JSON file of a folder; nothing when there is none.
Result<std::optional<base::Json>> read_json_file(const std::string& folder, const std::string& name);
// Any file of it.
Result<std::optional<std::string>> read_small_file(const std::string& folder, const std::string& name,
                                                   std::size_t limit_bytes);
bool has_file(const std::string& folder, const std::string& name);

// Called with the bytes done so far; false ends the work with cancelled.
using CheckProgress = std::function<bool(std::uint64_t bytes)>;

// Bytes that check_files() would read.
std::uint64_t bytes_to_check(const Checkpoint& checkpoint);
// Compares files with what the folder says of them: checksums of zip entries, SHA-256 sums that a download
// left behind (.cache/huggingface/download/NAME.metadata) or a list SHA256SUMS. Files of which nothing is
// said are not read. Fills in WeightFile::sha256.
Status check_files(Checkpoint& checkpoint, const CheckProgress& progress);

}  // namespace clasp::convert
