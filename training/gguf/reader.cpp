#include "gguf/reader.h"

#include <cstring>
#include <utility>

#include "base/float_convert.h"
#include "gguf/format.h"
#include "gguf/writer.h"

namespace clasp::training {

using namespace gguf;

namespace {

constexpr std::uint32_t kMostDimensions = 4;

}  // namespace

// Reads forward; after the first read beyond the end, or of something unknown, everything is zero.
class GgufReader::Cursor {
   public:
    explicit Cursor(std::string_view bytes) : bytes_(bytes) {}

    template <typename T>
    T number() {
        T value{};
        const std::string_view part = take(sizeof(T));
        if (!part.empty()) std::memcpy(&value, part.data(), sizeof(T));
        return value;
    }
    std::string text() { return std::string(take(number<std::uint64_t>())); }

    std::string_view take(std::uint64_t size) {
        if (size > bytes_.size() - at_) {
            fail();
            return {};
        }
        const std::string_view part = bytes_.substr(at_, size);
        at_ += size;
        return part;
    }

    void fail() { is_good_ = false; }
    bool is_good() const { return is_good_; }
    std::size_t at() const { return at_; }

   private:
    std::string_view bytes_;
    std::size_t at_ = 0;
    bool is_good_ = true;
};

void GgufReader::read_value(Cursor& in, const std::string& key) {
    const auto type = in.number<std::uint32_t>();
    if (type == kU32)
        numbers_[key] = in.number<std::uint32_t>();
    else if (type == kF32)
        in.take(sizeof(float));
    else if (type == kBool)
        in.take(1);
    else if (type == kString)
        in.text();
    else if (type == kArray) {
        const auto element = in.number<std::uint32_t>();
        const auto count = in.number<std::uint64_t>();
        for (std::uint64_t i = 0; i < count && in.is_good(); ++i) {
            if (element == kString)
                texts_[key].push_back(in.text());
            else if (element == kI32 || element == kF32)
                in.take(4);
            else
                in.fail();
        }
    } else
        in.fail();
}

GgufReader::Tensor GgufReader::read_tensor(Cursor& in, std::string& name) {
    Tensor tensor;
    name = in.text();
    const auto dimensions = in.number<std::uint32_t>();
    if (dimensions > kMostDimensions) in.fail();
    tensor.count = 1;
    for (std::uint32_t i = 0; i < dimensions && in.is_good(); ++i) {
        tensor.shape.push_back(in.number<std::uint64_t>());
        // No extent can be larger than the file, so that the product of two does not wrap.
        if (tensor.shape.back() > bytes_.size() || tensor.count > bytes_.size()) in.fail();
        tensor.count *= tensor.shape.back();
    }
    const auto type = in.number<std::uint32_t>();
    tensor.is_half = type == static_cast<std::uint32_t>(GgufWriter::Type::F16);
    if (!tensor.is_half && type != static_cast<std::uint32_t>(GgufWriter::Type::F32)) in.fail();
    tensor.begin = in.number<std::uint64_t>();
    return tensor;
}

Result<GgufReader> GgufReader::parse(std::string bytes) {
    GgufReader file;
    file.bytes_ = std::move(bytes);
    Cursor in(file.bytes_);
    if (in.take(4) != "GGUF" || in.number<std::uint32_t>() != kVersion)
        return Status(Code::Corrupt, "not a GGUF file of version 3");
    const auto tensors = in.number<std::uint64_t>();
    const auto keys = in.number<std::uint64_t>();
    for (std::uint64_t i = 0; i < keys && in.is_good(); ++i) {
        const std::string key = in.text();
        file.read_value(in, key);
    }
    for (std::uint64_t i = 0; i < tensors && in.is_good(); ++i) {
        std::string name;
        Tensor tensor = file.read_tensor(in, name);
        file.tensors_[name] = std::move(tensor);
    }
    const std::uint64_t data = padded(in.at());
    for (auto& [name, tensor] : file.tensors_) {
        const std::uint64_t size = tensor.count * (tensor.is_half ? 2 : 4);
        if (data > file.bytes_.size() || tensor.begin > file.bytes_.size() - data ||
            size > file.bytes_.size() - data - tensor.begin)
            in.fail();
        tensor.begin += data;
    }
    if (!in.is_good())
        return Status(Code::Corrupt, "the file is damaged, or has types that no model of ours has");
    return file;
}

Result<std::uint32_t> GgufReader::number(const std::string& key) const {
    const auto at = numbers_.find(key);
    if (at == numbers_.end()) return Status(Code::Corrupt, "the key " + key + " is missing");
    return at->second;
}

Result<std::vector<std::string>> GgufReader::texts(const std::string& key) const {
    const auto at = texts_.find(key);
    if (at == texts_.end()) return Status(Code::Corrupt, "the key " + key + " is missing");
    return at->second;
}

Result<std::vector<float>> GgufReader::tensor(const std::string& name,
                                              const std::vector<std::uint64_t>& shape) const {
    const auto at = tensors_.find(name);
    if (at == tensors_.end()) return Status(Code::Corrupt, "the tensor " + name + " is missing");
    const Tensor& tensor = at->second;
    if (tensor.shape != shape) return Status(Code::Corrupt, "the tensor " + name + " has another shape");
    std::vector<float> values(tensor.count);
    const char* from = bytes_.data() + tensor.begin;
    if (!tensor.is_half) {
        std::memcpy(values.data(), from, values.size() * sizeof(float));
        return values;
    }
    for (float& value : values) {
        std::uint16_t half = 0;
        std::memcpy(&half, from, sizeof half);
        from += sizeof half;
        value = base::half_to_float(half);
    }
    return values;
}

}  // namespace clasp::training
