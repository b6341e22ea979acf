#include "engine/messages.h"

#include <string>
#include <utility>

namespace clasp::engine {

std::vector<Message> messages_of(const AskRequest& request) {
    std::vector<Message> messages = request.history;
    Message question;
    question.parts = request.parts;
    for (const ImageSource& image : request.images) question.parts.push_back({.text = {}, .image = image});
    if (request.parts.empty()) question.parts.push_back({.text = request.question});
    messages.push_back(std::move(question));
    if (!request.answer_begin.empty()) {
        messages.push_back({Message::Role::Assistant, {{.text = request.answer_begin}}});
    }
    return messages;
}

Result<std::vector<ImageSource>> images_of(const std::vector<Message>& messages) {
    std::vector<ImageSource> images;
    for (const Message& message : messages) {
        for (const MessagePart& part : message.parts) {
            if (part.image) images.push_back(*part.image);
        }
    }
    for (std::size_t i = 0; i < images.size(); ++i) {
        const int n_ways = (images[i].path.empty() ? 0 : 1) + (images[i].bytes.empty() ? 0 : 1) +
                           (images[i].frames.empty() ? 0 : 1);
        if (n_ways != 1) {
            return Status(Code::InvalidArgument,
                          "image " + std::to_string(i + 1) + " of the request has " +
                              (n_ways == 0 ? "neither path nor bytes nor frames"
                                           : "more than one of path, bytes and frames"));
        }
    }
    return images;
}

}  // namespace clasp::engine
