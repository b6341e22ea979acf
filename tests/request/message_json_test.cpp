#include "request/message_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/json.h"

namespace clasp::request {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

std::string error_of(const std::string& json, const MessageLimits& limits = {}) {
    const auto read = read_messages(test::parsed(json), limits);
    return read.ok() ? "no error" : read.status().message();
}

std::string image(const std::string& url) {
    return R"([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": ")" + url +
           R"("}}]}])";
}

TEST(MessageJson, ReadsTextsAndPicturesInTheirOrder) {
    const auto read = read_messages(test::parsed(R"([
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [
            {"type": "text", "text": "This"},
            {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,TWFu", "detail": "low"}},
            {"type": "text", "text": "or this?"},
            {"type": "image_url", "image_url": "data:;base64,TW\n E="}]},
        {"role": "assistant", "content": null},
        {"role": "user", "content": "Well?"}])"));
    ASSERT_TRUE(read.ok()) << read.status().message();
    ASSERT_THAT(read->messages, SizeIs(4));
    EXPECT_EQ(read->messages[0].role, Message::Role::System);
    const std::vector<MessagePart>& parts = read->messages[1].parts;
    ASSERT_THAT(parts, SizeIs(4));
    EXPECT_EQ(parts[0].text, "This");
    EXPECT_EQ(parts[1].image->bytes, "Man");
    EXPECT_TRUE(parts[1].image->path.empty());
    EXPECT_EQ(parts[2].text, "or this?");
    EXPECT_EQ(parts[3].image->bytes, "Ma");
    EXPECT_THAT(read->messages[2].parts, SizeIs(0));
    EXPECT_EQ(read->messages[3].parts[0].text, "Well?");
    EXPECT_THAT(read->pictures, SizeIs(2));
}

TEST(MessageJson, NothingIsFetchedOrOpened) {
    MessageFault fault;
    const auto code = [&](const char* url) {
        EXPECT_FALSE(read_messages(test::parsed(image(url)), {}, &fault).ok()) << url;
        EXPECT_EQ(fault.place, "messages[0].content[0]") << url;
        return std::string(fault.code);
    };
    for (const char* url : {"http://127.0.0.1/a.png", "https://example.com/a.png", "HTTPS://example.com/"}) {
        EXPECT_EQ(code(url), "remote_images_off") << url;
    }
    for (const char* url : {"file:///etc/passwd", "FILE:x", "/tmp/a.png"}) {
        EXPECT_EQ(code(url), "file_images_off") << url;
    }
    for (const char* url : {"", "=", "TWFuT", "ftp://example.com/a"}) {
        EXPECT_EQ(code(url), "image_invalid") << url;
    }
    for (const char* url : {"data:image/png,abc", "data:image/png;base64", "data:"}) {
        EXPECT_THAT(error_of(image(url)), HasSubstr(";base64, before its bytes")) << url;
    }
    for (const char* url : {"data:;base64,TW*u", "data:;base64,TWFu,TWFu", "data:;base64,TWFuT"}) {
        EXPECT_THAT(error_of(image(url)), HasSubstr("is not base64")) << url;
    }
    EXPECT_THAT(error_of(image("data:;base64,")), HasSubstr("no bytes"));
    EXPECT_TRUE(read_messages(test::parsed(image("DATA:image/png;base64,TWFu")), {}, &fault).ok())
        << "schemes are words in any case";
}

TEST(MessageJson, WrongShapesAreRefusedByPlace) {
    EXPECT_THAT(error_of("[]"), HasSubstr("at least one message"));
    EXPECT_THAT(error_of("{}"), HasSubstr("messages takes a list"));
    EXPECT_EQ(error_of("[1]"), "messages[0] takes an object with role and content");
    EXPECT_EQ(error_of(R"([{"content": "x"}])"), "messages[0].role takes a text");
    EXPECT_EQ(error_of(R"([{"role": "user", "content": "x"}, {"role": "tool", "content": "x"}])"),
              "messages[1].role takes system, developer, user or assistant, not 'tool'");
    for (const char* content : {"null", "1", "[]", "{}"}) {
        EXPECT_EQ(error_of(std::string(R"([{"role": "user", "content": )") + content + "}]"),
                  "messages[0].content takes a text or a list of parts");
    }
    EXPECT_EQ(error_of(R"([{"role": "user", "content": [1]}])"),
              "messages[0].content[0] takes an object with a type");
    EXPECT_EQ(error_of(R"([{"role": "user", "content": [{"type": "input_audio"}]}])"),
              "messages[0].content[0].type takes text or image_url, not 'input_audio'");
    EXPECT_EQ(error_of(R"([{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}])"),
              "messages[0].content[0].image_url takes an object with a url");
    EXPECT_THAT(error_of(R"([{"role": "assistant", "content": [{"type": "image_url",
                             "image_url": "data:;base64,TWFu"}]}])"),
                HasSubstr("pictures come from the user alone"));
}

TEST(MessageJson, LimitsHoldAtTheirValueAndRefuseOneAbove) {
    const auto messages = [](std::size_t n) {
        std::string json = "[";
        for (std::size_t i = 0; i < n; ++i) json += R"({"role": "user", "content": "abc"},)";
        json.back() = ']';
        return json;
    };
    const MessageLimits limits = {
        .max_messages = 3, .max_parts = 2, .max_images = 1, .max_text_bytes = 9, .max_image_bytes = 3};
    EXPECT_EQ(error_of(messages(3), limits), "no error");
    EXPECT_EQ(error_of(messages(4), limits), "messages: 4 are more than the limit of 3");
    EXPECT_THAT(error_of(R"([{"role": "user", "content": "abcdefghij"}])", limits),
                HasSubstr("more than the limit of 9 bytes"));
    EXPECT_EQ(error_of(image("data:;base64,TWFu"), limits), "no error");
    EXPECT_THAT(error_of(image("data:;base64,TWFuTQ"), limits), HasSubstr("more than the limit of 3 bytes"));
    EXPECT_THAT(error_of(image("data:;base64," + std::string(4000, 'A')), limits),
                HasSubstr("more than the limit of 3 bytes"));
    const std::string part = R"({"type": "image_url", "image_url": "data:;base64,TWFu"})";
    const auto parts = [](const std::string& list) {
        return R"([{"role": "user", "content": [)" + list + "]}]";
    };
    EXPECT_THAT(error_of(parts(part + "," + part), limits),
                HasSubstr("pictures: 2 are more than the limit of 1"));
    EXPECT_THAT(error_of(parts(part + "," + part + "," + part), limits),
                HasSubstr("messages[0].content: 3 are more than the limit of 2"));
}

}  // namespace
}  // namespace clasp::request
