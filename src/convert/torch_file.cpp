#include "convert/torch_file.h"

#include <map>
#include <string_view>

#include "base/text.h"
#include "convert/pickle_reader.h"

namespace clasp::convert {
namespace {

constexpr std::string_view kPickleName = "data.pkl";
constexpr std::string_view kZipMark = "PK\x03\x04";

using EntryMap = std::map<std::string_view, const ZipEntry*>;

// PyTorch before 1.6 wrote several pickles one after the other, the first of them a magic number.
Status check_kind(const ByteSource& source) {
    if (source.size() < kZipMark.size()) return source.corrupt("it is too short to be a checkpoint");
    CLASP_ASSIGN_OR_RETURN(const std::string head, source.read(0, kZipMark.size()));
    if (head == kZipMark) return ok_status();
    return source.refused(
        Code::Unsupported,
        "it is no zip archive; files of PyTorch before 1.6 are not read: save the checkpoint "
        "as safetensors instead");
}

// The folder that all entries are in, with its slash.
Result<std::string> find_prefix(const ByteSource& source, const std::vector<ZipEntry>& entries) {
    std::string prefix;
    for (const ZipEntry& entry : entries) {
        const std::string_view name = entry.name;
        const std::size_t slash = name.find('/');
        if (slash == std::string_view::npos || name.substr(slash + 1) != kPickleName) continue;
        if (!prefix.empty()) return source.corrupt("it holds two checkpoints");
        prefix = std::string(name.substr(0, slash + 1));
    }
    if (prefix.empty())
        return source.corrupt("it is a zip archive without data.pkl, no checkpoint of PyTorch");
    return prefix;
}

Status check_byte_order(const ByteSource& source, const EntryMap& entries, const std::string& prefix) {
    const auto found = entries.find(prefix + "byteorder");
    if (found == entries.end()) return ok_status();
    const ZipEntry& entry = *found->second;
    if (entry.size > 16)
        return source.corrupt("its entry byteorder has " + std::to_string(entry.size) + " bytes");
    CLASP_ASSIGN_OR_RETURN(const std::string order,
                           source.read(entry.offset, static_cast<std::size_t>(entry.size)));
    if (order == "little") return ok_status();
    return source.refused(Code::Unsupported,
                          "its numbers are in the byte order " + base::in_quotes(order) + ", not little");
}

// Numbers that lie one after the other; the stride of a dimension of one element says nothing.
bool is_contiguous(const PickledTensor& tensor) {
    std::uint64_t expected = 1;
    for (std::size_t i = tensor.shape.size(); i-- > 0;) {
        if (tensor.shape[i] != 1 && tensor.strides[i] != expected) return false;
        expected *= tensor.shape[i];
    }
    return true;
}

Result<StoredTensor> locate_tensor(const ByteSource& source, const EntryMap& entries,
                                   const std::string& prefix, const PickledTensor& pickled) {
    const auto found = entries.find(prefix + "data/" + pickled.storage);
    if (found == entries.end()) {
        return source.corrupt(tensor_text(pickled.name) + " lies in the storage " +
                              base::in_quotes(pickled.storage) + ", which is not there");
    }
    const ZipEntry& entry = *found->second;
    const std::size_t width = element_bytes(pickled.element);
    if (entry.size % width != 0 || pickled.storage_elements != entry.size / width) {
        return source.corrupt("the storage of " + tensor_text(pickled.name) + " has " +
                              std::to_string(entry.size) + " bytes, not " +
                              std::to_string(pickled.storage_elements) + " elements of " +
                              std::to_string(width));
    }
    const auto bytes = tensor_bytes(pickled.shape, pickled.element);
    if (!bytes || pickled.first_element > pickled.storage_elements ||
        *bytes > entry.size - pickled.first_element * width) {
        return source.corrupt(tensor_text(pickled.name) + " of shape " + shape_text(pickled.shape) +
                              " reaches beyond its storage of " + std::to_string(pickled.storage_elements) +
                              " elements");
    }
    if (*bytes > 0 && !is_contiguous(pickled)) {
        return source.refused(Code::Unsupported,
                              tensor_text(pickled.name) +
                                  " is stored transposed or with gaps; save the checkpoint as safetensors");
    }
    StoredTensor tensor;
    tensor.name = pickled.name;
    tensor.element = pickled.element;
    tensor.shape = pickled.shape;
    tensor.offset = entry.offset + pickled.first_element * width;
    tensor.n_bytes = *bytes;
    tensor.source = &source;
    return tensor;
}

}  // namespace

Result<TorchFile> read_torch_file(const ByteSource& source) {
    CLASP_RETURN_IF_ERROR(check_kind(source));
    TorchFile file;
    CLASP_ASSIGN_OR_RETURN(file.entries, read_zip(source));
    EntryMap entries;
    for (const ZipEntry& entry : file.entries) entries.emplace(entry.name, &entry);
    CLASP_ASSIGN_OR_RETURN(const std::string prefix, find_prefix(source, file.entries));
    CLASP_RETURN_IF_ERROR(check_byte_order(source, entries, prefix));
    const ZipEntry& program = *entries.at(prefix + std::string(kPickleName));
    if (program.size > kMaxPickleBytes) {
        return source.refused(Code::TooLarge, "its pickle has " + std::to_string(program.size) +
                                                  " bytes; the limit is " + std::to_string(kMaxPickleBytes));
    }
    CLASP_ASSIGN_OR_RETURN(const std::string bytes,
                           source.read(program.offset, static_cast<std::size_t>(program.size)));
    const auto pickled = read_pickle(bytes);
    if (!pickled.ok()) return source.refused(pickled.status().code(), pickled.status().message());
    for (const PickledTensor& tensor : *pickled) {
        CLASP_ASSIGN_OR_RETURN(StoredTensor located, locate_tensor(source, entries, prefix, tensor));
        file.tensors.push_back(std::move(located));
    }
    return file;
}

}  // namespace clasp::convert
