#include "model/vision_weights.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <optional>
#include <span>

#include "base/check.h"
#include "model/weight_types.h"

namespace clasp::model {

namespace {

std::string shape_text(std::span<const std::int64_t> shape) {
    std::string text = "[";
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (i > 0) text += ", ";
        text += std::to_string(shape[i]);
    }
    return text + "]";
}

std::int64_t element_count(const std::vector<std::int64_t>& shape) {
    std::int64_t count = 1;
    for (const std::int64_t n : shape) count *= n;
    return count;
}

std::int64_t stored_width(const WeightSpec& spec) {
    return spec.padded_width != 0 ? spec.padded_width : spec.width;
}

std::int64_t part_rows(const WeightSpec& spec) {
    return element_count(spec.part_shape) / spec.width;
}

std::int64_t stored_rows(const WeightSpec& spec) {
    return spec.padded_rows != 0 ? spec.padded_rows : part_rows(spec);
}

std::int64_t row_count(const WeightSpec& spec) {
    return stored_rows(spec) * static_cast<std::int64_t>(spec.parts.size());
}

std::optional<ggml_type> wanted_type(VisionWeights format) {
    switch (format) {
        case VisionWeights::Auto:
        case VisionWeights::File:
        case VisionWeights::I16: return std::nullopt;
        case VisionWeights::F32: return GGML_TYPE_F32;
        case VisionWeights::F16: return GGML_TYPE_F16;
        case VisionWeights::BF16: return GGML_TYPE_BF16;
        case VisionWeights::Q8: return GGML_TYPE_Q8_0;
        case VisionWeights::Q4_0: return GGML_TYPE_Q4_0;
    }
    return std::nullopt;
}

// The type in memory. Rows that are no whole number of blocks stay in the file's type or become F16.
ggml_type memory_type(const GgufReader& reader, const WeightSpec& spec, VisionWeights format) {
    if (spec.use == WeightSpec::Use::Values) return GGML_TYPE_F32;
    if (spec.type) return *spec.type;
    const ggml_type in_file = reader.find_tensor(spec.parts.front())->type;
    bool is_uniform = true;
    for (const std::string& part : spec.parts) is_uniform &= reader.find_tensor(part)->type == in_file;
    const ggml_type type = wanted_type(format).value_or(is_uniform ? in_file : GGML_TYPE_F16);
    return stored_width(spec) % ggml_blck_size(type) == 0 ? type : GGML_TYPE_F16;
}

std::size_t file_bytes(const GgufReader& reader, const WeightSpec& spec) {
    std::size_t n = 0;
    for (const std::string& part : spec.parts) n += reader.find_tensor(part)->data.size();
    return n;
}

void convert_row(const float* from, void* to, ggml_type type, std::int64_t n) {
    if (type == GGML_TYPE_F32) {
        std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(float));
    } else if (type == GGML_TYPE_F16) {
        ggml_fp32_to_fp16_row(from, static_cast<ggml_fp16_t*>(to), n);
    } else {
        ggml_get_type_traits(type)->from_float_ref(from, to, n);
    }
}

// Calls take(row index, values) for every row of a spec's parts and the rows behind them, padded with zeros.
template <typename Take>
void for_each_row(const GgufReader& reader, const WeightSpec& spec, Take take) {
    const auto rows = static_cast<std::size_t>(part_rows(spec));
    std::vector<float> row(static_cast<std::size_t>(stored_width(spec)), 0.0F);
    std::size_t index = 0;
    for (const std::string& name : spec.parts) {
        const GgufTensor& part = *reader.find_tensor(name);
        const std::size_t row_bytes = part.data.size() / rows;
        for (std::size_t i = 0; i < rows; ++i, ++index) {
            const std::byte* from = part.data.data() + i * row_bytes;
            if (part.type == GGML_TYPE_F32) {
                std::memcpy(row.data(), from, row_bytes);
            } else {
                ggml_get_type_traits(part.type)->to_float(from, row.data(), spec.width);
            }
            take(index, row.data());
        }
        std::fill(row.begin(), row.end(), 0.0F);
        for (auto i = static_cast<std::int64_t>(rows); i < stored_rows(spec); ++i) take(index++, row.data());
    }
}

// All parts of a spec as rows of `type`, in the layout of a plain ggml tensor.
std::vector<std::byte> convert(const GgufReader& reader, const WeightSpec& spec, ggml_type type) {
    const std::int64_t width = stored_width(spec);
    const std::size_t row_bytes = ggml_row_size(type, width);
    std::vector<std::byte> out(row_bytes * static_cast<std::size_t>(row_count(spec)));
    bool is_copy = width == spec.width;
    for (const std::string& name : spec.parts) is_copy &= reader.find_tensor(name)->type == type;
    if (is_copy) {
        std::byte* to = out.data();
        for (const std::string& name : spec.parts) {
            const auto data = reader.find_tensor(name)->data;
            std::copy(data.begin(), data.end(), to);
            to += row_bytes * static_cast<std::size_t>(stored_rows(spec));  // zeros are zeros in every type
        }
    } else {
        for_each_row(reader, spec, [&](std::size_t index, const float* row) {
            convert_row(row, out.data() + index * row_bytes, type, width);
        });
    }
    return out;
}

