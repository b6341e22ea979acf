#include "convert/pickle_machine.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/text.h"
#include "convert/byte_source.h"

namespace clasp::convert {
namespace {

using Kind = PickleValue::Kind;
using Callable = PickleValue::Callable;

constexpr std::size_t kMaxPickleValues = std::size_t{1} << 19U;  // a large model takes a tenth of it
constexpr std::size_t kMaxPickleStack = std::size_t{1} << 19U;
constexpr std::size_t kMaxClassName = 200;

// Of protocol 2, as far as dictionaries of tensors need them.
enum Operation : std::uint8_t {
    kMark = '(',
    kStop = '.',
    kNone = 'N',
    kInt4 = 'J',
    kInt1 = 'K',
    kInt2 = 'M',
    kFloat8 = 'G',
    kText4 = 'X',
    kEmptyList = ']',
    kAppend = 'a',
    kAppends = 'e',
    kEmptyDict = '}',
    kSetItem = 's',
    kSetItems = 'u',
    kEmptyTuple = ')',
    kTuple = 't',
    kGet1 = 'h',
    kGet4 = 'j',
    kPut1 = 'q',
    kPut4 = 'r',
    kClass = 'c',
    kCall = 'R',
    kBuild = 'b',
    kPersistent = 'Q',
    kProtocol = 0x80,
    kTuple1 = 0x85,
    kTuple2 = 0x86,
    kTuple3 = 0x87,
    kTrue = 0x88,
    kFalse = 0x89,
    kLong1 = 0x8a,
};

struct StorageClass {
    std::string_view name;
    Element element;
};

constexpr std::array<StorageClass, 10> kStorageClasses = {{{"DoubleStorage", Element::F64},
                                                           {"FloatStorage", Element::F32},
                                                           {"HalfStorage", Element::F16},
                                                           {"BFloat16Storage", Element::BF16},
                                                           {"LongStorage", Element::I64},
                                                           {"IntStorage", Element::I32},
                                                           {"ShortStorage", Element::I16},
                                                           {"CharStorage", Element::I8},
                                                           {"ByteStorage", Element::U8},
                                                           {"BoolStorage", Element::Bool}}};

}  // namespace

Status PickleMachine::refuse(const std::string& what) const {
    return {Code::Unsupported, "byte " + std::to_string(at_) + " of its pickle: " + what +
                                   "; save the checkpoint as safetensors instead"};
}

Result<PickleIndex> PickleMachine::run() {
    while (at_ < program_.size()) {
        const auto operation = static_cast<std::uint8_t>(program_[at_++]);
        if (operation == kStop) {
            if (stack_.size() != 1 || !marks_.empty()) return refuse("it does not end with one value");
            if (at_ != program_.size()) return refuse("something follows its end");
            return stack_.back();
        }
        CLASP_RETURN_IF_ERROR(step(operation));
    }
    return refuse("it ends without the instruction to stop");
}

Status PickleMachine::step(std::uint8_t operation) {
    switch (operation) {
        case kProtocol: {
            CLASP_ASSIGN_OR_RETURN(const std::uint64_t version, take_number(1));
            if (version != 2) return refuse("its protocol is " + std::to_string(version) + ", not 2");
            return ok_status();
        }
        case kMark:
            if (marks_.size() >= kMaxPickleStack) return refuse("it has too many open marks");
            marks_.push_back(stack_.size());
            return ok_status();
        case kNone:
        case kTrue:
        case kFalse:
        case kInt1:
        case kInt2:
        case kInt4:
        case kLong1:
        case kFloat8:
        case kText4: return step_of_constant(operation);
        case kEmptyList:
        case kEmptyDict:
        case kEmptyTuple:
        case kTuple:
        case kTuple1:
        case kTuple2:
        case kTuple3:
        case kAppend:
        case kAppends:
        case kSetItem:
        case kSetItems: return step_of_container(operation);
        case kGet1:
        case kGet4:
        case kPut1:
        case kPut4: return step_of_memo(operation);
        case kClass:
        case kCall:
        case kBuild:
        case kPersistent: return step_of_call(operation);
        default: break;
    }
    std::array<char, 8> code{};
    std::snprintf(code.data(), code.size(), "0x%02x", static_cast<unsigned>(operation));
    return refuse(std::string("the instruction ") + code.data() + " is not one of a checkpoint's");
}

Status PickleMachine::step_of_constant(std::uint8_t operation) {
    switch (operation) {
        case kTrue:
        case kFalse: return push({.kind = Kind::Bool, .number = operation == kTrue ? 1 : 0});
        case kInt1: return push_integer(1);
        case kInt2: return push_integer(2);
        case kInt4: {
            CLASP_ASSIGN_OR_RETURN(const std::uint64_t bits, take_number(4));
            return push(
                {.kind = Kind::Int, .number = static_cast<std::int32_t>(static_cast<std::uint32_t>(bits))});
        }
        case kLong1: {
            CLASP_ASSIGN_OR_RETURN(const std::uint64_t n_bytes, take_number(1));
            if (n_bytes > 8) return refuse("a whole number has " + std::to_string(n_bytes) + " bytes");
            if (n_bytes == 0) return push({.kind = Kind::Int, .number = 0});
            CLASP_ASSIGN_OR_RETURN(std::uint64_t bits, take_number(static_cast<std::size_t>(n_bytes)));
            const std::uint64_t sign = std::uint64_t{1} << (8 * n_bytes - 1);
            if (n_bytes < 8 && (bits & sign) != 0) bits |= ~((sign << 1U) - 1);
            return push({.kind = Kind::Int, .number = static_cast<std::int64_t>(bits)});
        }
        case kFloat8: {
            CLASP_RETURN_IF_ERROR(take_bytes(8).status());
            return push({.kind = Kind::Float});
        }
        case kText4: {
            CLASP_ASSIGN_OR_RETURN(const std::uint64_t n_bytes, take_number(4));
            CLASP_ASSIGN_OR_RETURN(const std::string_view text, take_bytes(n_bytes));
            return push({.kind = Kind::Text, .text = text});
        }
        default: return push({.kind = Kind::None});
    }
}

Status PickleMachine::step_of_container(std::uint8_t operation) {
    switch (operation) {
        case kEmptyList: return push({.kind = Kind::List});
        case kEmptyDict: return push({.kind = Kind::Dict});
        case kEmptyTuple: return push({.kind = Kind::Tuple});
        case kTuple1: return make_tuple(1);
        case kTuple2: return make_tuple(2);
        case kTuple3: return make_tuple(3);
        case kTuple: {
            CLASP_ASSIGN_OR_RETURN(std::vector<PickleIndex> items, pop_to_mark());
            return push({.kind = Kind::Tuple, .items = std::move(items)});
        }
        case kAppend: {
            CLASP_ASSIGN_OR_RETURN(const PickleIndex item, pop());
            CLASP_ASSIGN_OR_RETURN(PickleValue* const list, top_of(Kind::List, "a list"));
            list->items.push_back(item);
            return ok_status();
        }
        case kSetItem: {
            CLASP_ASSIGN_OR_RETURN(const PickleIndex item, pop());
            CLASP_ASSIGN_OR_RETURN(const PickleIndex key, pop());
            CLASP_ASSIGN_OR_RETURN(PickleValue* const dict, top_of(Kind::Dict, "a dictionary"));
            dict->items.insert(dict->items.end(), {key, item});
            return ok_status();
        }
        default: break;  // appends, setitems
    }
    const bool is_list = operation == kAppends;
    CLASP_ASSIGN_OR_RETURN(const std::vector<PickleIndex> items, pop_to_mark());
    CLASP_ASSIGN_OR_RETURN(PickleValue* const target,
                           is_list ? top_of(Kind::List, "a list") : top_of(Kind::Dict, "a dictionary"));
    if (!is_list && items.size() % 2 != 0) return refuse("a dictionary has a key without a value");
    target->items.insert(target->items.end(), items.begin(), items.end());
    return ok_status();
}

Status PickleMachine::step_of_memo(std::uint8_t operation) {
    const bool is_short = operation == kGet1 || operation == kPut1;
    CLASP_ASSIGN_OR_RETURN(const std::uint64_t key, take_number(is_short ? 1 : 4));
    return operation == kGet1 || operation == kGet4 ? load(key) : store(key);
}

Status PickleMachine::step_of_call(std::uint8_t operation) {
    switch (operation) {
        case kClass: return push_class();
        case kCall: return call();
        case kBuild: {
            // PyTorch hangs versions of modules on the dictionary, which say nothing about its tensors.
            CLASP_ASSIGN_OR_RETURN(const PickleIndex state, pop());
            if (values_[state].kind != Kind::Dict) return refuse("the state of an object is no dictionary");
            return top_of(Kind::Dict, "a dictionary").status();
        }
        default: break;
    }
    CLASP_ASSIGN_OR_RETURN(const PickleIndex id, pop());
    if (values_[id].kind != Kind::Tuple) return refuse("the name of a storage is no tuple");
    return push({.kind = Kind::Storage, .items = {id}});
}

Result<std::uint64_t> PickleMachine::take_number(std::size_t n_bytes) {
    CLASP_ASSIGN_OR_RETURN(const std::string_view bytes, take_bytes(n_bytes));
    return little_endian(bytes, 0, n_bytes);
}

Result<std::string_view> PickleMachine::take_bytes(std::uint64_t n_bytes) {
    if (n_bytes > program_.size() - at_) return refuse("it ends in the middle of an instruction");
    const std::string_view bytes = program_.substr(at_, static_cast<std::size_t>(n_bytes));
    at_ += bytes.size();
    return bytes;
}

Result<std::string_view> PickleMachine::take_line() {
    const std::size_t end = program_.find('\n', at_);
    if (end == std::string_view::npos || end - at_ > kMaxClassName) {
        return refuse("the name of a class does not end");
    }
    const std::string_view line = program_.substr(at_, end - at_);
    at_ = end + 1;
    return line;
}

Status PickleMachine::push(PickleValue value) {
    if (values_.size() >= kMaxPickleValues) {
        return refuse("it makes more than " + std::to_string(kMaxPickleValues) + " values");
    }
    values_.push_back(std::move(value));
    return push_index(static_cast<PickleIndex>(values_.size() - 1));
}

Status PickleMachine::push_index(PickleIndex index) {
    if (stack_.size() >= kMaxPickleStack) {
        return refuse("it has more than " + std::to_string(kMaxPickleStack) + " values open");
    }
    stack_.push_back(index);
    return ok_status();
}

Result<PickleIndex> PickleMachine::pop() {
    if (stack_.empty() || (!marks_.empty() && marks_.back() >= stack_.size())) {
        return refuse("an instruction lacks a value");
    }
    const PickleIndex index = stack_.back();
    stack_.pop_back();
    return index;
}

Result<std::vector<PickleIndex>> PickleMachine::pop_to_mark() {
    if (marks_.empty() || marks_.back() > stack_.size()) return refuse("an instruction lacks its mark");
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<PickleIndex> items(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return items;
}

Result<PickleValue*> PickleMachine::top_of(PickleValue::Kind kind, const char* what) {
    const bool is_there = !stack_.empty() && (marks_.empty() || marks_.back() < stack_.size());
    if (!is_there || values_[stack_.back()].kind != kind) {
        return refuse(std::string("an instruction needs ") + what);
    }
    return &values_[stack_.back()];
}

Status PickleMachine::push_integer(std::size_t n_bytes) {
    CLASP_ASSIGN_OR_RETURN(const std::uint64_t number, take_number(n_bytes));
    return push({.kind = Kind::Int, .number = static_cast<std::int64_t>(number)});
}

Status PickleMachine::push_class() {
    CLASP_ASSIGN_OR_RETURN(const std::string_view module, take_line());
    CLASP_ASSIGN_OR_RETURN(const std::string_view name, take_line());
    if (module == "torch._utils" && name == "_rebuild_tensor_v2") {
        return push({.kind = Kind::Class, .callable = Callable::RebuildTensor});
    }
    if (module == "collections" && name == "OrderedDict") {
        return push({.kind = Kind::Class, .callable = Callable::OrderedDict});
    }
    if (module == "torch") {
        for (const StorageClass& storage : kStorageClasses) {
            if (storage.name != name) continue;
            return push({.kind = Kind::Class, .callable = Callable::StorageOf, .element = storage.element});
        }
    }
    return refuse("it wants to use " + base::in_quotes(std::string(module) + "." + std::string(name)) +
                  ", which is no part of a plain dictionary of tensors");
}

Status PickleMachine::make_tuple(std::size_t count) {
    std::vector<PickleIndex> items(count);
    for (std::size_t i = count; i-- > 0;) {
        CLASP_ASSIGN_OR_RETURN(items[i], pop());
    }
    return push({.kind = Kind::Tuple, .items = std::move(items)});
}

Status PickleMachine::call() {
    CLASP_ASSIGN_OR_RETURN(const PickleIndex arguments, pop());
    CLASP_ASSIGN_OR_RETURN(const PickleIndex callable, pop());
    if (values_[callable].kind != Kind::Class || values_[arguments].kind != Kind::Tuple) {
        return refuse("it calls something that is no class");
    }
    if (values_[callable].callable == Callable::RebuildTensor) {
        return push({.kind = Kind::Tensor, .items = {arguments}});
    }
    if (values_[callable].callable == Callable::OrderedDict && values_[arguments].items.empty()) {
        return push({.kind = Kind::Dict});
    }
    return refuse("it calls a class in a way that no checkpoint does");
}

Status PickleMachine::store(std::uint64_t key) {
    if (stack_.empty()) return refuse("an instruction lacks a value");
    memo_[key] = stack_.back();
    return ok_status();
}

Status PickleMachine::load(std::uint64_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) return refuse("it asks for a value that it did not store");
    return push_index(found->second);
}

}  // namespace clasp::convert
