#include "cli/serve_limits.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <string_view>
#include <vector>

#include "base/suggest.h"
#include "base/text.h"
#include "request/option_value.h"

namespace clasp::cli {

namespace {

using serve::HttpLimits;
using serve::RequestLimits;

struct LimitRow {
    std::string_view name;
    long long least;
    long long most;
    long long usual;
    void (*set)(HttpLimits& http, RequestLimits& requests, long long value);
};

template <auto member>
void set_http(HttpLimits& http, RequestLimits& /*requests*/, long long value) {
    http.*member = static_cast<std::size_t>(value);
}
template <auto member>
void set_http_seconds(HttpLimits& http, RequestLimits& /*requests*/, long long value) {
    http.*member = std::chrono::seconds(value);
}
template <auto member>
void set_request(HttpLimits& /*http*/, RequestLimits& requests, long long value) {
    requests.*member = static_cast<std::size_t>(value);
}

constexpr long long kMebi = 1 << 20;
// Lines and headers are bounded by the HTTP library too, which was compiled with these figures.
constexpr std::array<LimitRow, 19> kLimits = {{
    {"line-bytes", 256, 8192, 8192, set_http<&HttpLimits::max_line_bytes>},
    {"header-bytes", 512, 65536, 16384, set_http<&HttpLimits::max_header_bytes>},
    {"headers", 8, 64, 64, set_http<&HttpLimits::max_headers>},
    {"header-time", 1, 600, 10, set_http_seconds<&HttpLimits::header_time>},
    {"body-time", 1, 3600, 60, set_http_seconds<&HttpLimits::longest_body_time>},
    {"idle-time", 1, 3600, 15, set_http_seconds<&HttpLimits::idle_time>},
    {"write-time", 1, 3600, 30, set_http_seconds<&HttpLimits::write_stall>},
    {"requests-per-connection", 1, 1'000'000, 1000, set_http<&HttpLimits::max_requests_per_connection>},
    {"json-depth", 4, 256, 32, set_request<&RequestLimits::max_json_depth>},
    {"json-keys", 16, 65536, 256, set_request<&RequestLimits::max_keys>},
    {"messages", 1, 65536, 256, set_request<&RequestLimits::max_messages>},
    {"parts", 1, 65536, 64, set_request<&RequestLimits::max_parts>},
    {"text-bytes", 1, 64 * kMebi, kMebi, set_request<&RequestLimits::max_text_bytes>},
    {"image-bytes", 1, 20 * kMebi, 20 * kMebi, set_request<&RequestLimits::max_image_bytes>},
    {"pixels", 1, 1'000'000'000, 100'000'000, set_request<&RequestLimits::max_pixels>},
    {"choices", 1, 64, 4, set_request<&RequestLimits::max_choices>},
    {"queue-bytes", kMebi, 65536 * kMebi, 512 * kMebi, set_request<&RequestLimits::max_queue_bytes>},
    {"output-bytes", 1024, 1024 * kMebi, kMebi, set_request<&RequestLimits::max_output_bytes>},
    {"output-time", 1, 3600, 30,
     [](HttpLimits& /*http*/, RequestLimits& requests, long long value) {
         requests.max_stall = std::chrono::seconds(value);
     }},
}};

}  // namespace

Status set_limit(const std::string& text, HttpLimits& http, RequestLimits& requests) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    std::vector<std::string_view> names;
    for (const LimitRow& row : kLimits) names.push_back(row.name);
    for (const LimitRow& row : kLimits) {
        if (row.name != name) continue;
        const auto value = equals == std::string::npos
                               ? std::nullopt
                               : request::parse_integer(std::string_view(text).substr(equals + 1));
        if (!value || *value < row.least || *value > row.most) {
            return {Code::InvalidArgument, "--limit " + name + " takes a whole number from " +
                                               std::to_string(row.least) + " to " + std::to_string(row.most)};
        }
        row.set(http, requests, *value);
        return ok_status();
    }
    return {Code::InvalidArgument, "there is no limit " + base::in_quotes(name) +
                                       base::did_you_mean(name, names) + "; there are " + base::join(names)};
}

std::string limit_names() {
    std::string text;
    for (const LimitRow& row : kLimits)
        text += (text.empty() ? "" : ", ") + std::string(row.name) + " (" + std::to_string(row.usual) + ")";
    return text;
}

}  // namespace clasp::cli
