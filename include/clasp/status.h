// Errors as values: everything that input, files or memory can cause is a Status; a Result carries
// either a value or such a Status. Neither may be ignored. Bugs are checks (src/base/check.h), not
// statuses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace clasp {

enum class Code : std::uint8_t {
    Ok = 0,
    InvalidArgument,  // the caller asked for something that cannot be (wrong shape, budget, option)
    NotFound,         // a named file, profile, class or option does not exist
    Unsupported,      // well formed, but not something this build or model can do
    Corrupt,          // the bytes do not follow their format
    TooLarge,         // a stated limit was exceeded
    OutOfMemory,
    Cancelled,
    Deadline,
    Unavailable,  // a resource outside the process did not answer
    Internal,     // a bug of ours, reported instead of crashing
};

// A stable lower-case name, for JSON and logs: "invalid_argument".
std::string_view code_name(Code code);

class [[nodiscard]] Status {
   public:
    Status() = default;
    Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

    [[nodiscard]] bool ok() const { return code_ == Code::Ok; }
    [[nodiscard]] Code code() const { return code_; }
    // One sentence that names the thing and the limit, without a trailing full stop.
    [[nodiscard]] const std::string& message() const { return message_; }

    // The same error seen from further out: "context: message". An ok status stays ok.
    [[nodiscard]] Status with_context(std::string_view context) const;

   private:
    Code code_ = Code::Ok;
    std::string message_;
};

inline Status ok_status() {
    return {};
}

// Ends the program: somebody took the value of a result that is an error, which only a bug does.
[[noreturn]] void no_value();

template <typename T>
class [[nodiscard]] Result {
   public:
    Result(T value)
        : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(google-explicit-constructor)
    Result(Status status)                                      // NOLINT(google-explicit-constructor)
        : state_(std::in_place_index<1>, std::move(status)) {}

    [[nodiscard]] bool ok() const { return state_.index() == 0; }
    explicit operator bool() const { return ok(); }

    // Only when ok(); checked, because the alternative is to read from nowhere.
    [[nodiscard]] T& value() & { return *checked(std::get_if<0>(&state_)); }
    [[nodiscard]] const T& value() const& { return *checked(std::get_if<0>(&state_)); }
    [[nodiscard]] T&& value() && { return std::move(*checked(std::get_if<0>(&state_))); }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T* operator->() { return checked(std::get_if<0>(&state_)); }
    const T* operator->() const { return checked(std::get_if<0>(&state_)); }

    // An ok status when there is a value.
    [[nodiscard]] Status status() const { return ok() ? Status() : *std::get_if<1>(&state_); }

   private:
    template <typename Value>
    static Value* checked(Value* value) {
        if (value == nullptr) no_value();
        return value;
    }

    std::variant<T, Status> state_;
};

}  // namespace clasp

// Returns the status from the enclosing function unless it is ok.
#define CLASP_RETURN_IF_ERROR(expression)              \
    do {                                               \
        ::clasp::Status clasp_status_ = (expression);  \
        if (!clasp_status_.ok()) return clasp_status_; \
    } while (false)

#define CLASP_CONCAT_INNER(a, b) a##b
#define CLASP_CONCAT(a, b) CLASP_CONCAT_INNER(a, b)

// CLASP_ASSIGN_OR_RETURN(auto value, make_value());
#define CLASP_ASSIGN_OR_RETURN(target, expression) \
    CLASP_ASSIGN_OR_RETURN_IMPL(CLASP_CONCAT(clasp_result_, __LINE__), target, expression)
#define CLASP_ASSIGN_OR_RETURN_IMPL(result, target, expression) \
    auto result = (expression);                                 \
    if (!result.ok()) return result.status();                   \
    target = std::move(result).value()
