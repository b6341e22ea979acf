#include "serve/deadline_stream.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace clasp::serve {

namespace {

using Milliseconds = std::chrono::milliseconds;

constexpr std::size_t kBodyBytesPerSecond = std::size_t{64} << 10U;

// Whether the socket is ready for the events before the deadline.
bool wait_for(socket_t socket, short events, DeadlineStream::Clock::time_point deadline) {
    for (;;) {
        const auto left = std::chrono::ceil<Milliseconds>(deadline - DeadlineStream::Clock::now()).count();
        if (left <= 0) return false;
        pollfd entry = {.fd = socket, .events = events, .revents = 0};
        const int n = poll(&entry, 1, static_cast<int>(std::min<decltype(left)>(left, 60'000)));
        if (n > 0) return true;
        if (n < 0 && errno != EINTR) return false;
    }
}

using NameFunction = int (*)(int, sockaddr*, socklen_t*);

std::string address_by(NameFunction get, socket_t socket) {
    sockaddr_storage storage{};
    socklen_t size = sizeof(storage);
    auto* const address = reinterpret_cast<sockaddr*>(&storage);
    if (get(socket, address, &size) != 0) return {};
    std::array<char, NI_MAXHOST> host{};
    if (getnameinfo(address, size, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST) != 0) return {};
    return host.data();
}

}  // namespace

int HeadCounter::take(char byte) {
    ++n_bytes_;
    ++line_bytes_;
    const bool is_first = n_lines_ == 0;
    if (line_bytes_ > limits_->max_line_bytes) return is_first ? 414 : 431;
    if (n_bytes_ > limits_->max_header_bytes) return 431;
    if (byte != '\n') return 0;
    is_done_ = !is_first && line_bytes_ <= 2;
    line_bytes_ = 0;
    ++n_lines_;
    return !is_done_ && n_lines_ > limits_->max_headers + 1 ? 431 : 0;
}

DeadlineStream::DeadlineStream(socket_t socket, const HttpLimits& limits)
    : socket_(socket), limits_(limits), head_(limits) {
    begin_request();
}

void DeadlineStream::begin_request() {
    deadline_ = Clock::now() + limits_.header_time;
    head_ = HeadCounter(limits_);
    refusal_ = 0;
    has_written_ = false;
}

void DeadlineStream::begin_body(std::size_t n) {
    const Milliseconds more(std::chrono::seconds(std::min(n, limits_.max_body_bytes) / kBodyBytesPerSecond));
    deadline_ = Clock::now() + std::min(limits_.body_time + more, limits_.longest_body_time);
}

bool DeadlineStream::wait_for_request(Milliseconds time) {
    return is_readable() || (wait_for(socket_, POLLIN, Clock::now() + time) && !is_gone());
}

bool DeadlineStream::is_gone() const {
    if (is_readable()) return false;
    char byte = 0;
    const ssize_t n = recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

bool DeadlineStream::wait_readable() const {
    return is_readable() || wait_for(socket_, POLLIN, deadline_);
}

bool DeadlineStream::wait_writable() const {
    return wait_for(socket_, POLLOUT, Clock::now() + limits_.write_stall);
}

bool DeadlineStream::fill() {
    if (!wait_for(socket_, POLLIN, deadline_)) {
        refusal_ = 408;
        return false;
    }
    for (;;) {
        const ssize_t n = recv(socket_, buffer_.data(), buffer_.size(), 0);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        begin_ = 0;
        end_ = static_cast<std::size_t>(n);
        return true;
    }
}

ssize_t DeadlineStream::read(char* to, std::size_t size) {
    if (refusal_ != 0) return -1;
    if (!is_readable() && !fill()) return refusal_ != 0 ? -1 : 0;
    const std::size_t n = std::min(size, end_ - begin_);
    for (std::size_t i = 0; i < n && !head_.is_done(); ++i) {
        refusal_ = head_.take(buffer_[begin_ + i]);
        if (refusal_ != 0) return -1;
    }
    std::copy_n(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_), n, to);
    begin_ += n;
    return static_cast<ssize_t>(n);
}

ssize_t DeadlineStream::write(const char* from, std::size_t size) {
    has_written_ = true;
    for (;;) {
        if (!wait_writable()) return -1;
        const ssize_t n = send(socket_, from, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n >= 0) return n;
        if (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK) return -1;
    }
}

void DeadlineStream::get_remote_ip_and_port(std::string& ip, int& port) const {
    ip = remote_address(socket_);
    port = 0;
}

void DeadlineStream::get_local_ip_and_port(std::string& ip, int& port) const {
    ip = local_address(socket_);
    port = 0;
}

std::string remote_address(socket_t socket) {
    return address_by(getpeername, socket);
}

std::string local_address(socket_t socket) {
    return address_by(getsockname, socket);
}

}  // namespace clasp::serve
