#include "serve/refusal.h"

#include <array>
#include <utility>

#include "base/text.h"

namespace clasp::serve {

namespace {

constexpr std::size_t kLongestMessage = 1024;

struct KnownStatus {
    int status;
    std::string_view type;
    std::string_view code;
    std::string_view message;
};

constexpr std::string_view kInvalid = "invalid_request_error";
constexpr std::array<KnownStatus, 10> kKnown = {{
    {400, kInvalid, "invalid_request", "the request is not HTTP/1.1 as this server reads it"},
    {404, "not_found_error", "no_such_route", "there is nothing at this path"},
    {405, "not_found_error", "method_not_allowed", "this path does not take that method"},
    {408, kInvalid, "request_timeout", "the request did not arrive in time"},
    {413, kInvalid, "body_too_large", "the body is larger than the server's limit"},
    {414, kInvalid, "uri_too_long", "the first line of the request is longer than the server's limit"},
    {415, kInvalid, "encoding_not_supported",
     "the body must be plain JSON: not compressed, and no multipart form"},
    {416, kInvalid, "invalid_request", "replies come whole"},
    {431, kInvalid, "headers_too_large", "the headers are larger or more than the server's limit"},
    {503, "unavailable_error", "too_many_connections", "the server has as many connections as it takes"},
}};

}  // namespace

std::string picture_fault(const Status& status) {
    constexpr std::string_view kOurs = "cannot be decoded";
    const std::size_t at = status.message().find(kOurs);
    return status.message().substr(0, at == std::string::npos ? at : at + kOurs.size());
}

Refusal bad_field(std::string code, std::string param, std::string message) {
    return {.code = std::move(code), .message = std::move(message), .param = std::move(param)};
}

Refusal refusal_of(const Status& status, const std::string& request_id, std::string param) {
    switch (status.code()) {
        case Code::InvalidArgument:
        case Code::NotFound:
        case Code::Unsupported: return bad_field("unsupported_content", std::move(param), status.message());
        case Code::TooLarge: return bad_field("out_of_range", std::move(param), status.message());
        case Code::Corrupt: return bad_field("image_invalid", std::move(param), picture_fault(status));
        case Code::OutOfMemory:
            return {.status = 503,
                    .type = "unavailable_error",
                    .code = "out_of_memory",
                    .message = "there is no memory for this request now",
                    .retry_after_s = 1};
        case Code::Deadline:
            return {.status = 503,
                    .type = "unavailable_error",
                    .code = "request_too_long",
                    .message = "the answer did not begin within the time limit",
                    .retry_after_s = 1};
        default: return refusal_of(500, request_id);
    }
}

Refusal refusal_of(int status, const std::string& request_id) {
    for (const KnownStatus& known : kKnown) {
        if (known.status != status) continue;
        return {.status = status,
                .type = std::string(known.type),
                .code = std::string(known.code),
                .message = std::string(known.message),
                .retry_after_s = status == 503 ? 1 : 0};
    }
    return {.status = 500,
            .type = "server_error",
            .code = "internal",
            .message = "the server failed; its log has more under the request id " + request_id};
}

base::Json error_json(const Refusal& refusal) {
    base::Json error = {{"message", base::printable(refusal.message, kLongestMessage)},
                        {"type", refusal.type},
                        {"param", refusal.param.empty() ? base::Json() : base::Json(refusal.param)},
                        {"code", refusal.code}};
    for (const base::JsonMember& member : refusal.more.items()) error[member.key] = member.value;
    return error;
}

base::Json anthropic_error(const Refusal& refusal, const std::string& request_id) {
    struct KnownType {
        int status;
        const char* type;
    };
    constexpr std::array<KnownType, 6> kTypes = {{{401, "authentication_error"},
                                                  {403, "permission_error"},
                                                  {404, "not_found_error"},
                                                  {413, "request_too_large"},
                                                  {429, "rate_limit_error"},
                                                  {503, "overloaded_error"}}};
    const char* type = refusal.status < 500 ? "invalid_request_error" : "api_error";
    for (const KnownType& known : kTypes) {
        if (known.status == refusal.status) type = known.type;
    }
    const base::Json error = {{"type", type}, {"message", error_json(refusal)["message"]}};
    return {{"type", "error"}, {"error", error}, {"request_id", request_id}};
}

HttpReply error_reply(const Refusal& refusal, ErrorForm form, const std::string& request_id) {
    HttpReply reply;
    reply.status = refusal.status;
    reply.code = refusal.code;
    base::Json body = base::Json::object();
    switch (form) {
        case ErrorForm::OpenAi: body["error"] = error_json(refusal); break;
        case ErrorForm::Ollama: body["error"] = error_json(refusal)["message"]; break;
        case ErrorForm::Anthropic: body = anthropic_error(refusal, request_id); break;
    }
    reply.body = base::dump_json(body);
    if (refusal.retry_after_s > 0) {
        reply.headers.emplace_back("Retry-After", std::to_string(refusal.retry_after_s));
    }
    // A request that failed once for our fault would be paid three times by clients that try again.
    if (refusal.status == 500 || refusal.status == 501) reply.headers.emplace_back("x-should-retry", "false");
    return reply;
}

}  // namespace clasp::serve