bool is_packed(const WeightSpec& spec, VisionWeights format) {
    return format == VisionWeights::I16 && spec.use == WeightSpec::Use::Matrix && !spec.type &&
           PackedMatrix::fits(static_cast<std::size_t>(stored_width(spec)),
                              static_cast<std::size_t>(row_count(spec)));
}

// Kept as the decoder's Q8_0 matrices are; where their kernels do not run, ggml multiplies the same weights.
bool is_quant(const WeightSpec& spec, ggml_type type, VisionWeights format, const Compute& compute) {
    return format == VisionWeights::Q8 && spec.use == WeightSpec::Use::Matrix && type == GGML_TYPE_Q8_0 &&
           QuantMatrix::is_fast() && !compute.has_gpu();
}

// What Auto means here; I16 runs on the CPU only.
Result<VisionWeights> resolve(VisionWeights format, const Compute& compute) {
    if (format == VisionWeights::Auto) {
        return PackedMatrix::is_fast() && !compute.has_gpu() ? VisionWeights::I16 : VisionWeights::File;
    }
    if (format == VisionWeights::I16 && compute.has_gpu()) {
        return Status(Code::InvalidArgument, "vision weights i16 run on the CPU only, but a GPU is in use");
    }
    return format;
}

ggml_backend_buffer_type_t choose_buffer_type(const Compute& compute, const WeightSpec& spec,
                                              ggml_type type) {
    if (spec.use == WeightSpec::Use::Values) return ggml_backend_dev_buffer_type(compute.device());
    const std::int64_t width = stored_width(spec);
    const std::int64_t rows = row_count(spec);
    if (compute.has_gpu()) {
        ggml_backend_buffer_type_t gpu_type = ggml_backend_dev_buffer_type(compute.device());
        if (takes_product(compute.device(), gpu_type, type, width, rows)) return gpu_type;
    }
    for (ggml_backend_buffer_type_t extra : compute.cpu_extra_buffer_types()) {
        if (takes_product(compute.cpu(), extra, type, width, rows)) return extra;
    }
    return ggml_backend_dev_buffer_type(compute.cpu());
}

}  // namespace

std::string_view vision_weights_name(VisionWeights weights) {
    constexpr std::array<std::string_view, 8> kNames = {"auto", "file", "i16", "f32",
                                                        "f16",  "bf16", "q8",  "q4_0"};
    return kNames[static_cast<std::size_t>(weights)];
}

Status check_spec(const GgufReader& reader, const WeightSpec& spec) {
    for (const std::string& name : spec.parts) {
        const GgufTensor* part = reader.find_tensor(name);
        if (part == nullptr) return {Code::Corrupt, "tensor " + name + " is missing"};
        const std::span<const std::int64_t> shape(part->shape.data(), part->shape.size());
        bool fits = true;
        for (std::size_t i = 0; i < shape.size(); ++i) {
            fits &= shape[i] == (i < spec.part_shape.size() ? spec.part_shape[i] : 1);
        }
        if (!fits) {
            return {Code::Corrupt, "tensor " + name + " has the shape " +
                                       shape_text(shape.first(part->n_dims)) + "; " +
                                       shape_text(spec.part_shape) + " is needed"};
        }
        // Values may have any of these types too: they are turned into float32.
        CLASP_RETURN_IF_ERROR(check_weight_type(name, part->type, WeightRole::Matrix));
        if (spec.width % ggml_blck_size(part->type) != 0) {
            return {Code::Unsupported, "tensor " + name + " has blocks of type " +
                                           ggml_type_name(part->type) + " that cross its rows"};
        }
    }
    return ok_status();
}

