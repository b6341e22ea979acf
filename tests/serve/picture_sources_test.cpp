// Pictures that a request names instead of sending them: refused unless whoever started the server said where
// from, and then from there alone.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/address.h"
#include "internal_spellings.h"
#include "request/media_file.h"
#include "request/picture_url.h"
#include "serve/fetch_picture.h"
#include "serve_fixture.h"
#include "support/paths.h"

namespace clasp::serve {
namespace {

using base::Json;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

// media/cats/cat.png and media/link.png inside, secret.png and the links' targets outside.
class MediaFolder : public testing::Test {
   protected:
    void SetUp() override {
        root_ = fs::path(test::scratch_dir()) / "media-test";
        fs::remove_all(root_);
        fs::create_directories(root_ / "media" / "cats");
        for (const char* place : {"media/cats/cat.png", "secret.png"})
            std::ofstream(root_ / place, std::ios::binary) << picture_bytes();
        fs::create_symlink("cats/cat.png", root_ / "media" / "inner.png");
        fs::create_symlink("../secret.png", root_ / "media" / "outer.png");
        fs::create_symlink(root_ / "secret.png", root_ / "media" / "absolute.png");
        fs::create_symlink("..", root_ / "media" / "up");
        fs::create_symlink("/proc/self/root", root_ / "media" / "magic");
        mkfifo((root_ / "media" / "pipe.png").c_str(), 0600);
        std::ofstream(root_ / "media" / "empty.png");
        std::ofstream(root_ / "media" / "words.png") << "root:x:0:0";
    }
    void TearDown() override { fs::remove_all(root_); }
    [[nodiscard]] std::string folder() const { return (root_ / "media").string(); }

