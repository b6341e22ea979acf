#include "serve/page_endpoints.h"

#include "base/file.h"
#include "base/sha256.h"
#include "serve/page.h"
#include "serve/refusal.h"

namespace clasp::serve {

namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{16} << 20U;

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

// The file of that name in the folder, as it is now. Names are those of the program's own files alone, so
// that no request says which file is read.
HttpReply folder_reply(const PageFile& file, const std::string& folder, const HttpRequest& request) {
    const std::string name(file.path == "/" ? "index.html" : file.path.substr(file.path.rfind('/') + 1));
    const auto bytes = base::read_file(folder + "/" + name, kMaxFileBytes);
    if (!bytes.ok()) return error_reply(refusal_of(404, request.id));
    const std::string etag = "\"" + base::sha256_hex(*bytes) + "\"";
    return page_reply({file.path, file.type, etag, *bytes}, request);
}

}  // namespace

void add_page_endpoints(Endpoints& endpoints, const std::string& folder) {
    for (const PageFile& file : page_files()) {
        endpoints.add({.method = "GET",
                       .path = std::string(file.path),
                       .handle =
                           [&file, folder](const HttpRequest& request) {
                               return folder.empty() ? page_reply(file, request)
                                                     : folder_reply(file, folder, request);
                           },
                       .is_open = true});
    }
}

}  // namespace clasp::serve
