// The stack machine behind pickle_reader.h. Values lie in one list and name each other by number, so that
// no program can make them deep, circular or large by copying.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "clasp/status.h"
#include "convert/stored_tensor.h"

namespace clasp::convert {

using PickleIndex = std::uint32_t;

struct PickleValue {
    enum class Kind : std::uint8_t {
        None,
        Bool,
        Int,
        Float,
        Text,
        Tuple,
        List,
        Dict,
        Class,
        Storage,
        Tensor
    };
    // What a Class may be.
    enum class Callable : std::uint8_t { RebuildTensor, OrderedDict, StorageOf };

    Kind kind = Kind::None;
    Callable callable = Callable::OrderedDict;  // Class
    Element element = Element::F32;             // Class of a storage
    std::int64_t number = 0;                    // Bool, Int
    std::string_view text = {};                 // Text: borrowed from the program
    // Tuple, List: the elements. Dict: keys and values in turn. Storage: the tuple that names it. Tensor: the
    // tuple of the arguments it is made of.
    std::vector<PickleIndex> items = {};
};

class PickleMachine {
   public:
    explicit PickleMachine(std::string_view program) : program_(program) {}

    // The value with which the program stops.
    Result<PickleIndex> run();
    [[nodiscard]] const PickleValue& value(PickleIndex index) const { return values_[index]; }

   private:
    [[nodiscard]] Status refuse(const std::string& what) const;
    Status step(std::uint8_t operation);
    Status step_of_constant(std::uint8_t operation);
    Status step_of_container(std::uint8_t operation);
    Status step_of_memo(std::uint8_t operation);
    Status step_of_call(std::uint8_t operation);

    Result<std::uint64_t> take_number(std::size_t n_bytes);
    Result<std::string_view> take_bytes(std::uint64_t n_bytes);
    Result<std::string_view> take_line();
    Status push(PickleValue value);
    Status push_index(PickleIndex index);
    Result<PickleIndex> pop();
    Result<std::vector<PickleIndex>> pop_to_mark();
    Result<PickleValue*> top_of(PickleValue::Kind kind, const char* what);
    Status push_integer(std::size_t n_bytes);
    Status push_class();
    Status make_tuple(std::size_t count);
    Status call();
    Status store(std::uint64_t key);
    Status load(std::uint64_t key);

    std::string_view program_;
    std::size_t at_ = 0;
    std::vector<PickleValue> values_;
    std::vector<PickleIndex> stack_;
    std::vector<std::size_t> marks_;
    std::unordered_map<std::uint64_t, PickleIndex> memo_;
};

}  // namespace clasp::convert
