// HTTP as the rest of the server sees it: a request in, a reply out, whole or in pieces. The library behind
// it is known to http_server.cpp and deadline_stream.h alone.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace clasp::serve {

using HeaderList = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
    std::string id;      // X-Request-Id: the client's if it is safe, else made here
    std::string method;  // "GET", "HEAD", "POST", ...
    std::string path;    // percent signs decoded once, without the query
    std::string target;  // as it came
    HeaderList headers;
    std::string body;           // empty while only the head is there
    std::string address;        // of the client
    std::string local_address;  // of this end of the connection
    // Whether the client hung up. Cheap; may be asked from the thread that handles the request.
    std::function<bool()> gone = [] { return false; };

    // The first header of that name, in any letter case; null when there is none.
    [[nodiscard]] const std::string* header(std::string_view name) const;
};

// Where a reply in pieces goes. Whoever writes it runs on the connection's own thread.
class StreamOut {
   public:
    StreamOut() = default;
    StreamOut(const StreamOut&) = delete;
    StreamOut& operator=(const StreamOut&) = delete;
    virtual ~StreamOut() = default;

    // False: the client is gone or takes nothing; nothing more needs to be written.
    virtual bool write(std::string_view piece) = 0;
    virtual bool gone() = 0;
};

struct HttpReply {
    int status = 200;
    std::string type = "application/json; charset=utf-8";
    std::string body = {};
    HeaderList headers = {};
    // Instead of a body: called once, after the headers are sent. Dropped without a call when they cannot be.
    std::function<void(StreamOut& out)> stream = {};
    // Of an error, the word that stays the same.
    std::string code = {};
    // What else the log says of the request, asked when the reply is over. May be empty.
    std::function<std::string()> note = {};
};

// A reply that is over, or that the client gave up.
struct ReplyFacts {
    int status = 0;
    std::size_t bytes = 0;  // of the body
    double ms = 0.0;        // since the request's first byte
    std::string code = {};
    std::string note = {};
};

struct HttpHandlers {
    // Sees a request before its body is read; a reply ends it there.
    std::function<std::optional<HttpReply>(const HttpRequest& head)> check;
    std::function<HttpReply(const HttpRequest& request)> handle;
    // The body of an error that the library or a limit caused.
    std::function<HttpReply(const HttpRequest& head, int status)> refuse;
    // Headers that every reply to this request carries.
    std::function<HeaderList(const HttpRequest& head)> common_headers;
    // For the log. May be empty.
    std::function<void(const HttpRequest& head, const ReplyFacts& facts)> on_reply;
};

}  // namespace clasp::serve
