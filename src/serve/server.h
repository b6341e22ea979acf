// The server: routes, checks and the engine's queue behind one address.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "clasp/engine.h"
#include "clasp/status.h"
#include "serve/options.h"
#include "serve/scheduler.h"

namespace clasp::serve {

class Server {
   public:
    // Nothing but the page and words that the model is loading, until open().
    explicit Server(ServeOptions options);
    // With its model from the beginning.
    Server(const Engine& engine, ServeOptions options);
    // Gives up what is under way.
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    // Begins to listen. Errors: the address cannot be had; one beyond this machine without a key
    // (invalid_argument).
    Status start();
    // The model is there. Once; the engine must outlive the server.
    void open(const Engine& engine);
    [[nodiscard]] int port() const;
    // "http://127.0.0.1:8080"
    [[nodiscard]] std::string url() const;

    // Precondition of this and of counts(): open(). Takes nothing in any more, refuses what waits, and gives
    // what runs so much time. Whether it all ended by itself.
    bool drain(std::chrono::milliseconds time);

    [[nodiscard]] SchedulerCounts counts() const;

   private:
    struct State;
    std::unique_ptr<State> state_;
};

// Error (invalid_argument): an address beyond this machine, which needs a key or the word that none is
// wanted.
Status check_exposure(const std::string& host, bool has_keys, bool wants_no_keys);

}  // namespace clasp::serve
