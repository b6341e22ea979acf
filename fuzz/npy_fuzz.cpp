// Any bytes as an .npy file: refused with a message, or read, and then what is written reads back the same.
#include <cstdint>
#include <cstring>

#include "base/file.h"
#include "base/npy.h"
#include "require.h"

using clasp::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto array = clasp::base::parse_npy({reinterpret_cast<const std::byte*>(data), size});
    if (!array.ok()) {
        require(!array.status().message().empty());
        return 0;
    }
    require(array->data.size() <= size);
    const std::vector<float> values = array->to_float32();
    const std::string file = clasp::base::npy_file(array->shape, values);
    const auto again = clasp::base::parse_npy(clasp::base::as_bytes(file));
    require(again.ok() && again->shape == array->shape);
    require(again->data.size() == values.size() * sizeof(float));
    require(values.empty() || std::memcmp(again->data.data(), values.data(), again->data.size()) == 0);
    return 0;
}
