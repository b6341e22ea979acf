#include "request/picture_url.h"

#include <algorithm>

#include "base/invalid.h"
#include "base/text.h"

namespace clasp::request {

namespace {

using base::invalid;

constexpr std::size_t kMaxUrlBytes = 4096;
constexpr std::string_view kHttps = "https://";
constexpr std::string_view kInHosts = "abcdefghijklmnopqrstuvwxyz0123456789-.";
constexpr std::string_view kNeverInUrls = "\\\"'<>^`{|}#@";

bool is_plain(char c) {
    return c > ' ' && c <= '~' && kNeverInUrls.find(c) == std::string_view::npos;
}

}  // namespace

Result<PictureUrl> read_picture_url(std::string_view url, const std::vector<std::string>& hosts) {
    if (base::lower(url.substr(0, kHttps.size())) != kHttps)
        return invalid("pictures are fetched by https alone");
    url.remove_prefix(kHttps.size());
    if (url.size() > kMaxUrlBytes || !std::all_of(url.begin(), url.end(), is_plain)) {
        return invalid(
            "the address of a picture has at most 4096 plain characters, without a user name, backslashes "
            "and fragments");
    }
    const std::size_t end = std::min(url.find_first_of("/?"), url.size());
    PictureUrl result;
    result.host = base::lower(std::string(url.substr(0, end)));
    result.path = url.substr(end);
    if (!result.path.starts_with('/')) result.path.insert(0, 1, '/');
    constexpr std::string_view kPort = ":443";
    if (result.host.ends_with(kPort)) result.host.resize(result.host.size() - kPort.size());
    const bool is_known = std::any_of(hosts.begin(), hosts.end(), [&](const std::string& host) {
        return base::lower(host) == result.host;
    });
    if (!is_known || result.host.find_first_not_of(kInHosts) != std::string::npos || result.host.empty())
        return invalid(
            "pictures are not fetched from that host; --allow-image-host names those they are from");
    return result;
}

}  // namespace clasp::request
