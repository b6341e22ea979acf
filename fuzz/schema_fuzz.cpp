// JSON schemas on their way to a grammar, which is within its limits whatever they say, and grammars
// themselves.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/json.h"
#include "request/grammar_text.h"
#include "request/json_grammar.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    (void)clasp::request::check_grammar(text);
    const auto schema = clasp::base::parse_json(text, {.max_bytes = std::size_t{1} << 20U, .max_depth = 32},
                                                clasp::base::KeyOrder::AsWritten);
    if (!schema.ok()) return 0;
    const clasp::request::SchemaLimits limits;
    const auto grammar = clasp::request::grammar_of_schema(*schema, limits);
    if (grammar.ok() && (!grammar->starts_with("root ::= ") || grammar->size() > 32 * limits.max_bytes))
        std::abort();
    return 0;
}
