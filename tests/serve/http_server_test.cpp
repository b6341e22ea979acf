// The HTTP seam by itself: every limit at the limit and one above, clients that are slow, that lie about
// their bodies, that go away.
#include "serve/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "http_client.h"

namespace clasp::serve {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

// Answers with what it got: method, path, length of the body. /slow streams until the client is gone.
class Echo {
   public:
    explicit Echo(const HttpLimits& limits = {}) : server_(limits, handlers()) {
        EXPECT_TRUE(server_.start("127.0.0.1", 0).ok());
    }

    [[nodiscard]] int port() const { return server_.port(); }
    HttpServer& server() { return server_; }
    std::atomic<int> n_handled{0};
    std::atomic<bool> saw_gone{false};

   private:
    HttpHandlers handlers() {
        HttpHandlers handlers;
        handlers.check = [](const HttpRequest& head) -> std::optional<HttpReply> {
            if (head.path != "/refused") return std::nullopt;
            return HttpReply{.status = 403, .body = "no"};
        };
        handlers.handle = [this](const HttpRequest& request) { return handle(request); };
        handlers.refuse = [](const HttpRequest& head, int status) {
            return HttpReply{.status = status, .body = "refused " + std::to_string(status) + " " + head.id};
        };
        handlers.common_headers = [](const HttpRequest& head) {
            return HeaderList{{"X-Request-Id", head.id}};
        };
        return handlers;
    }

    HttpReply handle(const HttpRequest& request) {
        ++n_handled;
        if (request.path == "/throw") throw std::runtime_error("a secret of the library");
        HttpReply reply;
        reply.body = request.method + " " + request.path + " " + std::to_string(request.body.size());
        if (request.path == "/stream") {
            reply.stream = [](StreamOut& out) {
                for (const char* piece : {"one ", "two ", "three"}) EXPECT_TRUE(out.write(piece));
            };
        }
        if (request.path == "/flood") {
            reply.stream = [this](StreamOut& out) {
                while (out.write(std::string(std::size_t{1} << 16U, 'x'))) {
                }
                saw_gone = true;
            };
        }
        if (request.path == "/slow") {
            reply.stream = [this](StreamOut& out) {
                for (int i = 0; i < 1000 && !out.gone(); ++i) {
                    if (!out.write("x")) break;
                    std::this_thread::sleep_for(milliseconds(10));
                }
                saw_gone = true;
            };
        }
        if (request.path == "/wait") {
            for (int i = 0; i < 1000 && !request.gone(); ++i) std::this_thread::sleep_for(milliseconds(10));
            saw_gone = request.gone();
        }
        return reply;
    }

