// JSON as text. The only file that knows nlohmann/json: its lexer reads, and its writer decides how numbers
// and odd strings look.
#include <algorithm>
#include <deque>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "base/json.h"
#include "base/text.h"

namespace clasp::base {
namespace {

constexpr std::size_t kFewKeys = 24;

// An object or array whose end has not been read yet.
class OpenValue {
   public:
    explicit OpenValue(bool is_object) : is_object_(is_object) {}

    // False when the key was there already.
    bool add_key(std::string name) {
        members_.push_back({std::move(name), {}});
        const std::size_t last = members_.size() - 1;
        if (last < kFewKeys) {
            return std::none_of(members_.begin(), members_.end() - 1,
                                [&](const JsonMember& member) { return member.key == members_[last].key; });
        }
        for (std::size_t i = places_.size(); i < last; ++i) places_.insert(i);
        return places_.insert(last).second;
    }
    [[nodiscard]] const std::string& last_key() const { return members_.back().key; }

    void add_value(Json value) {
        if (is_object_) {
            members_.back().value = std::move(value);
        } else {
            elements_.push_back(std::move(value));
        }
    }

    Json close(KeyOrder order) {
        if (!is_object_) return Json(std::move(elements_));
        if (order == KeyOrder::Sorted) {
            std::sort(members_.begin(), members_.end(),
                      [](const JsonMember& a, const JsonMember& b) { return a.key < b.key; });
        }
        return Json::object(std::move(members_));
    }

   private:
    struct ByKey {
        const std::vector<JsonMember>* members;
        bool operator()(std::size_t a, std::size_t b) const { return (*members)[a].key < (*members)[b].key; }
    };

    bool is_object_;
    std::vector<Json> elements_;
    std::vector<JsonMember> members_;
    // Of objects with many keys, the places of the members in the order of their keys.
    std::set<std::size_t, ByKey> places_{ByKey{&members_}};
};

class Builder : public nlohmann::json_sax<nlohmann::json> {
   public:
    Builder(std::size_t max_depth, KeyOrder order) : max_depth_(max_depth), order_(order) {}

    [[nodiscard]] const Status& status() const { return status_; }
    Json take() { return std::move(whole_); }

    bool null() override { return add(Json()); }
    bool boolean(bool value) override { return add(value); }
    bool number_integer(number_integer_t value) override { return add(value); }
    bool number_unsigned(number_unsigned_t value) override { return add(value); }
    bool number_float(number_float_t value, const string_t& /*text*/) override { return add(value); }
    bool string(string_t& value) override { return add(std::move(value)); }
    bool binary(binary_t& /*value*/) override { return true; }  // not in JSON text

    bool start_object(std::size_t /*n*/) override { return open(true); }
    bool end_object() override { return close(); }
    bool start_array(std::size_t /*n*/) override { return open(false); }
    bool end_array() override { return close(); }

    bool key(string_t& name) override {
        if (open_.back().add_key(std::move(name))) return true;
        return fail(Code::Corrupt,
                    "key " + in_quotes(open_.back().last_key()) + " stands twice in one object");
    }

    bool parse_error(std::size_t position, const std::string& last_token,
                     const nlohmann::json::exception& error) override {
        const std::string_view what = error.what();
        const bool is_number = what.find("out_of_range") != std::string_view::npos;
        return fail(Code::Corrupt, "not JSON at byte " + std::to_string(position) +
                                       (is_number ? ": a number is out of range" : "") + ", near " +
                                       in_quotes(last_token));
    }

   private:
    bool add(Json value) {
        if (open_.empty()) {
            whole_ = std::move(value);
        } else {
            open_.back().add_value(std::move(value));
        }
        return true;
    }
    bool open(bool is_object) {
        if (open_.size() == max_depth_) {
            return fail(Code::TooLarge,
                        "JSON is nested deeper than the limit of " + std::to_string(max_depth_) + " levels");
        }
        open_.emplace_back(is_object);
        return true;
    }
    bool close() {
        Json value = open_.back().close(order_);
        open_.pop_back();
        return add(std::move(value));
    }
    bool fail(Code code, std::string message) {
        status_ = Status(code, std::move(message));
        return false;
    }

