#include "convert/stored_tensor.h"

#include <algorithm>
#include <array>

#include "base/checked.h"
#include "base/text.h"

namespace clasp::convert {
namespace {

constexpr std::size_t kMaxDimensions = 8;
constexpr std::size_t kLongestTensorName = 200;

struct ElementRow {
    Element element;
    std::string_view name;
    std::size_t bytes;
};

constexpr std::array<ElementRow, 15> kElements = {{{Element::F64, "F64", 8},
                                                   {Element::F32, "F32", 4},
                                                   {Element::F16, "F16", 2},
                                                   {Element::BF16, "BF16", 2},
                                                   {Element::F8E4M3, "F8_E4M3", 1},
                                                   {Element::F8E5M2, "F8_E5M2", 1},
                                                   {Element::I64, "I64", 8},
                                                   {Element::I32, "I32", 4},
                                                   {Element::I16, "I16", 2},
                                                   {Element::I8, "I8", 1},
                                                   {Element::U64, "U64", 8},
                                                   {Element::U32, "U32", 4},
                                                   {Element::U16, "U16", 2},
                                                   {Element::U8, "U8", 1},
                                                   {Element::Bool, "BOOL", 1}}};

const ElementRow& row_of(Element element) {
    return *std::find_if(kElements.begin(), kElements.end(),
                         [&](const ElementRow& row) { return row.element == element; });
}

}  // namespace

std::size_t element_bytes(Element element) {
    return row_of(element).bytes;
}

std::string_view element_name(Element element) {
    return row_of(element).name;
}

std::optional<Element> find_element(std::string_view name) {
    for (const ElementRow& row : kElements) {
        if (row.name == name) return row.element;
    }
    return std::nullopt;
}

std::optional<std::uint64_t> tensor_bytes(const std::vector<std::uint64_t>& shape, Element element) {
    if (shape.size() > kMaxDimensions) return std::nullopt;
    std::optional<std::size_t> bytes = element_bytes(element);
    for (const std::uint64_t extent : shape) {
        bytes = base::checked_multiply(*bytes, extent);
        if (!bytes) return std::nullopt;
    }
    return bytes;
}

std::string shape_text(const std::vector<std::uint64_t>& shape) {
    std::string text = "[";
    for (std::size_t i = 0; i < shape.size(); ++i) {
        text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
    }
    return text + "]";
}

std::string tensor_text(std::string_view name) {
    return "tensor " + base::printable(name, kLongestTensorName);
}

}  // namespace clasp::convert
