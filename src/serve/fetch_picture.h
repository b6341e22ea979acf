// Pictures from hosts that whoever started the server has named.
#pragma once

#include <cstddef>
#include <string>

#include "clasp/status.h"
#include "request/picture_url.h"

struct sockaddr;

namespace clasp::serve {

// Error (unavailable): it could not be fetched, with no word about why. The name is looked up once, and the
// address that it has is checked where the connection is made: nothing of this machine or of private networks
// is ever connected to. No redirects, no proxy, 5 seconds.
Result<std::string> fetch_picture(const request::PictureUrl& url, std::size_t max_bytes);

// Whether fetching may connect to that address.
bool may_connect(const sockaddr& address);

}  // namespace clasp::serve
