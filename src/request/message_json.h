// Messages of a conversation out of JSON: {"role", "content"}, where the content is a text or a list of
// parts,
// {"type": "text", "text"} and {"type": "image_url", "image_url": {"url": "data:...;base64,..."}}. Pictures
// come with the request, as data URLs or as base64 alone: nothing is fetched and no file is opened unless
// PictureSources says so.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <string>
#include <vector>

#include "base/json.h"
#include "clasp/engine.h"
#include "clasp/image.h"
#include "clasp/status.h"
#include "request/picture_url.h"

namespace clasp::request {

// Where pictures may come from besides the request itself: from nowhere, unless somebody who starts a server
// says otherwise.
struct PictureSources {
    std::string folder = {};              // files below it; empty: no files are read
    std::vector<std::string> hosts = {};  // machines that may be asked for pictures
    std::function<Result<std::string>(const PictureUrl& url, std::size_t max_bytes)> fetch = {};
};

struct MessageLimits {
    std::size_t max_messages = 256;
    std::size_t max_parts = 64;  // of a message
    std::size_t max_images = 16;
    std::size_t max_text_bytes = std::size_t{1} << 20U;
    std::size_t max_image_bytes = ImageLimits().max_file_bytes;
    PictureSources sources = {};
};

struct ReadMessages {
    std::vector<Message> messages;
    std::list<std::string> pictures;   // encoded bytes that the messages borrow
    std::vector<std::string> details;  // of each picture, "low", "high" and the like; empty: not said
};

// What is wrong with messages, for programs: where, and a word that stays the same. wrong_type, missing,
// out_of_range, unsupported_content, image_invalid, image_too_large, remote_images_off, file_images_off.
struct MessageFault {
    std::string place;
    std::string_view code;
};

// Errors (invalid_argument, too_large): each names the place, as messages[1].content[0], and the limit. fault
// is filled with every error; it may be null.
Result<ReadMessages> read_messages(const base::Json& json, const MessageLimits& limits = {},
                                   MessageFault* fault = nullptr);

// A picture of a request: a data URL, or base64 alone, or an address or a path where the sources allow it.
// All APIs come here. Errors as read_data_url(); an address or a path that is not allowed; what cannot be
// had. code is set with every error.
Result<std::string> read_picture(std::string_view text, const PictureSources& sources, std::size_t max_bytes,
                                 std::string_view& code);

// The bytes of a data URL; white space is skipped and padding may be missing. Errors: invalid_argument,
// too_large.
Result<std::string> read_data_url(std::string_view url, std::size_t max_bytes);

}  // namespace clasp::request
