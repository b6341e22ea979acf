// Options and messages of a request as JSON, as a server gets them.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/json.h"
#include "request/json_request.h"
#include "request/message_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto json = clasp::base::parse_json(text, {});
    if (!json.ok()) return 0;
    (void)clasp::request::read_request(*json);
    (void)clasp::request::read_messages(*json);
    return 0;
}
