#include "convert/tensor_pool.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace clasp::convert {
namespace {

using Extents = std::vector<std::uint64_t>;

Extents without_leading_ones(Extents shape) {
    while (shape.size() > 1 && shape.front() == 1) shape.erase(shape.begin());
    return shape;
}

bool holds_weights(Element element) {
    constexpr std::array kWeights = {Element::F64, Element::F32, Element::F16, Element::BF16};
    return std::find(kWeights.begin(), kWeights.end(), element) != kWeights.end();
}

}  // namespace

Result<const StoredTensor*> TensorPool::take(const std::string& name) {
    const StoredTensor* const tensor = checkpoint_.find(name);
    if (tensor == nullptr) {
        return Status(Code::Corrupt,
                      base::path_in_quotes(checkpoint_.folder()) + " has no " + tensor_text(name));
    }
    if (!holds_weights(tensor->element)) {
        return tensor->source->refused(Code::Unsupported,
                                       tensor_text(name) + " is of the type " +
                                           std::string(element_name(tensor->element)) +
                                           "; weights of F64, F32, F16 and BF16 can be converted");
    }
    if (tensor->n_bytes == 0 || tensor->shape.empty()) {
        return tensor->source->corrupt(tensor_text(name) + " has the shape " + shape_text(tensor->shape) +
                                       ", in which there are no weights");
    }
    used_.insert(name);
    return tensor;
}

Result<const StoredTensor*> TensorPool::take(const std::string& name, const Extents& shape) {
    CLASP_ASSIGN_OR_RETURN(const StoredTensor* const tensor, take(name));
    if (without_leading_ones(tensor->shape) == without_leading_ones(shape)) return tensor;
    return tensor->source->corrupt(tensor_text(name) + " has the shape " + shape_text(tensor->shape) +
                                   ", not " + shape_text(shape));
}

void TensorPool::leave_out_prefix(std::string_view prefix) {
    for (const auto& [name, tensor] : checkpoint_.tensors()) {
        if (name.starts_with(prefix)) used_.insert(name);
    }
}

void TensorPool::leave_out_suffix(std::string_view suffix) {
    for (const auto& [name, tensor] : checkpoint_.tensors()) {
        if (name.ends_with(suffix)) used_.insert(name);
    }
}

Status TensorPool::check_all_used() const {
    for (const auto& [name, tensor] : checkpoint_.tensors()) {
        if (used_.contains(name)) continue;
        return tensor.source->refused(Code::Unsupported,
                                      tensor_text(name) +
                                          " is none that this family of models is known to have; converted "
                                          "without it the model would be another one");
    }
    return ok_status();
}

void add_tensor(OutputFile& file, const std::string& name, TensorUse use, const StoredTensor& source) {
    PlannedTensor tensor;
    tensor.place.name = name;
    tensor.place.shape = without_leading_ones(source.shape);
    std::reverse(tensor.place.shape.begin(), tensor.place.shape.end());
    tensor.row_elements = tensor.place.shape.front();
    tensor.use = use;
    tensor.source = &source;
    file.tensors.push_back(std::move(tensor));
}

void add_rows(OutputFile& file, const std::string& name, TensorUse use, const StoredTensor& source,
              std::uint64_t first_row, std::uint64_t n_rows, std::vector<std::uint32_t> rows) {
    PlannedTensor tensor;
    tensor.place.name = name;
    const bool is_matrix = source.shape.size() > 1;
    tensor.row_elements = is_matrix ? source.shape.back() : 1;
    tensor.place.shape = is_matrix ? Extents{tensor.row_elements, n_rows} : Extents{n_rows};
    tensor.use = use;
    tensor.source = &source;
    tensor.first_row = first_row;
    tensor.rows = std::move(rows);
    file.tensors.push_back(std::move(tensor));
}

void add_values(OutputFile& file, const std::string& name, std::vector<float> values) {
    PlannedTensor tensor;
    tensor.place.name = name;
    tensor.place.shape = {values.size()};
    tensor.row_elements = values.size();
    tensor.use = TensorUse::Values;
    tensor.values = std::move(values);
    file.tensors.push_back(std::move(tensor));
}

}  // namespace clasp::convert
