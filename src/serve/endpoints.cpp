#include "serve/endpoints.h"

namespace clasp::serve {

namespace {

bool covers(const Endpoint& endpoint, std::string_view path) {
    if (!endpoint.path.ends_with("/*")) return endpoint.path == path;
    const std::string_view prefix = std::string_view(endpoint.path).substr(0, endpoint.path.size() - 1);
    return path.starts_with(prefix) && path.size() > prefix.size();
}

}  // namespace

std::optional<std::string> Endpoints::local_path(std::string_view path) const {
    if (!path.starts_with(prefix_)) return std::nullopt;
    path.remove_prefix(prefix_.size());
    if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
    if (path.empty()) path = "/";
    if (path.front() != '/') return std::nullopt;
    return std::string(path);
}

Endpoints::Match Endpoints::find(const HttpRequest& request) const {
    Match match;
    const auto path = local_path(request.path);
    if (!path) return match;
    if (path->starts_with("/api/")) match.form = ErrorForm::Ollama;
    const std::string& method = request.method == "HEAD" ? std::string("GET") : request.method;
    for (const Endpoint& endpoint : endpoints_) {
        if (!covers(endpoint, *path)) continue;
        if (endpoint.method == "HEAD" && request.method != "HEAD") continue;  // as if it were not there
        match.form = endpoint.form;
        if (endpoint.method == method || endpoint.method == request.method) {
            match.endpoint = &endpoint;
            match.allowed.clear();
            return match;
        }
        match.allowed.push_back(endpoint.method);
    }
    return match;
}

}  // namespace clasp::serve
