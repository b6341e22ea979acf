// Messages of a conversation out of JSON: {"role", "content"}, where the content is a text or a list of
// parts,
// {"type": "text", "text"} and {"type": "image_url", "image_url": {"url": "data:...;base64,..."}}. Pictures
// come with the request: nothing is fetched and no file is opened.
#pragma once

#include <cstddef>
#include <list>
#include <string>
#include <vector>

#include "base/json.h"
#include "clasp/engine.h"
#include "clasp/image.h"
#include "clasp/status.h"

namespace clasp::request {

struct MessageLimits {
    std::size_t max_messages = 256;
    std::size_t max_parts = 64;  // of a message
    std::size_t max_images = 16;
    std::size_t max_text_bytes = std::size_t{1} << 20U;
    std::size_t max_image_bytes = ImageLimits().max_file_bytes;
};

struct ReadMessages {
    std::vector<Message> messages;
    std::list<std::string> pictures;  // encoded bytes that the messages borrow
};

// Errors (invalid_argument, too_large): each names the place, as messages[1].content[0], and the limit.
Result<ReadMessages> read_messages(const base::Json& json, const MessageLimits& limits = {});

// The bytes of a data URL; white space is skipped and padding may be missing. Errors: invalid_argument,
// too_large.
Result<std::string> read_data_url(std::string_view url, std::size_t max_bytes);

}  // namespace clasp::request
