// A whole reply of JSON.
#pragma once

#include "base/json.h"
#include "serve/http.h"

namespace clasp::serve {

inline HttpReply json_reply(const base::Json& json, int status = 200) {
    HttpReply reply;
    reply.status = status;
    reply.body = base::dump_json(json);
    return reply;
}

}  // namespace clasp::serve