    fs::path root_;
};

TEST_F(MediaFolder, FilesOfTheFolderInAllTheirSpellings) {
    for (const std::string& name : {std::string("file://cats/cat.png"), std::string("file:////cats//cat.png"),
                                    std::string("cats/cat.png"), std::string("FILE://cats/cat.png"),
                                    std::string("file://./cats/./cat.png"), folder() + "/cats/cat.png",
                                    "file://" + folder() + "/cats/cat.png", std::string("inner.png")}) {
        const auto bytes = request::read_media_file(name, folder(), std::size_t{1} << 20U);
        EXPECT_TRUE(bytes.ok()) << name << " " << bytes.status().message();
    }
    EXPECT_EQ(request::read_media_file("cats/cat.png", folder(), 10).status().code(), Code::TooLarge);
}

TEST_F(MediaFolder, NothingElse) {
    using namespace std::string_literals;
    for (const std::string& name : {"file://../secret.png"s,
                                    "../secret.png"s,
                                    "cats/../../secret.png"s,
                                    "outer.png"s,
                                    "absolute.png"s,
                                    "up/secret.png"s,
                                    "magic/etc/passwd"s,
                                    "/etc/passwd"s,
                                    "file:///etc/passwd"s,
                                    "%2e%2e/secret.png"s,
                                    "%2E%2E/secret.png"s,
                                    "..\\secret.png"s,
                                    "cats/cat.png\0.jpg"s,
                                    "pipe.png"s,
                                    "cats"s,
                                    ""s,
                                    "/"s,
                                    "file://"s,
                                    "empty.png"s,
                                    root_.string() + "/secret.png",
                                    folder() + "/../secret.png",
                                    folder() + "-more/x.png"}) {
        const auto bytes = request::read_media_file(name, folder(), std::size_t{1} << 20U);
        EXPECT_FALSE(bytes.ok()) << name;
        EXPECT_THAT(bytes.status().message(), Not(HasSubstr(root_.string() + "/media/cats"))) << name;
    }
}

TEST_F(MediaFolder, TheServerReadsThemForEveryApiIfItWasToldTo) {
    ServeOptions options = test_options();
    options.pictures.folder = folder();
    const auto server = start_server(options);
    const auto status = [&](const std::string& url) {
        return chat(*server, with(chat_body(kQuestion, url), "max_tokens", 1)).status;
    };
    EXPECT_EQ(status("file://cats/cat.png"), 200);
    EXPECT_EQ(status("file:////cats//cat.png"), 200);
    EXPECT_EQ(status(folder() + "/cats/cat.png"), 200);
    for (const char* url : {"file://cats/nothing.png", "file://../secret.png", "outer.png", "words.png",
                            "https://example.org/a.png", "pipe.png"})
        EXPECT_EQ(status(url), 400) << url;
    const Json ollama = {{"role", "user"}, {"content", kQuestion}, {"images", Json::array({"cats/cat.png"})}};
    EXPECT_EQ(send(*server, "/api/chat", {{"messages", Json::array({ollama})}, {"stream", false}}).status,
              200);
    EXPECT_EQ(send(*server, "/clasp/encode", Json::object({{"image", "file://cats/cat.png"}})).status, 202);
    const Json media = {{"prompt_string", "<__media__> What?"},
                        {"multimodal_data", Json::array({"cats/cat.png"})}};
    EXPECT_EQ(send(*server, "/completion", {{"prompt", media}, {"n_predict", 1}}).status, 200);
    // Base64 that begins like a path stays base64.
    EXPECT_EQ(status(encode_base64(picture_bytes())), 200);
}

TEST(PictureUrl, NamesAHostOfTheListOrNothing) {
    const std::vector<std::string> hosts = {"good.example"};
    for (const std::string& host : internal_spellings()) {
        for (const char* scheme : {"https://", "http://", "HTTPS://", "https:\\\\", "https:/", "//"}) {
            EXPECT_FALSE(request::read_picture_url(scheme + host + "/x.png", hosts).ok()) << scheme << host;
        }
    }
    const auto url = request::read_picture_url("HTTPS://Good.Example:443/a/b.png?c=d", hosts);
    ASSERT_TRUE(url.ok()) << url.status().message();
    EXPECT_EQ(url->text(), "https://good.example/a/b.png?c=d");
    EXPECT_EQ(request::read_picture_url("https://good.example?c", hosts)->text(), "https://good.example/?c");
    EXPECT_FALSE(request::read_picture_url("http://good.example/a.png", hosts).ok());
    EXPECT_FALSE(request::read_picture_url("https://good.example/" + std::string(5000, 'a'), hosts).ok());
}

bool may_connect_to(const std::string& text) {
    if (text.find(':') == std::string::npos) {
        sockaddr_in v4{};
        v4.sin_family = AF_INET;
        EXPECT_EQ(inet_pton(AF_INET, text.c_str(), &v4.sin_addr), 1) << text;
        return may_connect(reinterpret_cast<const sockaddr&>(v4));
    }
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    EXPECT_EQ(inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr), 1) << text;
    return may_connect(reinterpret_cast<const sockaddr&>(v6));
}

TEST(FetchPicture, ConnectsToTheInternetAlone) {
    for (const char* address : {"127.0.0.1",
                                "127.255.255.254",
                                "0.0.0.0",
                                "0.1.2.3",
                                "10.0.0.1",
                                "100.64.0.1",
                                "100.127.255.255",
                                "169.254.169.254",
                                "172.16.0.1",
                                "172.31.255.255",
                                "192.0.0.1",
                                "192.0.2.1",
                                "192.168.255.255",
                                "198.18.0.1",
                                "198.19.255.255",
                                "198.51.100.1",
                                "203.0.113.1",
                                "224.0.0.1",
                                "239.255.255.255",
                                "240.0.0.1",
                                "255.255.255.255",
                                "::",
                                "::1",
                                "::ffff:127.0.0.1",
                                "::ffff:8.8.8.8",
                                "::127.0.0.1",
                                "64:ff9b::7f00:1",
                                "64:ff9b:1::1",
                                "fe80::1",
                                "febf::1",
                                "fc00::1",
                                "fd00::1",
                                "ff02::1",
                                "2001::1",
                                "2001:db8::1",
                                "2002:7f00:1::",
                                "100::1",
                                "fec0::1"}) {
        EXPECT_FALSE(may_connect_to(address)) << address;
    }
    for (const char* address :
         {"8.8.8.8", "1.1.1.1", "100.63.255.255", "100.128.0.0", "172.15.0.1", "172.32.0.1", "192.167.0.1",
          "198.17.0.1", "223.255.255.255", "2606:4700::1111", "2a00:1450::1"}) {
        EXPECT_TRUE(may_connect_to(address)) << address;
    }
}

TEST(FetchPicture, AnAllowedHostThatIsThisMachineIsNeverReached) {
    // Somebody who would notice; the name is one that the list has, and leads here.
    const auto trap = start_server();
    ServeOptions options = test_options();
    options.pictures.hosts = {"localhost", "127.0.0.1", "0"};
    options.pictures.fetch = fetch_picture;
    const auto server = start_server(options);
    for (const char* url : {"https://localhost/a.png", "https://127.0.0.1/a.png", "https://0/a.png"}) {
        const Reply reply = chat(*server, chat_body(kQuestion, url));
        EXPECT_EQ(refused(reply).code, "image_invalid") << url;
        EXPECT_THAT(reply.body, HasSubstr("the picture could not be fetched"));
    }
    EXPECT_EQ(refused(chat(*server, chat_body(kQuestion, "https://example.org/a.png"))).code,
              "remote_images_off");
    EXPECT_EQ(refused(chat(*server, chat_body(kQuestion, "http://localhost/a.png"))).code,
              "remote_images_off");
}

TEST(FetchPicture, WhatCameIsAPictureLikeAnyOther) {
    ServeOptions options = test_options();
    options.pictures.hosts = {"pictures.example"};
    std::string asked;
    options.pictures.fetch = [&](const request::PictureUrl& url, std::size_t) -> Result<std::string> {
        asked = url.text();
        return url.path == "/words" ? std::string("no picture") : picture_bytes();
    };
    const auto server = start_server(options);
    EXPECT_EQ(
        chat(*server, with(chat_body(kQuestion, "https://Pictures.example/a.png"), "max_tokens", 1)).status,
        200);
    EXPECT_EQ(asked, "https://pictures.example/a.png");
    EXPECT_EQ(refused(chat(*server, chat_body(kQuestion, "https://pictures.example/words"))).code,
              "image_invalid");
}

}  // namespace
}  // namespace clasp::serve
