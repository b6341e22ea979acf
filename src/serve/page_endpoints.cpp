#include "serve/page_endpoints.h"

#include "serve/page.h"

namespace clasp::serve {

namespace {

HttpReply page_reply(const PageFile& file, const HttpRequest& request) {
    HttpReply reply;
    for (const auto& [name, value] : page_headers()) reply.headers.emplace_back(name, value);
    // The page names its files relative to its own address, which must therefore end with a slash.
    if (file.path == "/" && !request.path.ends_with('/')) {
        reply.status = 308;
        reply.headers.emplace_back("Location", request.path + "/");
        return reply;
    }
    reply.headers.emplace_back("ETag", file.etag);
    const std::string* known = request.header("If-None-Match");
    if (known != nullptr && known->find(file.etag) != std::string::npos) {
        reply.status = 304;
        return reply;
    }
    reply.type = file.type;
    reply.body = file.bytes;
    return reply;
}

}  // namespace

void add_page_endpoints(Endpoints& endpoints) {
    for (const PageFile& file : page_files()) {
        endpoints.add({.method = "GET",
                       .path = std::string(file.path),
                       .handle = [&file](const HttpRequest& request) { return page_reply(file, request); },
                       .is_open = true});
    }
}

}  // namespace clasp::serve
