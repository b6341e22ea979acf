// The web page as the server hands it out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "serve/page.h"
#include "serve_fixture.h"
#include "support/page_file.h"
#include "support/paths.h"

namespace clasp::serve {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(PageEndpoints, EveryFileIsServedWithItsTypeAndThePagesHeaders) {
    const auto server = start_server();
    for (const PageFile& file : page_files()) {
        const Reply reply = get(server->port(), file.path);
        EXPECT_EQ(reply.status, 200) << file.path;
        EXPECT_TRUE(reply.body == file.bytes) << file.path;
        EXPECT_EQ(reply.header("Content-Type"), file.type);
        EXPECT_EQ(reply.header("ETag"), file.etag);
        EXPECT_EQ(reply.header("X-Content-Type-Options"), "nosniff");
        for (const auto& [name, value] : page_headers()) EXPECT_EQ(reply.header(name), value) << file.path;
    }
}

TEST(PageEndpoints, ACopyThatIsStillRightIsNotSentAgain) {
    const auto server = start_server();
    const PageFile& file = *test::find_page_file("/ui/app.js");
    const Reply same = get(server->port(), file.path, {{"If-None-Match", std::string(file.etag)}});
    EXPECT_EQ(same.status, 304);
    EXPECT_EQ(same.body, "");
    EXPECT_EQ(get(server->port(), file.path, {{"If-None-Match", "\"0\""}}).status, 200);
}

TEST(PageEndpoints, FilesOfAFolderAreReadEachTime) {
    const std::string folder = std::string(test::scratch_dir()) + "/ui";
    std::filesystem::create_directories(folder);
    const auto write = [&folder](const std::string& name, const std::string& text) {
        std::ofstream(folder + "/" + name) << text;
    };
    write("index.html", "<!doctype html>one");
    write("app.js", "1");
    write("secret.txt", "2");
    ServeOptions options = test_options();
    options.ui_dir = folder;
    const auto server = start_server(options);
    EXPECT_EQ(get(server->port(), "/").body, "<!doctype html>one");
    const Reply script = get(server->port(), "/ui/app.js");
    EXPECT_EQ(script.body, "1");
    EXPECT_EQ(script.header("Content-Type"), test::find_page_file("/ui/app.js")->type);
    write("app.js", "3");
    EXPECT_EQ(get(server->port(), "/ui/app.js", {{"If-None-Match", script.header("ETag")}}).body, "3");
    // Only the page's own names, and no way out of the folder.
    for (const char* path : {"/ui/secret.txt", "/ui/../secret.txt", "/ui/style.css"}) {
        EXPECT_EQ(get(server->port(), path).status, 404) << path;
    }
}

TEST(PageEndpoints, HeadHasTheHeadersAlone) {
    const auto server = start_server();
    Client client(server->port());
    ASSERT_TRUE(client.send(request_text("HEAD", "/")));
    const Reply reply = client.receive(true);
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.header("Content-Length"), std::to_string(test::find_page_file("/")->bytes.size()));
}

TEST(PageEndpoints, OtherPathsAndMethodsAreRefused) {
    const auto server = start_server();
    for (const char* path : {"/ui", "/ui/index.html", "/ui/../src/serve/page.cpp", "/ui/%2e%2e/README.md",
                             "/ui/app.js/x", "/index.html"}) {
        EXPECT_EQ(get(server->port(), path).status, 404) << path;
    }
    EXPECT_EQ(post(server->port(), "/", "{}").status, 405);
}

TEST(PageEndpoints, TheKeyIsForTheRestAlone) {
    ServeOptions options = test_options();
    ASSERT_TRUE(options.access.keys.add("secret").ok());
    const auto server = start_server(options);
    EXPECT_EQ(get(server->port(), "/").status, 200);
    EXPECT_EQ(get(server->port(), "/ui/app.js").status, 200);
    EXPECT_EQ(get(server->port(), "/clasp/info").status, 401);
    EXPECT_EQ(get(server->port(), "/", {{"Host", "evil.example"}}).status, 403);
}

TEST(PageEndpoints, AServerWithoutThePageHasNothingThereButAnswersThoseWhoKnock) {
    ServeOptions options = test_options();
    options.has_page = false;
    const auto server = start_server(options);
    EXPECT_EQ(get(server->port(), "/").status, 404);
    Client client(server->port());
    client.send(request_text("HEAD", "/"));
    EXPECT_EQ(client.receive(true).status, 200);
    EXPECT_EQ(get(server->port(), "/ui/app.js").status, 404);
}

TEST(PageEndpoints, APrefixLeadsToThePageWithASlash) {
    ServeOptions options = test_options();
    options.api_prefix = "/vision";
    const auto server = start_server(options);
    const Reply without = get(server->port(), "/vision");
    EXPECT_EQ(without.status, 308);
    EXPECT_EQ(without.header("Location"), "/vision/");
    EXPECT_THAT(get(server->port(), "/vision/").body, StartsWith("<!doctype html>"));
    EXPECT_THAT(get(server->port(), "/vision/ui/app.js").header("Content-Type"), HasSubstr("javascript"));
}

}  // namespace
}  // namespace clasp::serve
