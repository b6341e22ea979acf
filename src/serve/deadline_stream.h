// The bytes of one connection under clocks and counts: a client that sends or takes too slowly, or whose head
// is too long, ends here, whatever the parser above would have put up with.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <string>

#include "httplib.h"
#include "serve/limits.h"

namespace clasp::serve {

// Counts the head of a request byte by byte.
class HeadCounter {
   public:
    explicit HeadCounter(const HttpLimits& limits) : limits_(&limits) {}

    // 0, or the status that the head earns: 414 for its first line, 431 for the others.
    int take(char byte);
    [[nodiscard]] bool is_done() const { return is_done_; }

   private:
    const HttpLimits* limits_;  // borrowed
    std::size_t n_bytes_ = 0;
    std::size_t n_lines_ = 0;
    std::size_t line_bytes_ = 0;
    bool is_done_ = false;
};

class DeadlineStream final : public httplib::Stream {
   public:
    using Clock = std::chrono::steady_clock;

    // The socket is borrowed.
    DeadlineStream(socket_t socket, const HttpLimits& limits);

    // A request begins; its head has until now + header_time.
    void begin_request();
    // Its head is there and n bytes of a body may follow.
    void begin_body(std::size_t n);
    // Waits for a first byte; false after the time, or when the client is gone.
    bool wait_for_request(std::chrono::milliseconds time);

    // Why reading stopped: 408, 414, 431, or 0.
    [[nodiscard]] int refusal() const { return refusal_; }
    [[nodiscard]] bool has_written() const { return has_written_; }
    // Whether the client closed its end, as far as can be told without reading.
    [[nodiscard]] bool is_gone() const;

    [[nodiscard]] bool is_readable() const override { return begin_ < end_; }
    [[nodiscard]] bool wait_readable() const override;
    [[nodiscard]] bool wait_writable() const override;
    [[nodiscard]] bool is_peer_alive() const override { return !is_gone(); }
    ssize_t read(char* to, std::size_t size) override;
    ssize_t write(const char* from, std::size_t size) override;
    void get_remote_ip_and_port(std::string& ip, int& port) const override;
    void get_local_ip_and_port(std::string& ip, int& port) const override;
    [[nodiscard]] socket_t socket() const override { return socket_; }
    [[nodiscard]] time_t duration() const override { return 0; }

   private:
    // Bytes of the socket into the empty buffer; false at its end, after an error or the deadline.
    bool fill();

    socket_t socket_;
    const HttpLimits& limits_;
    Clock::time_point deadline_;
    HeadCounter head_;
    int refusal_ = 0;
    bool has_written_ = false;
    std::array<char, 16384> buffer_{};
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

// A numeric address without its port; empty when it cannot be told.
std::string remote_address(socket_t socket);
std::string local_address(socket_t socket);

}  // namespace clasp::serve