    std::size_t max_depth_;
    KeyOrder order_;
    std::deque<OpenValue> open_;  // stay where they are: their sets of places point into them
    Json whole_;
    Status status_;
};

class Writer {
   public:
    Writer(int indent, bool ascii_only) : indent_(indent), ascii_only_(ascii_only) {}

    void write(const Json& value) {
        if (value.is_object()) {
            write_object(value);
        } else if (value.is_array()) {
            write_array(value);
        } else if (const std::string* const text = value.as_string()) {
            write_string(*text);
        } else if (value.is_number_float()) {
            out_ += nlohmann::json(value.get<double>().value_or(0.0)).dump();
        } else if (value.is_number_unsigned()) {
            out_ += std::to_string(value.get<std::uint64_t>().value_or(0));
        } else if (value.is_number_integer()) {
            out_ += std::to_string(value.get<std::int64_t>().value_or(0));
        } else if (value.is_boolean()) {
            out_ += value == true ? "true" : "false";
        } else {
            out_ += "null";
        }
    }

    std::string take() { return std::move(out_); }

   private:
    void write_object(const Json& value) {
        out_ += '{';
        ++depth_;
        bool is_first = true;
        for (const auto& [key, inner] : value.items()) {
            begin_item(is_first);
            write_string(key);
            out_ += indent_ >= 0 ? ": " : ":";
            write(inner);
            is_first = false;
        }
        end_items(is_first, '}');
    }

    void write_array(const Json& value) {
        out_ += '[';
        ++depth_;
        bool is_first = true;
        for (const Json& inner : value) {
            begin_item(is_first);
            write(inner);
            is_first = false;
        }
        end_items(is_first, ']');
    }

    void begin_item(bool is_first) {
        if (!is_first) out_ += ',';
        new_line();
    }

    void end_items(bool is_empty, char bracket) {
        --depth_;
        if (!is_empty) new_line();
        out_ += bracket;
    }

    void new_line() {
        if (indent_ < 0) return;
        out_ += '\n';
        out_.append(depth_ * static_cast<std::size_t>(indent_), ' ');
    }

    void write_string(const std::string& text) {
        const bool is_plain = std::all_of(
            text.begin(), text.end(), [](char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; });
        if (is_plain) {
            out_.append(1, '"').append(text).append(1, '"');
        } else {
            out_ += nlohmann::json(text).dump(-1, ' ', ascii_only_, nlohmann::json::error_handler_t::replace);
        }
    }

    int indent_;
    bool ascii_only_;
    std::size_t depth_ = 0;
    std::string out_;
};

}  // namespace

Result<Json> parse_json(std::string_view text, const JsonLimits& limits, KeyOrder order) {
    if (text.size() > limits.max_bytes) {
        return Status(Code::TooLarge, "JSON of " + std::to_string(text.size()) +
                                          " bytes is more than the limit of " +
                                          std::to_string(limits.max_bytes));
    }
    try {
        Builder builder(limits.max_depth, order);
        nlohmann::json::sax_parse(text, &builder);
        CLASP_RETURN_IF_ERROR(builder.status());
        return builder.take();
    } catch (const std::exception& error) {  // memory, in practice
        return Status(Code::OutOfMemory, std::string("cannot parse JSON: ") + error.what());
    }
}

std::string dump_json(const Json& value, int indent) {
    Writer writer(indent, false);
    writer.write(value);
    return writer.take();
}

std::string dump_json_ascii(const Json& value) {
    Writer writer(-1, true);
    writer.write(value);
    return writer.take();
}

std::ostream& operator<<(std::ostream& out, const Json& value) {
    return out << dump_json(value);
}

}  // namespace clasp::base
