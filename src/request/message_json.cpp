#include "request/message_json.h"

#include <algorithm>
#include <utility>

#include "base/base64.h"
#include "base/invalid.h"
#include "base/text.h"
#include "request/media_file.h"

namespace clasp::request {

namespace {

using base::invalid;

Status too_many(const std::string& what, std::size_t n, std::size_t limit) {
    return {Code::TooLarge,
            what + ": " + std::to_string(n) + " are more than the limit of " + std::to_string(limit)};
}

Result<Message::Role> read_role(const base::Json& json, const std::string& where) {
    const std::string* role = json["role"].as_string();
    if (role == nullptr) return invalid(where + ".role takes a text");
    if (*role == "system" || *role == "developer") return Message::Role::System;
    if (*role == "user") return Message::Role::User;
    if (*role == "assistant") return Message::Role::Assistant;
    return invalid(where + ".role takes system, developer, user or assistant, not " + base::in_quotes(*role));
}

constexpr std::string_view kWrongType = "wrong_type";
constexpr std::string_view kOutOfRange = "out_of_range";
constexpr std::string_view kUnsupported = "unsupported_content";
constexpr std::string_view kImageInvalid = "image_invalid";

class Reader {
   public:
    Reader(const MessageLimits& limits, MessageFault* fault) : limits_(limits), fault_(fault) {}

    Status read(const base::Json& json) {
        if (!json.is_array() || json.empty())
            return wrong("messages", json.is_null() ? "missing" : kWrongType,
                         invalid("messages takes a list with at least one message"));
        if (json.size() > limits_.max_messages)
            return wrong("messages", kOutOfRange, too_many("messages", json.size(), limits_.max_messages));
        for (std::size_t i = 0; i < json.size(); ++i) {
            CLASP_RETURN_IF_ERROR(read_message(json[i], "messages[" + std::to_string(i) + "]"));
        }
        return ok_status();
    }

    ReadMessages take() { return std::move(result_); }

   private:
    Status read_message(const base::Json& json, const std::string& where) {
        if (!json.is_object())
            return wrong(where, kWrongType, invalid(where + " takes an object with role and content"));
        Message message;
        const auto role = read_role(json, where);
        if (!role.ok()) return wrong(where + ".role", kUnsupported, role.status());
        message.role = *role;
        const base::Json& content = json["content"];
        const std::string place = where + ".content";
        if (const std::string* text = content.as_string()) {
            CLASP_RETURN_IF_ERROR(add_text(*text, place, message));
        } else if (content.is_array() && !content.empty()) {
            if (content.size() > limits_.max_parts)
                return wrong(place, kOutOfRange, too_many(place, content.size(), limits_.max_parts));
            for (std::size_t i = 0; i < content.size(); ++i) {
                CLASP_RETURN_IF_ERROR(read_part(content[i], place + "[" + std::to_string(i) + "]", message));
            }
        } else if (!(content.is_null() && message.role == Message::Role::Assistant)) {
            return wrong(place, kWrongType, invalid(place + " takes a text or a list of parts"));
        }
        result_.messages.push_back(std::move(message));
        return ok_status();
    }

    Status read_part(const base::Json& json, const std::string& where, Message& message) {
        const std::string* type = json["type"].as_string();
        if (type == nullptr) return wrong(where, kWrongType, invalid(where + " takes an object with a type"));
        if (*type == "text") {
            const std::string* text = json["text"].as_string();
            if (text == nullptr) return wrong(where, kWrongType, invalid(where + ".text takes a text"));
            return add_text(*text, where, message);
        }
        if (*type != "image_url") {
            return wrong(where, kUnsupported,
                         invalid(where + ".type takes text or image_url, not " + base::in_quotes(*type)));
        }
        // Some clients send the text itself instead of an object with it.
        const base::Json& image = json["image_url"];
        const std::string* url = image.is_object() ? image["url"].as_string() : image.as_string();
        if (url == nullptr)
            return wrong(where, kWrongType, invalid(where + ".image_url takes an object with a url"));
        const std::string* detail = image["detail"].as_string();
        return add_image(*url, detail != nullptr ? *detail : std::string(), where, message);
    }

    Status add_text(const std::string& text, const std::string& where, Message& message) {
        text_bytes_ += text.size();
        if (text_bytes_ > limits_.max_text_bytes) {
            return wrong(where, kOutOfRange,
                         {Code::TooLarge, where + ": the texts of all messages have more than the limit of " +
                                              std::to_string(limits_.max_text_bytes) + " bytes"});
        }
        message.parts.push_back({.text = text});
        return ok_status();
    }

    Status add_image(std::string_view url, const std::string& detail, const std::string& where,
                     Message& message) {
        if (message.role != Message::Role::User)
            return wrong(where, kUnsupported, invalid(where + ": pictures come from the user alone"));
        const std::size_t n = result_.pictures.size() + 1;
        if (n > limits_.max_images)
            return wrong(where, kOutOfRange, too_many(where + ", pictures", n, limits_.max_images));
        std::string_view code;
        auto bytes = read_picture(url, limits_.sources, limits_.max_image_bytes, code);
        if (!bytes.ok())
            return wrong(where, code, bytes.status().with_context(where + ", image " + std::to_string(n)));
        result_.pictures.push_back(std::move(*bytes));
        result_.details.push_back(detail);
        message.parts.push_back(
            {.text = {}, .image = ImageSource{.bytes = result_.pictures.back(), .is_still = true}});
        return ok_status();
    }

