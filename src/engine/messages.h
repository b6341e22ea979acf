// The messages of a request and the pictures in them.
#pragma once

#include <vector>

#include "clasp/engine.h"
#include "clasp/status.h"

namespace clasp::engine {

// The history followed by the question with its images, and by the beginning of the answer if there is one.
std::vector<Message> messages_of(const AskRequest& request);

// The pictures of all messages, in the order in which a prompt numbers them. Error (invalid_argument): one
// with neither path nor bytes, or with both.
Result<std::vector<ImageSource>> images_of(const std::vector<Message>& messages);

}  // namespace clasp::engine
