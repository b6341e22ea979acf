#include "http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "base/text.h"

namespace clasp::serve {

std::string Reply::header(std::string_view name) const {
    for (const auto& [key, value] : headers) {
        if (base::lower(key) == base::lower(name)) return value;
    }
    return {};
}

Client::Client(int port) {
    socket_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) close();
}

Client::~Client() {
    close();
}

void Client::close() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
}

bool Client::send(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (n <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
}

std::string Client::receive_some(std::chrono::milliseconds time) {
    if (buffer_.empty()) {
        pollfd entry = {.fd = socket_, .events = POLLIN, .revents = 0};
        if (poll(&entry, 1, static_cast<int>(time.count())) <= 0 || !fill()) return {};
    }
    return std::exchange(buffer_, {});
}

bool Client::is_closed_within(std::chrono::milliseconds time) {
    const auto until = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < until) {
        pollfd entry = {.fd = socket_, .events = POLLIN, .revents = 0};
        if (poll(&entry, 1, 20) > 0 && !fill()) return true;
    }
    return false;
}

bool Client::fill() {
    pollfd entry = {.fd = socket_, .events = POLLIN, .revents = 0};
    if (poll(&entry, 1, 30'000) <= 0) return false;
    std::array<char, 65536> bytes{};
    const ssize_t n = recv(socket_, bytes.data(), bytes.size(), 0);
    if (n <= 0) return false;
    buffer_.append(bytes.data(), static_cast<std::size_t>(n));
    return true;
}

std::optional<std::string> Client::line() {
    for (;;) {
        const std::size_t end = buffer_.find("\r\n");
        if (end != std::string::npos) {
            std::string text = buffer_.substr(0, end);
            buffer_.erase(0, end + 2);
            return text;
        }
        if (!fill()) return std::nullopt;
    }
}

bool Client::take(std::size_t n, std::string& to) {
    while (buffer_.size() < n) {
        if (!fill()) return false;
    }
    to += buffer_.substr(0, n);
    buffer_.erase(0, n);
    return true;
}

Reply Client::receive(bool without_body) {
    Reply reply;
    const auto first = line();
    if (!first || first->size() < 12) return reply;
    const int status = std::atoi(first->substr(9, 3).c_str());
    for (;;) {
        const auto next = line();
        if (!next) return reply;
        if (next->empty()) break;
        const std::size_t colon = next->find(": ");
        reply.headers.emplace_back(next->substr(0, colon), next->substr(colon + 2));
    }
    if (!without_body && reply.header("Transfer-Encoding") == "chunked") {
        for (;;) {
            const auto size = line();
            if (!size) return reply;
            const std::size_t n = std::strtoull(size->c_str(), nullptr, 16);
            if (n > 0 && !take(n, reply.body)) return reply;
            if (!line()) return reply;
            if (n == 0) break;
        }
    } else if (!without_body) {
        const std::size_t n = std::strtoull(reply.header("Content-Length").c_str(), nullptr, 10);
        if (!take(n, reply.body)) return reply;
    }
    reply.status = status;
    return reply;
}

std::string request_text(std::string_view method, std::string_view path, std::string_view body,
                         const Headers& headers) {
    std::string text = std::string(method) + " " + std::string(path) + " HTTP/1.1\r\n";
    bool has_host = false;
    bool has_length = false;
    for (const auto& [name, value] : headers) {
        text += name + ": " + value + "\r\n";
        has_host = has_host || name == "Host";
        has_length = has_length || name == "Content-Length" || name == "Transfer-Encoding";
    }
    if (!has_host) text += "Host: 127.0.0.1\r\n";
    if (!has_length && (method == "POST" || !body.empty()))
        text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    return text + "\r\n" + std::string(body);
}

Reply get(int port, std::string_view path, const Headers& headers) {
    Client client(port);
    client.send(request_text("GET", path, {}, headers));
    return client.receive();
}

Reply post(int port, std::string_view path, std::string_view body, const Headers& headers) {
    Client client(port);
    client.send(request_text("POST", path, body, headers));
    return client.receive();
}

}  // namespace clasp::serve
