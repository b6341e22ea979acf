// Who may talk to the server: keys, the Host that a request names, and the web page that it comes from. One
// check for every route, before anything of the request is looked at.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/sha256.h"
#include "clasp/status.h"
#include "serve/http.h"
#include "serve/refusal.h"

namespace clasp::serve {

// Keys as their hashes. What is presented is hashed and compared with all of them, in the same time whatever
// it is.
class KeyRing {
   public:
    // Error (invalid_argument): an empty key, or one with white space or control characters.
    Status add(std::string_view key);
    [[nodiscard]] bool is_empty() const { return hashes_.empty(); }
    [[nodiscard]] bool has(std::string_view key) const;

   private:
    std::vector<base::Digest> hashes_;
};

struct AccessRules {
    KeyRing keys;                      // none: every key passes, and no key
    std::vector<std::string> hosts;    // names that Host may have besides the usual ones
    std::vector<std::string> origins;  // web pages that may ask, "https://example.org", or "*"
};

// Whether a Host header names this machine: an address of its networks, the very address that the connection
// came to, localhost, the machine's own name, *.local, *.internal.
bool is_local_host(std::string_view host, std::string_view local_address,
                   const std::vector<std::string>& more);
// Whether a web page of that origin may ask. host: the request's own Host header.
bool is_allowed_origin(std::string_view origin, std::string_view host, const std::vector<std::string>& more);

// Whether the web page that a request comes from may read the reply, whatever it says; false without a page.
bool may_page_read(const HttpRequest& request, const AccessRules& rules);

// is_open: the route needs no key.
Check check_access(const HttpRequest& request, const AccessRules& rules, bool is_open);

// The key of a request; empty when it has none.
std::string_view presented_key(const HttpRequest& request);

}  // namespace clasp::serve
