// A server over the embedded model on a port of its own, and what to ask it.
#pragma once

#include <functional>
#include <memory>
#include <string>

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
// The data of server-sent events, [DONE] left out and checked to be the last.
std::vector<base::Json> events_of(const Reply& reply);

}  // namespace clasp::serve
