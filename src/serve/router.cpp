#include "serve/router.h"

namespace clasp::serve {

namespace {

bool covers(const Route& route, std::string_view path) {
    if (!route.path.ends_with("/*")) return route.path == path;
    const std::string_view prefix = std::string_view(route.path).substr(0, route.path.size() - 1);
    return path.starts_with(prefix) && path.size() > prefix.size();
}

}  // namespace

std::optional<std::string> Router::local_path(std::string_view path) const {
    if (!path.starts_with(prefix_)) return std::nullopt;
    path.remove_prefix(prefix_.size());
    if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
    if (path.empty()) path = "/";
    if (path.front() != '/') return std::nullopt;
    return std::string(path);
}

Router::Match Router::find(const HttpRequest& request) const {
    Match match;
    const auto path = local_path(request.path);
    if (!path) return match;
    if (path->starts_with("/api/")) match.form = ErrorForm::Ollama;
    const std::string& method = request.method == "HEAD" ? std::string("GET") : request.method;
    for (const Route& route : routes_) {
        if (!covers(route, *path)) continue;
        match.form = route.form;
        if (route.method == method) {
            match.route = &route;
            match.allowed.clear();
            return match;
        }
        match.allowed.push_back(route.method);
    }
    return match;
}

}  // namespace clasp::serve
