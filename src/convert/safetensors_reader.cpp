#include "convert/safetensors_reader.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"

namespace clasp::convert {
namespace {

using base::Json;

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kHeadDepth = 4;
constexpr std::size_t kMaxNameBytes = 1024;

Result<Json> read_head(const ByteSource& source, std::uint64_t& head_bytes) {
    if (source.size() < kLengthBytes) {
        return source.corrupt("it has " + std::to_string(source.size()) +
                              " bytes, less than the 8 with which a safetensors file begins");
    }
    CLASP_ASSIGN_OR_RETURN(const std::string length, source.read(0, kLengthBytes));
    head_bytes = little_endian(length, 0, kLengthBytes);
    if (head_bytes > source.size() - kLengthBytes) {
        return source.corrupt("its head is said to have " + std::to_string(head_bytes) +
                              " bytes, but the file has " + std::to_string(source.size()));
    }
    if (head_bytes > kMaxSafetensorsHead) {
        return source.refused(Code::TooLarge, "its head has " + std::to_string(head_bytes) +
                                                  " bytes; the limit is " +
                                                  std::to_string(kMaxSafetensorsHead));
    }
    CLASP_ASSIGN_OR_RETURN(const std::string text,
                           source.read(kLengthBytes, static_cast<std::size_t>(head_bytes)));
    if (!text.starts_with('{')) return source.corrupt("its head does not begin with {");
    if (text.find_last_not_of(' ') != text.rfind('}')) {
        return source.corrupt("its head ends with something else than } and spaces");
    }
    auto head = base::parse_json(text, {.max_bytes = text.size(), .max_depth = kHeadDepth});
    if (!head.ok()) return source.refused(head.status().code(), "its head: " + head.status().message());
    return head;
}

Status check_metadata(const ByteSource& source, const Json& metadata) {
    if (!metadata.is_object()) return source.corrupt("__metadata__ is not an object");
    for (const auto& [key, value] : metadata.items()) {
        if (!value.is_string()) {
            return source.corrupt("the value of " + base::in_quotes(key) + " in __metadata__ is no text");
        }
    }
    return ok_status();
}

// The two ends of a tensor in the buffer, or the extents of its shape.
Result<std::vector<std::uint64_t>> read_numbers(const ByteSource& source, const std::string& name,
                                                const Json& entry, const char* field) {
    const Json* const list = entry.find(field);
    if (list == nullptr || !list->is_array()) {
        return source.corrupt(tensor_text(name) + " has no list " + field);
    }
    std::vector<std::uint64_t> numbers;
    for (const Json& element : *list) {
        std::uint64_t number = 0;
        if (!element.is_number_integer() || !element.get_to(number)) {
            return source.corrupt(field + (" of " + tensor_text(name)) +
                                  " holds something else than whole numbers from 0");
        }
        numbers.push_back(number);
    }
    return numbers;
}

Result<StoredTensor> read_entry(const ByteSource& source, const std::string& name, const Json& entry,
                                std::uint64_t data_begin) {
    if (name.empty() || name.size() > kMaxNameBytes) {
        return source.corrupt("the name of a tensor has " + std::to_string(name.size()) +
                              " bytes; it must have 1 to " + std::to_string(kMaxNameBytes));
    }
    if (!entry.is_object() || entry.size() != 3) {
        return source.corrupt(tensor_text(name) + " is not described by dtype, shape and data_offsets alone");
    }
    StoredTensor tensor;
    tensor.name = name;
    tensor.source = &source;
    std::string type;
    if (!entry["dtype"].get_to(type)) return source.corrupt(tensor_text(name) + " has no dtype");
    const auto element = find_element(type);
    if (!element) {
        return source.refused(Code::Unsupported, tensor_text(name) + " is of the type " +
                                                     base::in_quotes(type) + ", which is not known");
    }
    tensor.element = *element;
    CLASP_ASSIGN_OR_RETURN(tensor.shape, read_numbers(source, name, entry, "shape"));
    CLASP_ASSIGN_OR_RETURN(const auto ends, read_numbers(source, name, entry, "data_offsets"));
    if (ends.size() != 2) return source.corrupt(tensor_text(name) + " has not two data_offsets");
    const auto bytes = tensor_bytes(tensor.shape, tensor.element);
    if (!bytes) {
        return source.corrupt(tensor_text(name) + " has a shape of more than 8 dimensions or 2^64 bytes");
    }
    const std::uint64_t buffer = source.size() - data_begin;
    if (ends[0] > ends[1] || ends[1] > buffer) {
        return source.corrupt(tensor_text(name) + " lies from " + std::to_string(ends[0]) + " to " +
                              std::to_string(ends[1]) + ", outside the " + std::to_string(buffer) +
                              " bytes of data");
    }
    if (ends[1] - ends[0] != *bytes) {
        return source.corrupt(tensor_text(name) + " of shape " + shape_text(tensor.shape) + " has " +
                              std::to_string(ends[1] - ends[0]) + " bytes, not " + std::to_string(*bytes));
    }
    tensor.offset = data_begin + ends[0];
    tensor.n_bytes = *bytes;
    return tensor;
}

// Tensors fill the buffer without overlap and without holes.
Status check_coverage(const ByteSource& source, const std::vector<StoredTensor>& tensors,
                      std::uint64_t data_begin) {
    std::uint64_t at = data_begin;
    for (const StoredTensor& tensor : tensors) {
        if (tensor.offset < at) return source.corrupt(tensor_text(tensor.name) + " overlaps another one");
        if (tensor.offset > at) {
            return source.corrupt(std::to_string(tensor.offset - at) + " bytes before " +
                                  tensor_text(tensor.name) + " belong to no tensor");
        }
        at += tensor.n_bytes;
    }
    if (at != source.size()) {
        return source.corrupt("its last " + std::to_string(source.size() - at) +
                              " bytes belong to no tensor");
    }
    return ok_status();
}

}  // namespace

Result<std::vector<StoredTensor>> read_safetensors(const ByteSource& source) {
    std::uint64_t head_bytes = 0;
    CLASP_ASSIGN_OR_RETURN(const Json head, read_head(source, head_bytes));
    const std::uint64_t data_begin = kLengthBytes + head_bytes;
    std::vector<StoredTensor> tensors;
    tensors.reserve(head.size());
    for (const auto& [name, entry] : head.items()) {
        if (name == "__metadata__") {
            CLASP_RETURN_IF_ERROR(check_metadata(source, entry));
            continue;
        }
        CLASP_ASSIGN_OR_RETURN(StoredTensor tensor, read_entry(source, name, entry, data_begin));
        tensors.push_back(std::move(tensor));
    }
    std::stable_sort(tensors.begin(), tensors.end(), [](const StoredTensor& a, const StoredTensor& b) {
        return a.offset != b.offset ? a.offset < b.offset : a.n_bytes < b.n_bytes;
    });
    CLASP_RETURN_IF_ERROR(check_coverage(source, tensors, data_begin));
    return tensors;
}

}  // namespace clasp::convert
