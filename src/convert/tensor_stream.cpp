#include "convert/tensor_stream.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>

#include "base/float_convert.h"

namespace clasp::convert {
namespace {

constexpr std::uint64_t kChunkBytes = std::uint64_t{8} << 20U;  // of the checkpoint
constexpr std::uint64_t kPartElements = std::uint64_t{1} << 17U;
constexpr float kLargestHalf = 65520.0F;  // the least that is rounded to infinity
constexpr std::size_t kSpanFactor = 4;    // rows this much apart are read as one and picked

// Bytes of n rows from `begin` on, in the order of the file.
Result<std::string> read_rows(const PlannedTensor& tensor, std::uint64_t begin, std::uint64_t n) {
    const StoredTensor& source = *tensor.source;
    const std::uint64_t row_bytes = tensor.row_elements * element_bytes(source.element);
    const std::uint64_t base = source.offset + tensor.first_row * row_bytes;
    if (tensor.rows.empty()) {
        return source.source->read(base + begin * row_bytes, static_cast<std::size_t>(n * row_bytes));
    }
    const auto first = tensor.rows.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto [low, high] = std::minmax_element(first, first + static_cast<std::ptrdiff_t>(n));
    const std::uint64_t span = std::uint64_t{*high} - *low + 1;
    std::string bytes(static_cast<std::size_t>(n * row_bytes), '\0');
    std::string whole;
    if (span <= kSpanFactor * n) {
        CLASP_ASSIGN_OR_RETURN(
            whole, source.source->read(base + *low * row_bytes, static_cast<std::size_t>(span * row_bytes)));
    }
    for (std::uint64_t i = 0; i < n; ++i) {
        const std::uint64_t row = *(first + static_cast<std::ptrdiff_t>(i));
        char* const to = bytes.data() + i * row_bytes;
        if (!whole.empty()) {
            std::memcpy(to, whole.data() + (row - *low) * row_bytes, static_cast<std::size_t>(row_bytes));
            continue;
        }
        CLASP_ASSIGN_OR_RETURN(
            const std::string one,
            source.source->read(base + row * row_bytes, static_cast<std::size_t>(row_bytes)));
        std::copy(one.begin(), one.end(), to);
    }
    return bytes;
}

template <typename T>
T load_as(const char* from) {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
}

void to_floats(const char* from, Element element, std::size_t n, float* out) {
    switch (element) {
        case Element::F64:
            for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<float>(load_as<double>(from + 8 * i));
            break;
        case Element::F16:
            for (std::size_t i = 0; i < n; ++i)
                out[i] = base::half_to_float(load_as<std::uint16_t>(from + 2 * i));
            break;
        case Element::BF16:
            for (std::size_t i = 0; i < n; ++i)
                out[i] = base::bfloat_to_float(load_as<std::uint16_t>(from + 2 * i));
            break;
        default: std::memcpy(out, from, n * sizeof(float)); break;
    }
}

// The first value that the type cannot hold; n when there is none.
std::size_t first_bad(const float* values, std::size_t n, ggml_type type) {
    const float limit = type == GGML_TYPE_F16 ? kLargestHalf : INFINITY;
    // One comparison tells NaN too.
    const float* const bad =
        std::find_if(values, values + n, [=](float v) { return !(std::fabs(v) < limit); });
    return static_cast<std::size_t>(bad - values);
}

// n elements, whole rows of the file where its type has blocks.
void encode(const float* values, std::size_t n, std::uint64_t width, ggml_type type, char* out) {
    if (type == GGML_TYPE_F32) {
        std::memcpy(out, values, n * sizeof(float));
        return;
    }
    if (type == GGML_TYPE_F16) {
        for (std::size_t i = 0; i < n; ++i) {
            const std::uint16_t half = base::float_to_half(values[i]);
            std::memcpy(out + 2 * i, &half, sizeof half);
        }
        return;
    }
    const auto row = static_cast<std::int64_t>(width);
    ggml_quantize_chunk(type, values, out, 0, static_cast<std::int64_t>(n) / row, row, nullptr);
}

struct Encoded {
    std::string bytes;
    std::optional<std::uint64_t> bad;  // the first element that cannot be written
    float bad_value = 0.0F;
};

// Whole rows that lie in `raw`; parts of them go to the threads.
Encoded encode_rows(std::string_view raw, Element element, const GgufTensorPlace& place,
                    std::uint64_t n_elements, ThreadPool& pool) {
    const std::uint64_t width = place.shape.front();
    const auto block = static_cast<std::uint64_t>(ggml_blck_size(place.type));
    // Where there are blocks, rows are not cut.
    const std::uint64_t unit = block > 1 || place.shape.size() > 1 ? width : 1;
    const std::uint64_t n_units = n_elements / unit;
    const std::uint64_t units_per_part = std::max<std::uint64_t>(1, kPartElements / unit);
    const std::uint64_t unit_bytes = unit / block * ggml_type_size(place.type);
    const auto n_parts = static_cast<std::size_t>((n_units + units_per_part - 1) / units_per_part);
    Encoded result;
    result.bytes.resize(static_cast<std::size_t>(n_units * unit_bytes));
    std::vector<std::pair<std::uint64_t, float>> bad(n_parts, {n_elements, 0.0F});
    pool.run(n_parts, [&](std::size_t part) {
        const std::uint64_t first = part * units_per_part;
        const std::uint64_t count = std::min(units_per_part, n_units - first);
        const auto n = static_cast<std::size_t>(count * unit);
        std::vector<float> values(n);
        to_floats(raw.data() + first * unit * element_bytes(element), element, n, values.data());
        const std::size_t wrong = first_bad(values.data(), n, place.type);
        if (wrong < n) {
            bad[part] = {first * unit + wrong, values[wrong]};
            return;
        }
        encode(values.data(), n, unit, place.type, result.bytes.data() + first * unit_bytes);
    });
    for (const auto& [at, value] : bad) {
        if (at == n_elements) continue;
        result.bad = at;
        result.bad_value = value;
        break;
    }
    return result;
}

Status bad_value(const PlannedTensor& tensor, std::uint64_t at, float value) {
    const bool is_large = std::isfinite(value);
    const std::string reason = "element " + std::to_string(at) + " of " + tensor_text(tensor.place.name) +
                               " is " + std::to_string(value) +
                               (is_large ? ", more than f16 can hold; choose the type bf16"
                                         : ", no finite number: the weights are damaged");
    if (tensor.source == nullptr) return {Code::Corrupt, reason};
    return tensor.source->source->corrupt(reason);
}

}  // namespace

ggml_type OutputTypes::type_for(TensorUse use, std::uint64_t width) const {
    if (use == TensorUse::Values) return GGML_TYPE_F32;
    if (use == TensorUse::Kernel) return matrix == GGML_TYPE_F32 ? GGML_TYPE_F32 : GGML_TYPE_F16;
    const bool is_4_bit = matrix == GGML_TYPE_Q4_0 || matrix == GGML_TYPE_Q4_K;
    ggml_type type = use == TensorUse::Head && is_4_bit ? GGML_TYPE_Q6_K : matrix;
    const auto fits = [&](ggml_type t) { return width % static_cast<std::uint64_t>(ggml_blck_size(t)) == 0; };
    if (!fits(type)) type = GGML_TYPE_Q8_0;
    return fits(type) ? type : GGML_TYPE_F16;
}

void assign_types(const OutputTypes& types, std::string_view file, OutputFile& output,
                  std::vector<std::string>& notes) {
    std::map<ggml_type, std::pair<std::size_t, std::string>> instead;
    constexpr std::uint64_t kFitsAll = 256;
    for (PlannedTensor& tensor : output.tensors) {
        GgufTensorPlace& place = tensor.place;
        place.type = types.type_for(tensor.use, place.shape.front());
        const auto block = static_cast<std::uint64_t>(ggml_blck_size(place.type));
        place.n_bytes = tensor.n_elements() / block * ggml_type_size(place.type);
        if (place.type == types.type_for(tensor.use, kFitsAll)) continue;
        auto& [count, name] = instead[place.type];
        if (count++ == 0) name = place.name;
    }
    for (const auto& [type, found] : instead) {
        notes.push_back(std::to_string(found.first) + " tensors of the " + std::string(file) + " file are " +
                        ggml_type_name(type) +
                        ", because their rows are no multiple of a block of the type asked for: " +
                        found.second + (found.first > 1 ? " and others" : ""));
    }
}

Status stream_tensor(const PlannedTensor& tensor, ThreadPool& pool, const ByteSink& sink) {
    const GgufTensorPlace& place = tensor.place;
    if (tensor.source == nullptr) {
        const Encoded encoded = encode_rows(
            {reinterpret_cast<const char*>(tensor.values.data()), tensor.values.size() * sizeof(float)},
            Element::F32, place, tensor.values.size(), pool);
        if (encoded.bad) return bad_value(tensor, *encoded.bad, encoded.bad_value);
        return sink(encoded.bytes);
    }
    const Element element = tensor.source->element;
    const std::uint64_t n_rows = tensor.n_elements() / tensor.row_elements;
    const std::uint64_t row_bytes = tensor.row_elements * element_bytes(element);
    const std::uint64_t rows_at_once = std::max<std::uint64_t>(1, kChunkBytes / row_bytes);
    for (std::uint64_t row = 0; row < n_rows; row += rows_at_once) {
        const std::uint64_t n = std::min(rows_at_once, n_rows - row);
        CLASP_ASSIGN_OR_RETURN(const std::string raw, read_rows(tensor, row, n));
        const Encoded encoded = encode_rows(raw, element, place, n * tensor.row_elements, pool);
        if (encoded.bad)
            return bad_value(tensor, row * tensor.row_elements + *encoded.bad, encoded.bad_value);
        CLASP_RETURN_IF_ERROR(sink(encoded.bytes));
    }
    return ok_status();
}

}  // namespace clasp::convert
