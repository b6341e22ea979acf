#include "model/gguf_reader.h"

#include <bit>
#include <cstring>
#include <limits>

#include "base/checked.h"
#include "model/gguf_metadata.h"

namespace clasp::model {

namespace {

constexpr std::uint32_t kMagic = 0x46554747;  // "GGUF" read as a little-endian number
constexpr std::size_t kMaxAlignment = 1U << 20;

static_assert(std::endian::native == std::endian::little, "GGUF values are read in place");

// Bytes in one element of a fixed size type; 0 for strings.
std::size_t element_bytes(GgufType type) {
    switch (type) {
        case GgufType::U8:
        case GgufType::I8:
        case GgufType::Bool: return 1;
        case GgufType::U16:
        case GgufType::I16: return 2;
        case GgufType::U32:
        case GgufType::I32:
        case GgufType::F32: return 4;
        case GgufType::U64:
        case GgufType::I64:
        case GgufType::F64: return 8;
        case GgufType::String:
        case GgufType::Array: return 0;
    }
    return 0;
}

Status truncated(std::string_view what) {
    return {Code::Corrupt, "the file ends inside " + std::string(what)};
}

class Cursor {
   public:
    explicit Cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

    [[nodiscard]] std::size_t position() const { return position_; }
    [[nodiscard]] std::size_t remaining() const { return bytes_.size() - position_; }

    template <typename T>
    Result<T> number(std::string_view what) {
        if (remaining() < sizeof(T)) return truncated(what);
        T value;
        std::memcpy(&value, bytes_.data() + position_, sizeof(T));
        position_ += sizeof(T);
        return value;
    }

    Result<std::span<const std::byte>> take(std::uint64_t count, std::string_view what) {
        if (count > remaining()) return truncated(what);
        const auto part = bytes_.subspan(position_, static_cast<std::size_t>(count));
        position_ += part.size();
        return part;
    }

    Result<std::string_view> string(std::string_view what) {
        CLASP_ASSIGN_OR_RETURN(const std::uint64_t length, number<std::uint64_t>(what));
        CLASP_ASSIGN_OR_RETURN(const auto part, take(length, what));
        return std::string_view(reinterpret_cast<const char*>(part.data()), part.size());
    }

