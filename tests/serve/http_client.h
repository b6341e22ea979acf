// A client that says exactly what a test wants to be said, over a socket on 127.0.0.1.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace clasp::serve {

struct Reply {
    int status = 0;  // 0: the connection ended without a reply
    std::vector<std::pair<std::string, std::string>> headers;
    std::string body;  // chunks put together

    // Empty when it is not there.
    [[nodiscard]] std::string header(std::string_view name) const;
};

class Client {
   public:
    explicit Client(int port);
    ~Client();
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    [[nodiscard]] bool is_connected() const { return socket_ >= 0; }
    bool send(std::string_view bytes);
    // A whole reply. without_body: to a HEAD request.
    Reply receive(bool without_body = false);
    // Whatever comes next; empty at the end, or after the time.
    std::string receive_some(std::chrono::milliseconds time = std::chrono::milliseconds(20'000));
    // Whether the other side closes, within the time.
    bool is_closed_within(std::chrono::milliseconds time);
    void close();

   private:
    bool fill();
    std::optional<std::string> line();
    bool take(std::size_t n, std::string& to);

    int socket_ = -1;
    std::string buffer_;
};

using Headers = std::vector<std::pair<std::string, std::string>>;

// A request as text. Host is 127.0.0.1 unless the headers have another.
std::string request_text(std::string_view method, std::string_view path, std::string_view body = {},
                         const Headers& headers = {});
Reply get(int port, std::string_view path, const Headers& headers = {});
Reply post(int port, std::string_view path, std::string_view body, const Headers& headers = {});

}  // namespace clasp::serve
