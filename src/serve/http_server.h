// An HTTP/1.1 server: a thread for each connection, up to a cap, over cpp-httplib's parser and our own clocks
// and counts (deadline_stream.h).
#pragma once

#include <memory>
#include <string>

#include "clasp/status.h"
#include "serve/http.h"
#include "serve/limits.h"

namespace clasp::serve {

class HttpServer {
   public:
    HttpServer(const HttpLimits& limits, HttpHandlers handlers);
    // Stops, and waits for connections that are still served.
    ~HttpServer();
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    // Binds and begins to listen; port 0 takes a free one. Error (unavailable): the address cannot be had.
    Status start(const std::string& host, int port);
    [[nodiscard]] int port() const;

    // Serves a connection that was made elsewhere, to its end, on the calling thread; the socket is closed.
    void serve(int socket);

    // Takes no further connections and closes those that wait between requests; what is under way goes on.
    void stop_listening();
    // Returns when every connection is closed. Precondition: stop_listening().
    void join();

   private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace clasp::serve
