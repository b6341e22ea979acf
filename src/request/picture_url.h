// The address of a picture elsewhere, read once: what is checked is what is fetched.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "clasp/status.h"

namespace clasp::request {

struct PictureUrl {
    std::string host;  // in lower case
    std::string path;  // with the query, as it came; begins with a slash

    // In the one spelling that every parser reads alike.
    [[nodiscard]] std::string text() const { return "https://" + host + path; }
};

// https alone, a host of the list by its name, its standard port; printable ASCII without backslashes,
// quotes, user names and fragments. Errors (invalid_argument).
Result<PictureUrl> read_picture_url(std::string_view url, const std::vector<std::string>& hosts);

}  // namespace clasp::request
