#include "serve/access.h"

#include <gtest/gtest.h>

namespace clasp::serve {
namespace {

TEST(KeyRing, KnowsItsKeysAndNoOthers) {
    KeyRing keys;
    EXPECT_TRUE(keys.is_empty());
    ASSERT_TRUE(keys.add("one").ok());
    ASSERT_TRUE(keys.add("two").ok());
    EXPECT_TRUE(keys.has("one"));
    EXPECT_TRUE(keys.has("two"));
    for (const char* wrong : {"", "on", "onee", "ONE", "one ", "three"})
        EXPECT_FALSE(keys.has(wrong)) << wrong;
    EXPECT_FALSE(keys.add("").ok());
    EXPECT_FALSE(keys.add("a b").ok());
}

TEST(Host, NamesOfThisMachineAlone) {
    for (const char* host :
         {"localhost", "localhost:8080", "LOCALHOST", "app.localhost", "127.0.0.1:80", "[::1]:8080",
          "192.168.1.5:8080", "box.local", "host.docker.internal:1", "mine.example"}) {
        EXPECT_TRUE(is_local_host(host, "", {"mine.example"})) << host;
    }
    for (const char* host : {"evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "", "[::1",
                             "evil.example:8080", "notlocalhost", "local", "mine.example.org"}) {
        EXPECT_FALSE(is_local_host(host, "", {"mine.example"})) << host;
    }
}

TEST(Origin, PagesOfThisMachineAndThoseThatAreNamed) {
    for (const char* origin : {"http://localhost:3000", "https://localhost", "http://127.0.0.1:5173",
                               "http://[::1]:1", "app://obsidian.md", "file://", "tauri://localhost",
                               "vscode-webview://x", "http://myhost:8080", "https://good.example"}) {
        EXPECT_TRUE(is_allowed_origin(origin, "myhost:8080", {"https://good.example"})) << origin;
    }
    for (const char* origin :
         {"https://evil.example", "null", "", "http://127.0.0.1.evil.example",
          "http://localhost.evil.example", "http://evil.example@localhost", "ftp://localhost",
          "http://myhost:8081", "https://good.example.evil.example", "http://127.evil.example"}) {
        EXPECT_FALSE(is_allowed_origin(origin, "myhost:8080", {"https://good.example"})) << origin;
    }
    EXPECT_TRUE(is_allowed_origin("https://evil.example", "", {"*"}));
}

HttpRequest request_with(HeaderList headers) {
    HttpRequest request;
    request.method = "GET";
    request.headers = std::move(headers);
    return request;
}

TEST(Access, KeysComeInTwoWays) {
    AccessRules rules;
    ASSERT_TRUE(rules.keys.add("secret").ok());
    EXPECT_FALSE(check_access(request_with({{"Authorization", "Bearer secret"}}), rules, false));
    EXPECT_FALSE(check_access(request_with({{"authorization", "bearer secret"}}), rules, false));
    EXPECT_FALSE(check_access(request_with({{"X-Api-Key", "secret"}}), rules, false));
    for (const HeaderList& headers :
         {HeaderList{}, HeaderList{{"Authorization", "secret"}},
          HeaderList{{"Authorization", "Bearer wrong"}}, HeaderList{{"Authorization", "Basic secret"}},
          HeaderList{{"X-Api-Key", ""}}}) {
        const Check refusal = check_access(request_with(headers), rules, false);
        ASSERT_TRUE(refusal);
        EXPECT_EQ(refusal->status, 401);
    }
    EXPECT_FALSE(check_access(request_with({}), rules, true));
    EXPECT_FALSE(check_access(request_with({{"Authorization", "Bearer any"}}), {}, false));
}

TEST(Access, ForeignPagesAndHostsAreRefusedOnEveryRoute) {
    const AccessRules rules;
    for (const bool is_open : {false, true}) {
        const auto status = [&](HeaderList headers) {
            const Check refusal = check_access(request_with(std::move(headers)), rules, is_open);
            return refusal ? refusal->status : 200;
        };
        EXPECT_EQ(status({{"Origin", "https://evil.example"}}), 403);
        EXPECT_EQ(status({{"Host", "evil.example"}}), 403);
        EXPECT_EQ(status({{"Sec-Fetch-Site", "cross-site"}}), 403);
        EXPECT_EQ(status({{"Sec-Fetch-Site", "same-origin"}}), 200);
        EXPECT_EQ(status({{"Origin", "http://localhost:3000"}, {"Sec-Fetch-Site", "cross-site"}}), 200);
    }
}

}  // namespace
}  // namespace clasp::serve
