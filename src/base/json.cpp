#include "base/json.h"

#include <set>
#include <string>
#include <vector>

#include "base/text.h"

namespace clasp::base {
namespace {

using nlohmann::json;

// Walks the text before anything is built from it.
class Checker : public nlohmann::json_sax<json> {
   public:
    explicit Checker(std::size_t max_depth) : max_depth_(max_depth) {}

    [[nodiscard]] const Status& status() const { return status_; }

    bool null() override { return true; }
    bool boolean(bool /*value*/) override { return true; }
    bool number_integer(number_integer_t /*value*/) override { return true; }
    bool number_unsigned(number_unsigned_t /*value*/) override { return true; }
    bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return true; }
    bool string(string_t& /*value*/) override { return true; }
    bool binary(binary_t& /*value*/) override { return true; }

    bool start_object(std::size_t /*n*/) override { return enter(); }
    bool end_object() override { return leave(); }
    bool start_array(std::size_t /*n*/) override { return enter(); }
    bool end_array() override { return leave(); }

    bool key(string_t& name) override {
        if (keys_.back().insert(name).second) return true;
        return fail(Code::Corrupt, "key " + in_quotes(name) + " stands twice in one object");
    }

    bool parse_error(std::size_t position, const std::string& last_token,
                     const json::exception& error) override {
        const std::string_view what = error.what();
        const bool is_number = what.find("out_of_range") != std::string_view::npos;
        return fail(Code::Corrupt, "not JSON at byte " + std::to_string(position) +
                                       (is_number ? ": a number is out of range" : "") + ", near " +
                                       in_quotes(last_token));
    }

   private:
    bool enter() {
        if (keys_.size() == max_depth_) {
            return fail(Code::TooLarge,
                        "JSON is nested deeper than the limit of " + std::to_string(max_depth_) + " levels");
        }
        keys_.emplace_back();
        return true;
    }
    bool leave() {
        keys_.pop_back();
        return true;
    }
    bool fail(Code code, std::string message) {
        status_ = Status(code, std::move(message));
        return false;
    }

    std::size_t max_depth_;
    std::vector<std::set<std::string>> keys_;  // of the open objects; empty sets for open arrays
    Status status_;
};

}  // namespace

Result<json> parse_json(std::string_view text, const JsonLimits& limits) {
    if (text.size() > limits.max_bytes) {
        return Status(Code::TooLarge, "JSON of " + std::to_string(text.size()) +
                                          " bytes is more than the limit of " +
                                          std::to_string(limits.max_bytes));
    }
    try {
        Checker checker(limits.max_depth);
        json::sax_parse(text, &checker);
        CLASP_RETURN_IF_ERROR(checker.status());
        return json::parse(text, nullptr, false);
    } catch (const std::exception& error) {  // memory, in practice
        return Status(Code::OutOfMemory, std::string("cannot parse JSON: ") + error.what());
    }
}

std::string dump_json(const json& value, int indent) {
    return value.dump(indent, ' ', false, json::error_handler_t::replace);
}

std::string dump_json(const nlohmann::ordered_json& value, int indent) {
    return value.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace clasp::base
