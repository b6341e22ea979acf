#include "serve/logprobs_json.h"

#include <cstdint>

namespace clasp::serve {

namespace {

using base::Json;

Json token_json(const LikelyToken& token, bool with_id) {
    Json bytes = Json::array();
    for (const char c : token.bytes) bytes.push_back(static_cast<std::uint8_t>(c));
    Json json = Json::object();
    if (with_id) json["id"] = token.id;
    json["token"] = token.bytes;
    json["bytes"] = std::move(bytes);
    json["logprob"] = token.logprob;
    return json;
}

}  // namespace

Json logprobs_json(const std::vector<WrittenToken>& tokens, bool with_ids) {
    Json list = Json::array();
    for (const WrittenToken& written : tokens) {
        Json json = token_json(written.token, with_ids);
        Json top = Json::array();
        for (const LikelyToken& token : written.likely) top.push_back(token_json(token, with_ids));
        json["top_logprobs"] = std::move(top);
        list.push_back(std::move(json));
    }
    return list;
}

}  // namespace clasp::serve
