// The bytes of one connection, through the real stream with its counts and clocks.
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "serve/http_server.h"

namespace {

using clasp::serve::HttpReply;
using clasp::serve::HttpRequest;

clasp::serve::HttpServer& server() {
    static clasp::serve::HttpServer kServer = [] {
        clasp::serve::HttpLimits limits;
        limits.max_body_bytes = 4096;
        limits.header_time = limits.body_time = limits.longest_body_time = std::chrono::milliseconds(50);
        limits.idle_time = limits.write_stall = std::chrono::milliseconds(50);
        clasp::serve::HttpHandlers handlers;
        handlers.check = [](const HttpRequest&) { return std::nullopt; };
        handlers.handle = [](const HttpRequest& request) {
            HttpReply reply;
            reply.body = request.path;
            if (request.body.size() % 2 == 1) {
                reply.stream = [](clasp::serve::StreamOut& out) { out.write("piece"); };
            }
            return reply;
        };
        handlers.refuse = [](const HttpRequest&, int status) {
            return HttpReply{.status = status, .body = "no"};
        };
        handlers.common_headers = [](const HttpRequest& head) {
            return clasp::serve::HeaderList{{"X-Request-Id", head.id}};
        };
        return clasp::serve::HttpServer(limits, std::move(handlers));  // never listens
    }();
    return kServer;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t kMostBytes = std::size_t{32} << 10U;  // what the socket holds without a reader
    if (size > kMostBytes) return 0;
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) return 0;
    if (send(ends[0], data, size, MSG_NOSIGNAL) == static_cast<ssize_t>(size)) {
        shutdown(ends[0], SHUT_WR);
        server().serve(ends[1]);
    } else {
        close(ends[1]);
    }
    close(ends[0]);
    return 0;
}
