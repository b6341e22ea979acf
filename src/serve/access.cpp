#include "serve/access.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/address.h"
#include "base/text.h"

namespace clasp::serve {

namespace {

// The name without its port; brackets of an IPv6 address are taken off.
std::string_view host_name(std::string_view host) {
    if (host.starts_with('[')) {
        const std::size_t end = host.find(']');
        return end == std::string_view::npos ? std::string_view() : host.substr(1, end - 1);
    }
    return host.substr(0, host.find(':'));
}

bool is_address(const std::string& name) {
    return base::parse_address(name).has_value();
}

// An address of this machine or of its own networks. One of elsewhere is no name for this server unless the
// connection came to that very address.
bool is_near_address(const std::string& name, std::string_view local_address) {
    const auto address = base::parse_address(name);
    return address && (!base::is_public(*address) || name == local_address);
}

bool is_localhost(std::string_view name) {
    return name == "localhost" || name.ends_with(".localhost");
}

std::string machine_name() {
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) != 0) return {};
    return base::lower(name.data());
}

Refusal forbidden(std::string code, std::string message) {
    return {
        .status = 403, .type = "permission_error", .code = std::move(code), .message = std::move(message)};
}

// HTTP/1.0 has no Host, and no browser speaks it.
bool is_called_right(const HttpRequest& request, const AccessRules& rules) {
    const std::string* host = request.header("Host");
    return host == nullptr || is_local_host(*host, request.local_address, rules.hosts);
}

Check check_origin(const HttpRequest& request, const AccessRules& rules) {
    const std::string* origin = request.header("Origin");
    const std::string* host = request.header("Host");
    if (origin != nullptr && !is_allowed_origin(*origin, host != nullptr ? *host : "", rules.origins)) {
        return forbidden("origin_not_allowed",
                         "web pages of " + base::in_quotes(*origin) +
                             " may not use this server; --cors-origins names those that may");
    }
    const std::string* site = request.header("Sec-Fetch-Site");
    if (origin == nullptr && site != nullptr && base::lower(*site) == "cross-site") {
        return forbidden("origin_not_allowed", "a web page of another site may not use this server");
    }
    return std::nullopt;
}

}  // namespace

Status KeyRing::add(std::string_view key) {
    if (key.empty()) return {Code::InvalidArgument, "a key is empty"};
    if (std::any_of(key.begin(), key.end(), [](char c) { return c <= ' ' || c == 0x7F; })) {
        return {Code::InvalidArgument, "a key has white space or control characters"};
    }
    hashes_.push_back(base::sha256(std::as_bytes(std::span(key.data(), key.size()))));
    return ok_status();
}

bool KeyRing::has(std::string_view key) const {
    const base::Digest hash = base::sha256(std::as_bytes(std::span(key.data(), key.size())));
    bool is_known = false;
    for (const base::Digest& known : hashes_) {
        unsigned difference = 0;
        for (std::size_t i = 0; i < hash.size(); ++i) {
            difference |= static_cast<unsigned>(hash[i]) ^ static_cast<unsigned>(known[i]);
        }
        is_known = is_known || difference == 0;
    }
    return is_known;
}

bool is_local_host(std::string_view host, std::string_view local_address,
                   const std::vector<std::string>& more) {
    const std::string name = base::lower(host_name(host));
    if (name.empty()) return false;
    if (is_localhost(name) || is_near_address(name, local_address) || name == machine_name()) return true;
    if (name.ends_with(".local") || name.ends_with(".internal")) return true;
    return std::any_of(more.begin(), more.end(),
                       [&](const std::string& allowed) { return base::lower(allowed) == name; });
}

bool is_allowed_origin(std::string_view origin, std::string_view host, const std::vector<std::string>& more) {
    constexpr std::array<std::string_view, 5> kDesktop = {"app", "file", "tauri", "vscode-webview",
                                                          "vscode-file"};
    const std::string text = base::lower(origin);
    for (const std::string& allowed : more) {
        if (allowed == "*" || base::lower(allowed) == text) return true;
    }
    const std::size_t colon = text.find("://");
    if (colon == std::string::npos) return false;  // "null" and what is no origin
    const std::string scheme = text.substr(0, colon);
    if (std::find(kDesktop.begin(), kDesktop.end(), scheme) != kDesktop.end()) return true;
    if (scheme != "http" && scheme != "https") return false;
    const std::string authority = text.substr(colon + 3);
    if (authority.find_first_of("/@\\") != std::string::npos) return false;
    const std::string name(host_name(authority));
    const bool is_loopback = (name == "::1" || name.starts_with("127.")) && is_address(name);
    return is_localhost(name) || is_loopback || authority == base::lower(host);
}

std::string_view presented_key(const HttpRequest& request) {
    constexpr std::string_view kBearer = "bearer ";
    if (const std::string* value = request.header("Authorization")) {
        if (base::lower(std::string_view(*value).substr(0, kBearer.size())) == kBearer)
            return std::string_view(*value).substr(kBearer.size());
    }
    const std::string* key = request.header("X-Api-Key");
    return key != nullptr ? std::string_view(*key) : std::string_view();
}

bool may_page_read(const HttpRequest& request, const AccessRules& rules) {
    const std::string* origin = request.header("Origin");
    if (origin == nullptr || !is_called_right(request, rules)) return false;
    const std::string* host = request.header("Host");
    return is_allowed_origin(*origin, host != nullptr ? *host : "", rules.origins);
}

Check check_access(const HttpRequest& request, const AccessRules& rules, bool is_open) {
    if (!is_called_right(request, rules)) {
        return forbidden("host_not_allowed", "the server is not called " +
                                                 base::in_quotes(*request.header("Host")) +
                                                 "; --allowed-host names more that it is");
    }
    CLASP_RETURN_IF_REFUSED(check_origin(request, rules));
    if (is_open || rules.keys.is_empty() || request.method == "OPTIONS") return std::nullopt;
    if (rules.keys.has(presented_key(request))) return std::nullopt;
    return Refusal{.status = 401,
                   .type = "authentication_error",
                   .code = "invalid_api_key",
                   .message = "a key is needed: Authorization: Bearer KEY, or X-Api-Key: KEY"};
}

}  // namespace clasp::serve