    HttpServer server_;
};

TEST(HttpServer, AnswersWholeAndInPieces) {
    Echo echo;
    EXPECT_EQ(get(echo.port(), "/a?b=c").body, "GET /a 0");
    EXPECT_EQ(post(echo.port(), "/b", "12345").body, "POST /b 5");
    const Reply streamed = get(echo.port(), "/stream");
    EXPECT_EQ(streamed.status, 200);
    EXPECT_EQ(streamed.body, "one two three");
    EXPECT_EQ(streamed.header("Transfer-Encoding"), "chunked");
}

TEST(HttpServer, AConnectionServesManyRequestsAndHead) {
    Echo echo;
    Client client(echo.port());
    for (int i = 0; i < 5; ++i) {
        client.send(request_text("POST", "/p", "ab"));
        EXPECT_EQ(client.receive().body, "POST /p 2");
    }
    client.send(request_text("HEAD", "/p"));
    EXPECT_EQ(client.receive(true).status, 200);
    // Two at once: the second waits in the buffer.
    client.send(request_text("GET", "/1") + request_text("GET", "/2"));
    EXPECT_EQ(client.receive().body, "GET /1 0");
    EXPECT_EQ(client.receive().body, "GET /2 0");
}

TEST(HttpServer, NumbersOfRequestsAreSafeOrMadeHere) {
    Echo echo;
    EXPECT_EQ(get(echo.port(), "/", {{"X-Request-Id", "my-id_1.2:3"}}).header("X-Request-Id"), "my-id_1.2:3");
    EXPECT_EQ(get(echo.port(), "/", {{"X-Request-Id", std::string(64, 'a')}}).header("X-Request-Id"),
              std::string(64, 'a'));
    for (const std::string& bad : {std::string(65, 'a'), std::string("a b"), std::string("<script>")}) {
        EXPECT_THAT(get(echo.port(), "/", {{"X-Request-Id", bad}}).header("X-Request-Id"),
                    MatchesRegex("req-[0-9a-f]{32}"));
    }
    EXPECT_NE(get(echo.port(), "/").header("X-Request-Id"), get(echo.port(), "/").header("X-Request-Id"));
}

TEST(HttpServer, RequestLineAndHeadersAtTheLimitAndOneAbove) {
    HttpLimits limits;
    limits.max_line_bytes = 300;
    limits.max_header_bytes = 1000;
    limits.max_headers = 8;
    Echo echo(limits);
    const auto status = [&](const std::string& text) {
        Client client(echo.port());
        client.send(text);
        return client.receive().status;
    };
    // "GET " + path + " HTTP/1.1\r\n" are 15 bytes around the path.
    const std::string host = "Host: 127.0.0.1\r\n";
    // No route is that long.
    EXPECT_EQ(status("GET /" + std::string(284, 'a') + " HTTP/1.1\r\n" + host + "\r\n"), 404);
    EXPECT_EQ(status("GET /" + std::string(285, 'a') + " HTTP/1.1\r\n" + host + "\r\n"), 414);
    // "A: " + value + "\r\n"
    EXPECT_EQ(status("GET / HTTP/1.1\r\n" + host + "A: " + std::string(295, 'v') + "\r\n\r\n"), 200);
    EXPECT_EQ(status("GET / HTTP/1.1\r\n" + host + "A: " + std::string(296, 'v') + "\r\n\r\n"), 431);
    const auto with_headers = [&](int n) {
        std::string text = "GET / HTTP/1.1\r\n" + host;
        for (int i = 1; i < n; ++i) text += "H" + std::to_string(i) + ": v\r\n";
        return text + "\r\n";
    };
    EXPECT_EQ(status(with_headers(8)), 200);
    EXPECT_EQ(status(with_headers(9)), 431);
    // 16 + 17 + 2 bytes and the filler.
    const auto with_bytes = [&](std::size_t n) {
        std::string text = "GET / HTTP/1.1\r\n" + host;
        std::size_t left = n - text.size() - 2;
        while (left > 250) {
            text += "A: " + std::string(195, 'v') + "\r\n";
            left -= 200;
        }
        return text + "A: " + std::string(left - 5, 'v') + "\r\n\r\n";
    };
    EXPECT_EQ(status(with_bytes(1000)), 200);
    EXPECT_EQ(status(with_bytes(1001)), 431);
}

TEST(HttpServer, AHeaderWithoutEndIsCutOff) {
    HttpLimits limits;
    Echo echo(limits);
    Client client(echo.port());
    client.send("GET / HTTP/1.1\r\nA: ");
    const std::string piece(4096, 'v');
    for (int i = 0; i < 64 && client.send(piece); ++i) {
    }
    EXPECT_EQ(client.receive().status, 431);
    EXPECT_EQ(echo.n_handled, 0);
}

TEST(HttpServer, BodiesAtTheLimitAndOneAboveWithAndWithoutLength) {
    HttpLimits limits;
    limits.max_body_bytes = 1000;
    Echo echo(limits);
    EXPECT_EQ(post(echo.port(), "/", std::string(1000, 'x')).body, "POST / 1000");
    EXPECT_EQ(post(echo.port(), "/", std::string(1001, 'x')).status, 413);
    const auto chunked = [&](std::size_t n) {
        std::string body;
        for (std::size_t left = n; left > 0; left -= std::min<std::size_t>(left, 100)) {
            const std::size_t size = std::min<std::size_t>(left, 100);
            char head[32];
            std::snprintf(head, sizeof(head), "%zx\r\n", size);
            body += head + std::string(size, 'y') + "\r\n";
        }
        return post(echo.port(), "/", body + "0\r\n\r\n", {{"Transfer-Encoding", "chunked"}});
    };
    EXPECT_EQ(chunked(1000).body, "POST / 1000");
    EXPECT_EQ(chunked(1001).status, 413);
    EXPECT_EQ(post(echo.port(), "/", "", {{"Content-Length", "99999999999999999999"}}).status / 100, 4);
    EXPECT_EQ(post(echo.port(), "/", "", {{"Content-Length", "5000000000"}}).status, 413);
}

TEST(HttpServer, ChunksWithoutEndOrWithNegativeSizeEnd) {
    HttpLimits limits;
    limits.max_body_bytes = 100'000;
    limits.body_time = limits.longest_body_time = milliseconds(300);
    Echo echo(limits);
    {
        Client client(echo.port());
        client.send(request_text("POST", "/", "", {{"Transfer-Encoding", "chunked"}}));
        const std::string chunk = "3e8\r\n" + std::string(1000, 'z') + "\r\n";
        for (int i = 0; i < 1000 && client.send(chunk); ++i) {
        }
        EXPECT_EQ(client.receive().status, 413);
    }
    for (const char* size : {"-2", "ffffffffffffffff", "zz", ""}) {
        Client client(echo.port());
        client.send(request_text("POST", "/", "", {{"Transfer-Encoding", "chunked"}}) + size +
                    "\r\nab\r\n0\r\n\r\n");
        const int status = client.receive().status;
        EXPECT_TRUE(status == 0 || (status >= 400 && status < 500)) << size << " " << status;
    }
    EXPECT_EQ(echo.n_handled, 0);
    EXPECT_EQ(get(echo.port(), "/").status, 200);
}

TEST(HttpServer, BodiesThatAreNoPlainTextAreRefused) {
    Echo echo;
    EXPECT_EQ(post(echo.port(), "/", "xx", {{"Content-Encoding", "gzip"}}).status, 415);
    EXPECT_EQ(post(echo.port(), "/", "xx", {{"Content-Encoding", "identity"}}).status, 200);
    EXPECT_EQ(post(echo.port(), "/", "--b\r\n", {{"Content-Type", "multipart/form-data; boundary=b"}}).status,
              415);
    EXPECT_EQ(echo.n_handled, 1);
    // Clients send JSON as a form without thinking.
    EXPECT_EQ(post(echo.port(), "/f", std::string(20'000, 'x'),
                   {{"Content-Type", "application/x-www-form-urlencoded"}})
                  .body,
              "POST /f 20000");
}

TEST(HttpServer, ARefusalComesBeforeTheBody) {
    Echo echo;
    Client client(echo.port());
    client.send(request_text("POST", "/refused", "", {{"Content-Length", "1000000"}}));
    EXPECT_EQ(client.receive().status, 403);
    EXPECT_TRUE(client.is_closed_within(milliseconds(5000)));
}

TEST(HttpServer, SlowHeadsAndBodiesEnd) {
    HttpLimits limits;
    limits.header_time = milliseconds(200);
    limits.body_time = milliseconds(200);
    limits.longest_body_time = milliseconds(300);
    Echo echo(limits);
    {
        // One byte now and then would never end with a limit for each read.
        Client client(echo.port());
        const std::string text = request_text("GET", "/", {}, {{"A", std::string(100, 'x')}});
        std::size_t sent = 0;
        while (sent < text.size() && client.send(text.substr(sent, 1)) && sent < 60) {
            ++sent;
            std::this_thread::sleep_for(milliseconds(10));
        }
        EXPECT_EQ(client.receive().status, 408);
    }
    {
        Client client(echo.port());
        client.send(request_text("POST", "/", "ab", {{"Content-Length", "10"}}));
        EXPECT_EQ(client.receive().status, 408);
        EXPECT_TRUE(client.is_closed_within(milliseconds(5000)));
    }
    EXPECT_EQ(echo.n_handled, 0);
}

TEST(HttpServer, IdleConnectionsAreClosed) {
    HttpLimits limits;
    limits.idle_time = milliseconds(200);
    Echo echo(limits);
    Client client(echo.port());
    client.send(request_text("GET", "/"));
    EXPECT_EQ(client.receive().status, 200);
    EXPECT_TRUE(client.is_closed_within(milliseconds(5000)));
}

TEST(HttpServer, AReaderWhoTakesNothingIsGivenUp) {
    HttpLimits limits;
    limits.write_stall = milliseconds(200);
    Echo echo(limits);
    Client client(echo.port());
    client.send(request_text("GET", "/flood"));
    for (int i = 0; i < 500 && !echo.saw_gone; ++i) std::this_thread::sleep_for(milliseconds(10));
    EXPECT_TRUE(echo.saw_gone);
    EXPECT_EQ(get(echo.port(), "/").status, 200);
}

TEST(HttpServer, RequestsOfAConnectionAtTheLimitAndOneAbove) {
    HttpLimits limits;
    limits.max_requests_per_connection = 3;
    Echo echo(limits);
    Client client(echo.port());
    for (int i = 0; i < 3; ++i) {
        client.send(request_text("GET", "/"));
        EXPECT_EQ(client.receive().status, 200);
    }
    client.send(request_text("GET", "/"));
    EXPECT_EQ(client.receive().status, 0);
    EXPECT_TRUE(client.is_closed_within(milliseconds(5000)));
}

// Of one address, and of all.
class ConnectionCaps : public testing::TestWithParam<std::size_t HttpLimits::*> {};
INSTANTIATE_TEST_SUITE_P(Both, ConnectionCaps,
                         testing::Values(&HttpLimits::max_connections_per_address,
                                         &HttpLimits::max_connections));

TEST_P(ConnectionCaps, HoldAtTheCapAndOneAbove) {
    HttpLimits limits;
    limits.*GetParam() = 3;
    Echo echo(limits);
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < 3; ++i) {
        clients.push_back(std::make_unique<Client>(echo.port()));
        clients.back()->send(request_text("GET", "/"));
        EXPECT_EQ(clients.back()->receive().status, 200);
    }
    Client fourth(echo.port());
    EXPECT_EQ(fourth.receive().status, 503);
    clients.pop_back();
    int status = 503;  // until the server has seen that one left
    for (int i = 0; i < 100 && status != 200; ++i) {
        status = get(echo.port(), "/").status;
        if (status != 200) std::this_thread::sleep_for(milliseconds(20));
    }
    EXPECT_EQ(status, 200);
}

TEST(HttpServer, StuckClientsDoNotKeepOthersOut) {
    HttpLimits limits;
    limits.max_connections_per_address = 256;
    Echo echo(limits);
    std::vector<std::unique_ptr<Client>> stuck;
    for (int i = 0; i < 200; ++i) {
        stuck.push_back(std::make_unique<Client>(echo.port()));
        stuck.back()->send("GET / HTT");
    }
    EXPECT_EQ(get(echo.port(), "/health").status, 200);
}

TEST(HttpServer, TheClientsLeavingIsSeen) {
    for (const char* path : {"/slow", "/wait"}) {
        Echo echo;
        {
            Client client(echo.port());
            client.send(request_text("GET", path));
            while (echo.n_handled == 0) std::this_thread::sleep_for(milliseconds(5));
        }
        for (int i = 0; i < 500 && !echo.saw_gone; ++i) std::this_thread::sleep_for(milliseconds(10));
        EXPECT_TRUE(echo.saw_gone) << path;
    }
}

TEST(HttpServer, AnExceptionIsA500WithoutItsText) {
    Echo echo;
    const Reply reply = get(echo.port(), "/throw");
    EXPECT_EQ(reply.status, 500);
    EXPECT_THAT(reply.body, StartsWith("refused 500 req-"));
}

TEST(HttpServer, WhatIsNoHttpIsRefused) {
    Echo echo;
    for (const char* text : {"\r\n\r\n", "hello\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "BREW / HTTP/1.1\r\n\r\n",
                             "GET / HTTP/1.1\r\nbad header\r\n\r\n",
                             "POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
                             "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"}) {
        Client client(echo.port());
        client.send(text);
        const int status = client.receive().status;
        EXPECT_TRUE(status == 0 || status == 400) << text << " " << status;
    }
    EXPECT_EQ(echo.n_handled, 0);
}

TEST(HttpServer, StoppingLetsWhatRunsFinish) {
    Echo echo;
    Client idle(echo.port());
    idle.send(request_text("GET", "/"));
    EXPECT_EQ(idle.receive().status, 200);
    Client busy(echo.port());
    busy.send(request_text("GET", "/slow"));
    while (echo.n_handled < 2) std::this_thread::sleep_for(milliseconds(5));
    echo.server().stop_listening();
    EXPECT_FALSE(Client(echo.port()).is_connected());
    EXPECT_TRUE(idle.is_closed_within(milliseconds(5000)));
    EXPECT_THAT(busy.receive_some(), HasSubstr("x"));
    busy.close();
    echo.server().join();
}

TEST(HttpServer, APortThatIsTakenIsAnError) {
    Echo echo;
    HttpServer second({}, {});
    const Status status = second.start("127.0.0.1", echo.port());
    // Linux lets two listeners share a port that both ask to share; then there is nothing to see here.
    if (!status.ok()) {
        EXPECT_THAT(status.message(), HasSubstr(std::to_string(echo.port())));
    }
    HttpServer third({}, {});
    EXPECT_THAT(third.start("no-such-host.invalid", 0).message(), HasSubstr("no-such-host.invalid"));
}

}  // namespace
}  // namespace clasp::serve
