// JSON that a test expects to be JSON.
#pragma once

#include <gtest/gtest.h>

#include <istream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"

namespace clasp::test {

// Constant, so that a key which is not there reads as null instead of being added.
inline const base::Json parsed(std::string_view text) {
    auto value = base::parse_json(text, {.max_bytes = std::size_t{1} << 26U});
    EXPECT_TRUE(value.ok()) << value.status().message() << ": " << text;
    return value.ok() ? std::move(value).value() : base::Json();
}

inline const base::Json parsed(std::istream& stream) {
    return parsed(std::string(std::istreambuf_iterator<char>(stream), {}));
}

}  // namespace clasp::test
