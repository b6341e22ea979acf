#include "base/npy.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>

#include "base/check.h"
#include "base/checked.h"
#include "base/file.h"
#include "base/float_convert.h"
#include "base/text.h"

static_assert(std::endian::native == std::endian::little, "values are used as they stand in the file");

namespace clasp::base {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

Status corrupt(std::string message) {
    return {Code::Corrupt, std::move(message)};
}

// Reads the header's dictionary, a fixed subset of Python's literals.
class DictionaryReader {
   public:
    explicit DictionaryReader(std::string_view text) : text_(text) {}

    Status read(NpyHeader& header) {
        if (!take('{')) return corrupt("the npy header is not a dictionary");
        bool has_type = false;
        bool has_order = false;
        bool has_shape = false;
        while (!take('}')) {
            std::string_view key;
            if (!take_string(key) || !take(':'))
                return corrupt("the npy header has no key where one should be");
            bool* seen = nullptr;
            Status status;
            if (key == "descr") {
                seen = &has_type;
                status = read_type(header);
            } else if (key == "fortran_order") {
                seen = &has_order;
                status = read_order();
            } else if (key == "shape") {
                seen = &has_shape;
                status = read_shape(header);
            } else {
                return corrupt("the npy header has an unknown key " + in_quotes(key));
            }
            CLASP_RETURN_IF_ERROR(status);
            if (*seen) return corrupt("the npy header has key " + in_quotes(key) + " twice");
            *seen = true;
            if (!take(',') && !at('}'))
                return corrupt("the npy header lacks a comma after key " + in_quotes(key));
        }
        skip_space();
        if (!text_.empty()) return corrupt("the npy header goes on after its dictionary");
        if (!has_type) return corrupt("the npy header lacks key 'descr'");
        if (!has_order) return corrupt("the npy header lacks key 'fortran_order'");
        if (!has_shape) return corrupt("the npy header lacks key 'shape'");
        return {};
    }

   private:
    void skip_space() {
        while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\n' || text_.front() == '\t')) {
            text_.remove_prefix(1);
        }
    }
    bool at(char c) {
        skip_space();
        return !text_.empty() && text_.front() == c;
    }
    bool take(char c) {
        if (!at(c)) return false;
        text_.remove_prefix(1);
        return true;
    }
    bool take_word(std::string_view word) {
        skip_space();
        if (text_.substr(0, word.size()) != word) return false;
        text_.remove_prefix(word.size());
        return true;
    }
    bool take_string(std::string_view& value) {
        if (!at('\'') && !at('"')) return false;
        const char quote = text_.front();
        const std::size_t end = text_.find(quote, 1);
        if (end == std::string_view::npos) return false;
        value = text_.substr(1, end - 1);
        text_.remove_prefix(end + 1);
        return true;
    }

    Status read_type(NpyHeader& header) {
        std::string_view type;
        if (!take_string(type)) {
            return {Code::Unsupported,
                    "npy values of a compound type are not supported; store float32 or float16"};
        }
        if (type == "<f4") {
            header.type = FloatType::F32;
        } else if (type == "<f2") {
            header.type = FloatType::F16;
        } else {
            return {Code::Unsupported,
                    "npy values of type " + in_quotes(type) +
                        " are not supported; store little-endian float32 ('<f4') or float16 ('<f2')"};
        }
        return {};
    }

    Status read_order() {
        if (take_word("False")) return {};
        if (take_word("True")) {
            return {Code::Unsupported,
                    "npy values in Fortran order are not supported; store them in C order"};
        }
        return corrupt("npy header key 'fortran_order' is neither True nor False");
    }

    Status read_shape(NpyHeader& header) {
        if (!take('(')) return corrupt("npy header key 'shape' is not a tuple");
        while (!take(')')) {
            if (header.shape.size() == kNpyMaxDimensions) {
                return {Code::TooLarge, "an npy array has more than the limit of " +
                                            std::to_string(kNpyMaxDimensions) + " dimensions"};
            }
            skip_space();
            const std::string_view digits = text_.substr(0, text_.find_first_not_of("0123456789"));
            const auto length = parse_size(digits);
            if (!length) return corrupt("npy header key 'shape' holds something that is not a length");
            text_.remove_prefix(digits.size());
            header.shape.push_back(*length);
            if (!take(',') && !at(')')) return corrupt("npy header key 'shape' lacks a comma");
        }
        return {};
    }

    std::string_view text_;
};

std::size_t little_endian(std::span<const std::byte> bytes) {
    std::size_t value = 0;
    for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8U | std::to_integer<std::size_t>(bytes[i]);
    return value;
}

