// Options and messages of a request as JSON, as a server gets them.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/json.h"
#include "request/conflicts.h"
#include "request/json_request.h"
#include "request/message_json.h"
#include "request/option_table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using clasp::request::Scope;
    constexpr std::array kScopes = {Scope::Asking, Scope::Generation, Scope::Time};
    constexpr std::array<std::string_view, 1> kOthers = {"map"};
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto json = clasp::base::parse_json(text, {});
    if (!json.ok()) return 0;
    clasp::request::Settings settings = clasp::request::default_settings();
    if (clasp::request::read_options(*json, kScopes, kOthers, settings).ok()) {
        (void)clasp::request::check_conflicts(settings, clasp::request::Caller::Json);
        (void)clasp::request::check_text_only(settings, clasp::request::Caller::Json);
    }
    (void)clasp::request::read_messages(*json);
    return 0;
}
