#include "cli/serve_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace clasp::cli {
namespace {

using testing::HasSubstr;

TEST(ServeLimits, AreSetByNameWithinTheirRanges) {
    serve::HttpLimits http;
    serve::RequestLimits requests;
    EXPECT_TRUE(set_limit("header-time=5", http, requests).ok());
    EXPECT_EQ(http.header_time, std::chrono::seconds(5));
    EXPECT_TRUE(set_limit("json-depth=256", http, requests).ok());
    EXPECT_EQ(requests.max_json_depth, 256U);
    for (const char* wrong : {"json-depth=257", "json-depth=3", "headers=65", "headers",
                              "headers=", "headers=x", "nothing=1", "", "=1"}) {
        EXPECT_FALSE(set_limit(wrong, http, requests).ok()) << wrong;
    }
    EXPECT_THAT(set_limit("mesages=1", http, requests).message(), HasSubstr("messages"));
    EXPECT_THAT(limit_names(), HasSubstr("messages (256)"));
}

// What help says is what holds.
TEST(ServeLimits, UsualValuesAreTheDefaults) {
    const serve::HttpLimits http;
    const serve::RequestLimits requests;
    const std::string names = limit_names() + ",";
    for (const auto& [name, value] :
         {std::pair{"line-bytes", http.max_line_bytes}, std::pair{"header-bytes", http.max_header_bytes},
          std::pair{"headers", http.max_headers}, std::pair{"json-keys", requests.max_keys},
          std::pair{"parts", requests.max_parts}, std::pair{"text-bytes", requests.max_text_bytes},
          std::pair{"image-bytes", requests.max_image_bytes}, std::pair{"pixels", requests.max_pixels},
          std::pair{"queue-bytes", requests.max_queue_bytes},
          std::pair{"output-bytes", requests.max_output_bytes},
          std::pair{"requests-per-connection", http.max_requests_per_connection}}) {
        EXPECT_THAT(names, HasSubstr(std::string(name) + " (" + std::to_string(value) + "),"));
    }
}

}  // namespace
}  // namespace clasp::cli