// Empty lengths make empty arrays even beside lengths whose product would not fit.
Status count_values(NpyHeader& header) {
    header.n_values = 1;
    bool is_too_large = false;
    for (const std::size_t length : header.shape) {
        const auto product = checked_multiply(header.n_values, length);
        if (!product) is_too_large = true;
        header.n_values = product.value_or(1);
        if (length == 0) {
            header.n_values = 0;
            return {};
        }
    }
    if (is_too_large || !checked_multiply(header.n_values, float_size(header.type))) {
        return {Code::TooLarge, "an npy array's shape is larger than memory can be"};
    }
    return {};
}

}  // namespace

std::vector<float> NpyArray::to_float32() const {
    std::vector<float> values(n_values());
    if (values.empty()) return values;
    if (type == FloatType::F32) {
        std::memcpy(values.data(), data.data(), data.size());
        return values;
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
        std::uint16_t bits = 0;
        std::memcpy(&bits, data.data() + 2 * i, sizeof(bits));
        values[i] = half_to_float(bits);
    }
    return values;
}

Result<NpyHeader> parse_npy_header(std::span<const std::byte> file) {
    const std::string_view text = as_text(file);
    if (text.size() < 10)
        return corrupt("an npy file of " + std::to_string(text.size()) + " bytes is cut short");
    if (text.substr(0, kMagic.size()) != kMagic)
        return corrupt("the file does not start as an npy file does");
    const auto major = std::to_integer<unsigned>(file[6]);
    const auto minor = std::to_integer<unsigned>(file[7]);
    if ((major != 1 && major != 2) || minor != 0) {
        return Status(Code::Unsupported, "npy version " + std::to_string(major) + "." +
                                             std::to_string(minor) +
                                             " is not supported; versions 1.0 and 2.0 are");
    }
    const std::size_t start = major == 1 ? 10 : 12;
    if (file.size() < start)
        return corrupt("an npy file of " + std::to_string(file.size()) + " bytes is cut short");
    const std::size_t length = little_endian(file.subspan(8, start - 8));
    if (length > kNpyMaxHeader) {
        return Status(Code::TooLarge, "an npy header of " + std::to_string(length) +
                                          " bytes is more than the limit of " +
                                          std::to_string(kNpyMaxHeader));
    }
    if (length > file.size() - start) return corrupt("the npy header is cut short");
    NpyHeader header;
    header.data_offset = start + length;
    CLASP_RETURN_IF_ERROR(DictionaryReader(text.substr(start, length)).read(header));
    CLASP_RETURN_IF_ERROR(count_values(header));
    return header;
}

Result<NpyArray> parse_npy(std::span<const std::byte> file) {
    CLASP_ASSIGN_OR_RETURN(NpyHeader header, parse_npy_header(file));
    const std::size_t wanted = header.n_values * float_size(header.type);
    const std::span<const std::byte> data = file.subspan(header.data_offset);
    if (data.size() != wanted) {
        return corrupt("the npy header announces " + std::to_string(wanted) + " bytes of values, but " +
                       std::to_string(data.size()) + " follow");
    }
    try {
        return NpyArray{header.type, std::move(header.shape), {data.begin(), data.end()}};
    } catch (const std::bad_alloc&) {
        return Status(Code::OutOfMemory,
                      "there is not enough memory for an npy array of " + std::to_string(wanted) + " bytes");
    }
}

Result<NpyArray> read_npy(const std::string& path, const NpyLimits& limits) {
    CLASP_ASSIGN_OR_RETURN(const std::string file, read_file(path, limits.max_bytes));
    auto array = parse_npy(as_bytes(file));
    if (!array.ok()) return array.status().with_context(path_in_quotes(path));
    return array;
}

std::string npy_file(std::span<const std::size_t> shape, std::span<const float> values) {
    std::size_t n_values = 1;
    std::string dictionary = "{'descr': '<f4', 'fortran_order': False, 'shape': (";
    for (const std::size_t length : shape) {
        n_values *= length;
        dictionary += std::to_string(length) + ",";
        if (shape.size() > 1) dictionary += " ";
    }
    CLASP_CHECK(n_values == values.size());
    if (shape.size() > 1) dictionary.resize(dictionary.size() - 2);
    dictionary += "), }";
    // Spaces up to a multiple of 64 bytes, as the format asks, so that values are aligned.
    const std::size_t unpadded = 10 + dictionary.size() + 1;
    dictionary.append((64 - unpadded % 64) % 64, ' ');
    dictionary += '\n';
    std::string file(kMagic);
    file += '\x01';
    file += '\x00';
    file += static_cast<char>(dictionary.size() & 0xffU);
    file += static_cast<char>(dictionary.size() >> 8U);
    file += dictionary;
    file += as_text(std::as_bytes(values));
    return file;
}

Status write_npy(const std::string& path, std::span<const std::size_t> shape, std::span<const float> values) {
    return write_file_atomic(path, npy_file(shape, values));
}

}  // namespace clasp::base