   private:
    std::span<const std::byte> bytes_;
    std::size_t position_ = 0;
};

// Keys and names are quoted in messages, so they must be short and printable.
Status check_name(std::string_view name, std::size_t limit, std::string_view what) {
    if (name.empty()) return {Code::Corrupt, std::string(what) + " is empty"};
    if (name.size() > limit) {
        return {Code::Corrupt, std::string(what) + " has " + std::to_string(name.size()) +
                                   " bytes; the limit is " + std::to_string(limit)};
    }
    for (const char c : name) {
        if (c < ' ' || c > '~') return {Code::Corrupt, std::string(what) + " is not printable ASCII"};
    }
    return ok_status();
}

Result<GgufType> read_type(Cursor& cursor, std::string_view key) {
    CLASP_ASSIGN_OR_RETURN(const std::uint32_t raw, cursor.number<std::uint32_t>("the type of a key"));
    if (raw > static_cast<std::uint32_t>(GgufType::F64)) {
        return Status(Code::Corrupt,
                      "key " + std::string(key) + " has the unknown type " + std::to_string(raw));
    }
    return static_cast<GgufType>(raw);
}

// The bytes of `count` strings, each with its length in front.
Result<std::span<const std::byte>> take_strings(Cursor& cursor, std::uint64_t count,
                                                std::span<const std::byte> bytes) {
    const std::size_t start = cursor.position();
    if (count > cursor.remaining() / sizeof(std::uint64_t)) return truncated("an array of strings");
    for (std::uint64_t i = 0; i < count; ++i) {
        const auto text = cursor.string("an array of strings");
        if (!text.ok()) return text.status();
    }
    return bytes.subspan(start, cursor.position() - start);
}

Result<GgufEntry> read_entry(Cursor& cursor, std::span<const std::byte> bytes, const GgufLimits& limits) {
    GgufEntry entry;
    CLASP_ASSIGN_OR_RETURN(entry.key, cursor.string("a key"));
    CLASP_RETURN_IF_ERROR(check_name(entry.key, limits.max_name_bytes, "a key"));
    CLASP_ASSIGN_OR_RETURN(entry.element, read_type(cursor, entry.key));
    if (entry.element == GgufType::Array) {
        entry.is_array = true;
        CLASP_ASSIGN_OR_RETURN(entry.element, read_type(cursor, entry.key));
        if (entry.element == GgufType::Array) {
            return Status(Code::Corrupt, "key " + std::string(entry.key) + " is an array of arrays");
        }
        CLASP_ASSIGN_OR_RETURN(entry.count, cursor.number<std::uint64_t>("the length of an array"));
    }
    const std::string what = "the value of " + std::string(entry.key);
    if (entry.element == GgufType::String) {
        CLASP_ASSIGN_OR_RETURN(entry.data, take_strings(cursor, entry.count, bytes));
        return entry;
    }
    const auto size =
        base::checked_multiply(static_cast<std::size_t>(entry.count), element_bytes(entry.element));
    if (!size) return truncated(what);
    CLASP_ASSIGN_OR_RETURN(entry.data, cursor.take(*size, what));
    return entry;
}

// Rows of a quantised type are whole blocks; the product of all dimensions must be a byte count that
// exists.
Result<std::size_t> tensor_bytes(const GgufTensor& tensor) {
    const std::string name(tensor.name);
    const std::int64_t block = ggml_blck_size(tensor.type);
    const std::size_t block_bytes = ggml_type_size(tensor.type);
    if (block <= 0 || block_bytes == 0) {
        return Status(Code::Unsupported, "tensor " + name + " has a type that ggml no longer reads");
    }
    if (tensor.shape[0] % block != 0) {
        return Status(Code::Corrupt, "tensor " + name + " has rows of " + std::to_string(tensor.shape[0]) +
                                         " elements, not a multiple of the block of " +
                                         std::to_string(block) + " of type " + ggml_type_name(tensor.type));
    }
    auto size = base::checked_multiply(static_cast<std::size_t>(tensor.shape[0] / block), block_bytes);
    std::size_t elements = static_cast<std::size_t>(tensor.shape[0]);
    for (std::size_t i = 1; i < tensor.shape.size() && size; ++i) {
        size = base::checked_multiply(*size, static_cast<std::size_t>(tensor.shape[i]));
        const auto product = base::checked_multiply(elements, static_cast<std::size_t>(tensor.shape[i]));
        if (!product) size.reset();
        elements = product.value_or(0);
    }
    constexpr auto kMax = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
    if (!size || *size > kMax || elements > kMax) {
        return Status(Code::Corrupt, "tensor " + name + " has more elements than can be counted");
    }
    return *size;
}

struct TensorRecord {
    GgufTensor tensor;
    std::uint64_t offset = 0;  // from the start of the data section
    std::size_t bytes = 0;
};

Result<TensorRecord> read_tensor(Cursor& cursor) {
    TensorRecord record;
    GgufTensor& tensor = record.tensor;
    CLASP_ASSIGN_OR_RETURN(tensor.name, cursor.string("the name of a tensor"));
    CLASP_RETURN_IF_ERROR(check_name(tensor.name, GGML_MAX_NAME - 1, "the name of a tensor"));
    const std::string name(tensor.name);
    CLASP_ASSIGN_OR_RETURN(const std::uint32_t n_dims, cursor.number<std::uint32_t>("the table of tensors"));
    if (n_dims == 0 || n_dims > tensor.shape.size()) {
        return Status(Code::Corrupt, "tensor " + name + " has " + std::to_string(n_dims) +
                                         " dimensions; 1 to 4 are possible");
    }
    tensor.n_dims = n_dims;
    for (std::size_t i = 0; i < tensor.n_dims; ++i) {
        CLASP_ASSIGN_OR_RETURN(tensor.shape[i], cursor.number<std::int64_t>("the table of tensors"));
        if (tensor.shape[i] <= 0) {
            return Status(Code::Corrupt,
                          "tensor " + name + " has a dimension of " + std::to_string(tensor.shape[i]));
        }
    }
    CLASP_ASSIGN_OR_RETURN(const std::uint32_t type, cursor.number<std::uint32_t>("the table of tensors"));
    if (type >= GGML_TYPE_COUNT) {
        return Status(Code::Corrupt, "tensor " + name + " has the unknown type " + std::to_string(type));
    }
    tensor.type = static_cast<ggml_type>(type);
    CLASP_ASSIGN_OR_RETURN(record.bytes, tensor_bytes(tensor));
    CLASP_ASSIGN_OR_RETURN(record.offset, cursor.number<std::uint64_t>("the table of tensors"));
    return record;
}

Status check_version(std::uint32_t version) {
    if (version == 2 || version == 3) return ok_status();
    if ((version & 0xFFFFU) == 0 && version != 0) {
        return {Code::Unsupported, "this is a big-endian GGUF file; only little-endian ones are read"};
    }
    return {Code::Unsupported,
            "GGUF version " + std::to_string(version) + " is not supported; versions 2 and 3 are"};
}

Status check_count(std::uint64_t count, std::size_t limit, std::string_view what) {
    if (count <= limit) return ok_status();
    return {Code::Corrupt, "the header claims " + std::to_string(count) + " " + std::string(what) +
                               "; the limit is " + std::to_string(limit)};
}

}  // namespace

std::string_view gguf_type_name(GgufType type) {
    constexpr std::array<std::string_view, 13> kNames = {
        "u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array", "u64", "i64", "f64"};
    return kNames[static_cast<std::size_t>(type)];
}

const GgufEntry* GgufReader::find(std::string_view key) const {
    const auto it = entry_index_.find(key);
    return it == entry_index_.end() ? nullptr : &entries_[it->second];
}

const GgufTensor* GgufReader::find_tensor(std::string_view name) const {
    const auto it = tensor_index_.find(name);
    return it == tensor_index_.end() ? nullptr : &tensors_[it->second];
}

Result<GgufReader> GgufReader::parse(std::span<const std::byte> bytes, const GgufLimits& limits) {
    Cursor cursor(bytes);
    GgufReader reader;
    CLASP_ASSIGN_OR_RETURN(const std::uint32_t magic, cursor.number<std::uint32_t>("the header"));
    if (magic != kMagic) return Status(Code::Corrupt, "the file does not begin with GGUF");
    CLASP_ASSIGN_OR_RETURN(reader.version_, cursor.number<std::uint32_t>("the header"));
    CLASP_RETURN_IF_ERROR(check_version(reader.version_));
    CLASP_ASSIGN_OR_RETURN(const std::uint64_t n_tensors, cursor.number<std::uint64_t>("the header"));
    CLASP_ASSIGN_OR_RETURN(const std::uint64_t n_keys, cursor.number<std::uint64_t>("the header"));
    CLASP_RETURN_IF_ERROR(check_count(n_tensors, limits.max_tensors, "tensors"));
    CLASP_RETURN_IF_ERROR(check_count(n_keys, limits.max_keys, "keys"));

    for (std::uint64_t i = 0; i < n_keys; ++i) {
        CLASP_ASSIGN_OR_RETURN(const GgufEntry entry, read_entry(cursor, bytes, limits));
        if (!reader.entry_index_.emplace(entry.key, reader.entries_.size()).second) {
            return Status(Code::Corrupt, "key " + std::string(entry.key) + " appears twice");
        }
        reader.entries_.push_back(entry);
    }
    if (reader.find("general.alignment") != nullptr) {
        CLASP_ASSIGN_OR_RETURN(const std::int64_t alignment,
                               read_integer(reader, "general.alignment", 1, kMaxAlignment));
        if (!std::has_single_bit(static_cast<std::uint64_t>(alignment))) {
            return Status(Code::Corrupt,
                          "general.alignment is " + std::to_string(alignment) + ", not a power of two");
        }
        reader.alignment_ = static_cast<std::size_t>(alignment);
    }

    std::vector<TensorRecord> records;
    for (std::uint64_t i = 0; i < n_tensors; ++i) {
        CLASP_ASSIGN_OR_RETURN(const TensorRecord record, read_tensor(cursor));
        records.push_back(record);
    }
    const std::size_t padding =
        (reader.alignment_ - cursor.position() % reader.alignment_) % reader.alignment_;
    if (n_tensors > 0 && cursor.remaining() < padding) return truncated("the header");
    const std::size_t data_start = n_tensors > 0 ? cursor.position() + padding : bytes.size();
    const auto data = bytes.subspan(data_start);
    for (TensorRecord& record : records) {
        const std::string name(record.tensor.name);
        if (record.offset % reader.alignment_ != 0) {
            return Status(Code::Corrupt, "the data of tensor " + name + " is not aligned to " +
                                             std::to_string(reader.alignment_) + " bytes");
        }
        if (record.offset > data.size() || record.bytes > data.size() - record.offset) {
            return Status(Code::Corrupt, "the file is too short for tensor " + name + ", which needs " +
                                             std::to_string(record.bytes) + " bytes at offset " +
                                             std::to_string(record.offset) + " of " +
                                             std::to_string(data.size()));
        }
        record.tensor.data = data.subspan(static_cast<std::size_t>(record.offset), record.bytes);
        if (!reader.tensor_index_.emplace(record.tensor.name, reader.tensors_.size()).second) {
            return Status(Code::Corrupt, "tensor " + name + " appears twice");
        }
        reader.tensors_.push_back(record.tensor);
    }
    return reader;
}

}  // namespace clasp::model
