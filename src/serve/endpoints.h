// Which function answers which path. Paths are compared as they are, with or without a slash at the end.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/http.h"
#include "serve/refusal.h"

namespace clasp::serve {

struct Endpoint {
    std::string method;  // "GET" answers HEAD too; one for HEAD alone is there for nobody else
    std::string path;    // one that ends with "/*" is a prefix; the rest is for the handler to read
    std::function<HttpReply(const HttpRequest& request)> handle;
    ErrorForm form = ErrorForm::OpenAi;
    bool is_open = false;  // needs no key
};

class Endpoints {
   public:
    // prefix: in front of every path, as "/clasp"; may be empty.
    explicit Endpoints(std::string prefix = {}) : prefix_(std::move(prefix)) {}

    void add(Endpoint endpoint) { endpoints_.push_back(std::move(endpoint)); }

    struct Match {
        const Endpoint* endpoint = nullptr;  // null: no such path
        std::vector<std::string> allowed;    // methods, where the path exists but not for this one
        ErrorForm form = ErrorForm::OpenAi;
    };
    [[nodiscard]] Match find(const HttpRequest& request) const;
    // The path without the prefix and without a slash at its end; nothing when the prefix is not there.
    [[nodiscard]] std::optional<std::string> local_path(std::string_view path) const;

   private:
    std::string prefix_;
    std::vector<Endpoint> endpoints_;
};

}  // namespace clasp::serve