Result<std::unique_ptr<WeightStore>> WeightStore::load(const GgufReader& reader,
                                                       const std::vector<WeightSpec>& specs,
                                                       VisionWeights wanted, const Compute& compute,
                                                       ThreadPool* pool, const LogSink& log_sink,
                                                       const LoadWatch* watch) {
    for (const WeightSpec& spec : specs) CLASP_RETURN_IF_ERROR(check_spec(reader, spec));
    CLASP_ASSIGN_OR_RETURN(const VisionWeights format, resolve(wanted, compute));

    std::unique_ptr<WeightStore> store(new WeightStore());
    store->format_ = format;
    std::vector<ggml_tensor*> tensors(specs.size(), nullptr);
    std::vector<PackedMatrix*> packed(specs.size(), nullptr);
    std::vector<QuantMatrix*> quant(specs.size(), nullptr);
    std::vector<ggml_type> types(specs.size());
    std::map<ggml_backend_buffer_type_t, std::vector<std::size_t>> by_buffer_type;
    for (std::size_t i = 0; i < specs.size(); ++i) {
        const WeightSpec& spec = specs[i];
        if (is_packed(spec, format)) {
            auto matrix = PackedMatrix::create(static_cast<std::size_t>(stored_width(spec)),
                                               static_cast<std::size_t>(row_count(spec)));
            if (matrix == nullptr) return Status(Code::OutOfMemory, "no memory for the vision weights");
            packed[i] = matrix.get();
            store->packed_.emplace(spec.name, std::move(matrix));
            continue;
        }
        types[i] = memory_type(reader, spec, format);
        if (is_quant(spec, types[i], format, compute)) {
            auto matrix = QuantMatrix::create(*find_quant_format(types[i]),
                                              static_cast<std::size_t>(stored_width(spec)),
                                              static_cast<std::size_t>(row_count(spec)));
            if (matrix == nullptr) return Status(Code::OutOfMemory, "no memory for the vision weights");
            quant[i] = matrix.get();
            store->quant_.emplace(spec.name, std::move(matrix));
            continue;
        }
        const auto type = wanted_type(format);
        const bool is_refused = format == VisionWeights::I16 || (type && types[i] != *type);
        if (spec.use == WeightSpec::Use::Matrix && !spec.type && is_refused) {
            log(log_sink, LogLevel::Info,
                spec.name + " stays in " + ggml_type_name(types[i]) + ": its rows do not fit " +
                    std::string(vision_weights_name(format)));
        }
        by_buffer_type[choose_buffer_type(compute, spec, types[i])].push_back(i);
    }

    for (const auto& [buffer_type, members] : by_buffer_type) {
        ggml_context* context = ggml_init({.mem_size = ggml_tensor_overhead() * (members.size() + 1),
                                           .mem_buffer = nullptr,
                                           .no_alloc = true});
        if (context == nullptr) return Status(Code::OutOfMemory, "no memory for the table of vision weights");
        store->contexts_.push_back(context);
        for (const std::size_t i : members) {
            tensors[i] = ggml_new_tensor_2d(context, types[i], stored_width(specs[i]), row_count(specs[i]));
            ggml_set_name(tensors[i], specs[i].name.c_str());
            store->tensors_.emplace(specs[i].name, tensors[i]);
        }
        ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors_from_buft(context, buffer_type);
        if (buffer == nullptr) {
            return Status(Code::OutOfMemory, std::string("no memory for the vision weights in ") +
                                                 ggml_backend_buft_name(buffer_type));
        }
        store->buffers_.push_back(buffer);
        ggml_backend_buffer_set_usage(buffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    }

    std::atomic<bool> out_of_memory{false};
    std::size_t all_bytes = 0;
    for (const WeightSpec& spec : specs) all_bytes += file_bytes(reader, spec);
    LoadCount count(watch, 0.0, 1.0, all_bytes);
    run_parts(pool, specs.size(), [&](std::size_t i) {
        if (count.is_cancelled()) return;
        try {
            if (packed[i] != nullptr) {
                for_each_row(reader, specs[i],
                             [&](std::size_t row, const float* values) { packed[i]->set_row(row, values); });
            } else {
                const std::vector<std::byte> data = convert(reader, specs[i], types[i]);
                if (quant[i] != nullptr) {
                    quant[i]->pack(data.data(), 0, quant[i]->n_panels());
                } else {
                    ggml_backend_tensor_set(tensors[i], data.data(), 0, data.size());
                }
            }
        } catch (const std::bad_alloc&) {
            out_of_memory = true;
        }
        count.add(file_bytes(reader, specs[i]));
    });
    if (count.is_cancelled()) return Status(Code::Cancelled, "cancelled");
    if (out_of_memory) return Status(Code::OutOfMemory, "no memory to convert the vision weights");
    return store;
}

WeightStore::~WeightStore() {
    for (ggml_backend_buffer_t buffer : buffers_) ggml_backend_buffer_free(buffer);
    for (ggml_context* context : contexts_) ggml_free(context);
}

ggml_tensor* WeightStore::get(std::string_view name) const {
    const auto it = tensors_.find(std::string(name));
    CLASP_CHECK(it != tensors_.end());
    return it->second;
}

Linear WeightStore::linear(const std::string& weight) const {
    const auto packed = packed_.find(weight);
    if (packed != packed_.end()) return {.packed = packed->second.get()};
    const auto quant = quant_.find(weight);
    if (quant != quant_.end()) return {.quant = quant->second.get()};
    return {.weight = get(weight)};
}

Linear WeightStore::linear(const std::string& weight, const std::string& bias) const {
    Linear result = linear(weight);
    result.bias = get(bias);
    return result;
}

}  // namespace clasp::model
