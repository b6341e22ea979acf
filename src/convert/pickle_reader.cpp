#include "convert/pickle_reader.h"

#include <set>

#include "base/text.h"
#include "convert/pickle_machine.h"

namespace clasp::convert {
namespace {

using PickleKind = PickleValue::Kind;

constexpr std::size_t kMaxPickledName = 1024;
constexpr std::size_t kMaxStorageName = 64;
constexpr std::size_t kMaxPickledDimensions = 8;

Status bad_tensor(std::string_view name, const std::string& what) {
    return {Code::Corrupt, tensor_text(name) + " " + what};
}

// A whole number from 0.
bool is_count(const PickleValue& value) {
    return value.kind == PickleKind::Int && value.number >= 0;
}

// Sizes or strides.
Result<std::vector<std::uint64_t>> read_counts(const PickleMachine& machine, const PickleValue& tuple,
                                               std::string_view name, const char* what) {
    if (tuple.items.size() > kMaxPickledDimensions) {
        return bad_tensor(name, "has " + std::to_string(tuple.items.size()) + " " + what + ", more than " +
                                    std::to_string(kMaxPickledDimensions));
    }
    std::vector<std::uint64_t> counts;
    for (const PickleIndex index : tuple.items) {
        if (!is_count(machine.value(index))) {
            return bad_tensor(name, std::string("has ") + what + " that are no whole numbers from 0");
        }
        counts.push_back(static_cast<std::uint64_t>(machine.value(index).number));
    }
    return counts;
}

// ('storage', class, key, place, number of elements)
Status read_storage(const PickleMachine& machine, const PickleValue& value, PickledTensor& tensor) {
    const PickleValue& storage = machine.value(value.items.front());
    constexpr std::size_t kStorageParts = 5;
    const auto part = [&](std::size_t i) -> const PickleValue& { return machine.value(storage.items[i]); };
    const bool is_sound = storage.items.size() == kStorageParts && part(0).kind == PickleKind::Text &&
                          part(0).text == "storage" && part(1).kind == PickleKind::Class &&
                          part(1).callable == PickleValue::Callable::StorageOf &&
                          part(2).kind == PickleKind::Text && part(3).kind == PickleKind::Text &&
                          is_count(part(4));
    if (!is_sound) return bad_tensor(tensor.name, "has a storage that is not described as PyTorch does");
    const std::string_view key = part(2).text;
    if (key.empty() || key.size() > kMaxStorageName || key.find('/') != std::string_view::npos) {
        return bad_tensor(tensor.name, "has a storage of the name " + base::in_quotes(key));
    }
    tensor.storage = std::string(key);
    tensor.element = part(1).element;
    tensor.storage_elements = static_cast<std::uint64_t>(part(4).number);
    return ok_status();
}

// (storage, first element, sizes, strides, needs a gradient, hooks), and sometimes metadata
Result<PickledTensor> read_tensor(const PickleMachine& machine, std::string_view name,
                                  const PickleValue& made) {
    constexpr std::size_t kTensorParts = 6;
    const PickleValue& value = machine.value(made.items.front());
    PickledTensor tensor;
    tensor.name = std::string(name);
    if (value.items.size() != kTensorParts && value.items.size() != kTensorParts + 1) {
        return bad_tensor(name, "is made of " + std::to_string(value.items.size()) + " parts, not 6");
    }
    const auto part = [&](std::size_t i) -> const PickleValue& { return machine.value(value.items[i]); };
    const bool is_sound = part(0).kind == PickleKind::Storage && is_count(part(1)) &&
                          part(2).kind == PickleKind::Tuple && part(3).kind == PickleKind::Tuple &&
                          part(2).items.size() == part(3).items.size();
    if (!is_sound) return bad_tensor(name, "is not described as PyTorch does");
    CLASP_RETURN_IF_ERROR(read_storage(machine, part(0), tensor));
    tensor.first_element = static_cast<std::uint64_t>(part(1).number);
    CLASP_ASSIGN_OR_RETURN(tensor.shape, read_counts(machine, part(2), name, "sizes"));
    CLASP_ASSIGN_OR_RETURN(tensor.strides, read_counts(machine, part(3), name, "strides"));
    return tensor;
}

}  // namespace

Result<std::vector<PickledTensor>> read_pickle(std::string_view bytes) {
    if (bytes.size() > kMaxPickleBytes) {
        return Status(Code::TooLarge, "its pickle has " + std::to_string(bytes.size()) +
                                          " bytes; the limit is " + std::to_string(kMaxPickleBytes));
    }
    PickleMachine machine(bytes);
    CLASP_ASSIGN_OR_RETURN(const PickleIndex last, machine.run());
    const PickleValue& dict = machine.value(last);
    if (dict.kind != PickleKind::Dict) {
        return Status(Code::Unsupported,
                      "its pickle holds something else than a dictionary of tensors; "
                      "save the checkpoint as safetensors instead");
    }
    std::vector<PickledTensor> tensors;
    std::set<std::string_view> names;
    for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
        const PickleValue& key = machine.value(dict.items[i]);
        const PickleValue& value = machine.value(dict.items[i + 1]);
        if (key.kind != PickleKind::Text || key.text.empty() || key.text.size() > kMaxPickledName) {
            return Status(Code::Corrupt, "its pickle has a tensor whose name is no text of 1 to " +
                                             std::to_string(kMaxPickledName) + " bytes");
        }
        if (value.kind != PickleKind::Tensor) {
            return Status(Code::Unsupported,
                          base::in_quotes(key.text) +
                              " in its pickle is no tensor; save the checkpoint as safetensors instead");
        }
        if (!names.insert(key.text).second) {
            return Status(Code::Corrupt, tensor_text(key.text) + " appears twice in its pickle");
        }
        CLASP_ASSIGN_OR_RETURN(PickledTensor tensor, read_tensor(machine, key.text, value));
        tensors.push_back(std::move(tensor));
    }
    return tensors;
}

}  // namespace clasp::convert
