// Server-sent events.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "serve/http.h"

namespace clasp::serve {

// False: the client is gone.
inline bool send_event(StreamOut& out, const base::Json& data) {
    return out.write("data: " + base::dump_json(data) + "\n\n");
}
inline bool send_event(StreamOut& out, std::string_view name, const base::Json& data) {
    return out.write("event: " + std::string(name) + "\ndata: " + base::dump_json(data) + "\n\n");
}
// A comment, for clients that give up on silence.
inline bool send_sign_of_life(StreamOut& out) {
    return out.write(":\n\n");
}

inline HttpReply event_stream(HeaderList headers, std::function<void(StreamOut& out)> stream) {
    HttpReply reply;
    reply.type = "text/event-stream";
    reply.headers = std::move(headers);
    reply.headers.emplace_back("Cache-Control", "no-cache");
    reply.headers.emplace_back("X-Accel-Buffering", "no");
    reply.stream = std::move(stream);
    return reply;
}

}  // namespace clasp::serve