    Status wrong(const std::string& place, std::string_view code, Status status) {
        if (fault_ != nullptr) *fault_ = {place, code};
        return status;
    }

    const MessageLimits& limits_;
    MessageFault* fault_;
    ReadMessages result_;
    std::size_t text_bytes_ = 0;
};

constexpr std::string_view kBase64AndSpace =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/= \t\r\n";

// White space is skipped, padding may be missing.
Result<std::string> read_digits(std::string_view text, std::size_t max_bytes) {
    std::string digits(text);
    std::erase_if(digits, [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; });
    if (digits.empty()) return invalid("the picture has no bytes");
    if (digits.size() / 4 > max_bytes / 3 + 1) {
        return Status(Code::TooLarge,
                      "the picture has more than the limit of " + std::to_string(max_bytes) + " bytes");
    }
    auto bytes = base::decode_base64(digits);
    if (!bytes.ok()) return invalid("the picture is not base64: " + bytes.status().message());
    if (bytes->empty()) return invalid("the picture has no bytes");
    if (bytes->size() > max_bytes) {
        return Status(Code::TooLarge,
                      "the picture has more than the limit of " + std::to_string(max_bytes) + " bytes");
    }
    return bytes;
}

}  // namespace

Result<std::string> read_data_url(std::string_view url, std::size_t max_bytes) {
    constexpr std::string_view kDataScheme = "data:";
    constexpr std::string_view kEncoding = ";base64";
    if (base::lower(url.substr(0, kDataScheme.size())) != kDataScheme) {
        return invalid("a picture comes as a data URL (data:image/png;base64,...), or as base64 alone");
    }
    const std::size_t comma = url.find(',');
    if (comma == std::string_view::npos || !base::lower(url.substr(0, comma)).ends_with(kEncoding)) {
        return invalid("a data URL of a picture has ;base64, before its bytes");
    }
    return read_digits(url.substr(comma + 1), max_bytes);
}

namespace {

Result<std::string> fetch_picture(std::string_view url, const PictureSources& sources, std::size_t max_bytes,
                                  std::string_view& code) {
    code = "remote_images_off";
    if (sources.hosts.empty()) {
        return invalid(
            "pictures are not fetched from elsewhere; send the bytes as data:image/png;base64,...");
    }
    CLASP_ASSIGN_OR_RETURN(const PictureUrl read, read_picture_url(url, sources.hosts));
    code = kImageInvalid;
    // Nobody learns from here what answers at an address.
    auto bytes = sources.fetch ? sources.fetch(read, max_bytes) : Result<std::string>(std::string());
    if (!bytes.ok() || bytes->empty()) return invalid("the picture could not be fetched");
    return bytes;
}

Result<std::string> read_file_picture(std::string_view name, const PictureSources& sources,
                                      std::size_t max_bytes, std::string_view& code) {
    code = "file_images_off";
    if (sources.folder.empty()) {
        return invalid("no files are read for a request; send the bytes as data:image/png;base64,...");
    }
    auto bytes = read_media_file(name, sources.folder, max_bytes);
    if (!bytes.ok()) code = bytes.status().code() == Code::TooLarge ? "image_too_large" : kImageInvalid;
    return bytes;
}

bool is_below(std::string_view name, const std::string& folder) {
    return !folder.empty() && name.starts_with(folder) &&
           (folder.ends_with('/') || name.substr(folder.size()).starts_with('/'));
}

}  // namespace

Result<std::string> read_picture(std::string_view text, const PictureSources& sources, std::size_t max_bytes,
                                 std::string_view& code) {
    const std::string begin = base::lower(text.substr(0, 8));
    if (begin.starts_with("http://") || begin.starts_with("https://"))
        return fetch_picture(text, sources, max_bytes, code);
    const bool is_data = begin.starts_with("data:");
    // A path can look like base64, and base64 like a path: those of the folder are known by their beginning.
    const bool is_base64 =
        text.find_first_not_of(kBase64AndSpace) == std::string_view::npos && !is_below(text, sources.folder);
    if (begin.starts_with("file:") ||
        (!is_data && !is_base64 && text.find("://") == std::string_view::npos)) {
        return read_file_picture(text, sources, max_bytes, code);
    }
    auto bytes = is_base64 ? read_digits(text, max_bytes) : read_data_url(text, max_bytes);
    if (!bytes.ok()) code = bytes.status().code() == Code::TooLarge ? "image_too_large" : kImageInvalid;
    return bytes;
}

Result<ReadMessages> read_messages(const base::Json& json, const MessageLimits& limits, MessageFault* fault) {
    Reader reader(limits, fault);
    CLASP_RETURN_IF_ERROR(reader.read(json));
    return reader.take();
}

}  // namespace clasp::request
