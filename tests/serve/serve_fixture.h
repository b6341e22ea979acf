// A server over the embedded model on a port of its own, and what to ask it.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "clasp/engine.h"
#include "http_client.h"
#include "serve/server.h"

namespace clasp::serve {

// The embedded model, loaded once for all tests of the program.
const Engine& tiny_engine();

ServeOptions test_options();
std::unique_ptr<Server> start_server(const ServeOptions& options);
std::unique_ptr<Server> start_server();

// A file of examples/pictures.
std::string picture_bytes(const std::string& name = "crosses.png");
std::string encode_base64(std::string_view bytes);
std::string data_url(const std::string& name = "crosses.png");

inline const std::string kQuestion = "How many yellow crosses are in the picture?";

// A chat request with the question and that picture.
base::Json chat_body(const std::string& question = kQuestion, const std::string& url = data_url());
base::Json text_body(const std::string& question);

// The JSON of a reply; fails the test when it is none.
base::Json json_of(const Reply& reply);
Reply chat(const Server& server, const base::Json& body, const Headers& headers = {});
// A body at any path.
Reply send(const Server& server, std::string_view path, const base::Json& body, const Headers& headers = {});

// Why a request was refused, in OpenAI's form.
struct Refused {
    int status = 0;
    std::string code;
    std::string param;
    friend bool operator==(const Refused&, const Refused&) = default;
};
std::ostream& operator<<(std::ostream& out, const Refused& refused);
Refused refused(const Reply& reply);

// The body with one more field.
base::Json with(base::Json body, const std::string& key, base::Json value);

// Events that have names, and their data.
struct NamedEvent {
    std::string name;
    base::Json data;
};
std::vector<NamedEvent> named_events_of(const Reply& reply);
// The data of server-sent events; [DONE] is left out and checked to be the last, or not to be there.
std::vector<base::Json> events_of(const Reply& reply, bool ends_with_done = true);

}  // namespace clasp::serve
