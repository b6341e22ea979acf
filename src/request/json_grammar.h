// From a JSON schema to a grammar in llama.cpp's notation, so that an answer can only be JSON of that schema.
// The grammar is safe to hand on: its size, its nesting and the work that a parser has with it are bounded
// here, whatever the schema says.
#pragma once

#include <cstddef>
#include <string>

#include "base/json.h"
#include "clasp/status.h"

namespace clasp::request {

struct SchemaLimits {
    std::size_t max_bytes = std::size_t{64} << 10U;  // of the schema as text
    std::size_t max_depth = 16;                      // of schemas in schemas; a $ref begins anew
    std::size_t max_rules = 2000;                    // of the grammar, repetitions written out
};

// Understood: type (one or a list), properties, required, additionalProperties, items, prefixItems, minItems,
// maxItems, enum, const, anyOf, $ref to "#", "#/$defs/NAME" and "#/definitions/NAME", minLength, maxLength,
// and minimum, maximum, exclusiveMinimum, exclusiveMaximum of integers. Members of an object come in the
// order in which the schema has them, and only those that it names, unless it names none. Words that say
// nothing about a value (title, description, default, examples, ...) are skipped. Errors: invalid_argument
// for any other word, by its name and place, and for what no value can be; too_large for a limit.
Result<std::string> grammar_of_schema(const base::Json& schema, const SchemaLimits& limits = {});

// Any JSON object.
std::string grammar_of_objects();

}  // namespace clasp::request
