#include "serve/fetch_picture.h"

#include <curl/curl.h>
#include <sys/socket.h>

#include <memory>

#include "base/address.h"

namespace clasp::serve {

namespace {

constexpr long kSeconds = 5;

struct Fetched {
    std::string bytes;
    std::size_t max_bytes = 0;
};

std::size_t take_piece(char* data, std::size_t size, std::size_t n, void* user) {
    auto* const fetched = static_cast<Fetched*>(user);
    if (size * n > fetched->max_bytes - fetched->bytes.size()) return 0;
    fetched->bytes.append(data, size * n);
    return size * n;
}

// Where a connection is about to be made to the very address that is shown here.
curl_socket_t open_socket(void* /*user*/, curlsocktype /*purpose*/, curl_sockaddr* address) {
    if (!may_connect(address->addr)) return CURL_SOCKET_BAD;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

struct EndTransfer {
    void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};

bool has_started() {
    static const bool kHasStarted = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    return kHasStarted;
}

}  // namespace

bool may_connect(const sockaddr& address) {
    const auto known = base::address_of(address);
    return known && base::is_public(*known);
}

Result<std::string> fetch_picture(const request::PictureUrl& url, std::size_t max_bytes) {
    const Status failure(Code::Unavailable, "the picture could not be fetched");
    const std::unique_ptr<CURL, EndTransfer> transfer(has_started() ? curl_easy_init() : nullptr);
    if (!transfer) return failure;
    const std::string text = url.text();
    Fetched fetched;
    fetched.max_bytes = max_bytes;
    curl_easy_setopt(transfer.get(), CURLOPT_URL, text.c_str());
    curl_easy_setopt(transfer.get(), CURLOPT_PROTOCOLS_STR, "https");
    curl_easy_setopt(transfer.get(), CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(transfer.get(), CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(transfer.get(), CURLOPT_PROXY, "");
    curl_easy_setopt(transfer.get(), CURLOPT_TIMEOUT, kSeconds);
    curl_easy_setopt(transfer.get(), CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(transfer.get(), CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(max_bytes));
    curl_easy_setopt(transfer.get(), CURLOPT_WRITEFUNCTION, take_piece);
    curl_easy_setopt(transfer.get(), CURLOPT_WRITEDATA, &fetched);
    long status = 0;
    if (curl_easy_perform(transfer.get()) != CURLE_OK) return failure;
    curl_easy_getinfo(transfer.get(), CURLINFO_RESPONSE_CODE, &status);
    if (status != 200 || fetched.bytes.empty()) return failure;
    return std::move(fetched.bytes);
}

}  // namespace clasp::serve
