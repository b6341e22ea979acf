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
        if (images[i].path.empty() == images[i].bytes.empty()) {
            return Status(Code::InvalidArgument,
                          "image " + std::to_string(i + 1) + " of the request has " +
                              (images[i].path.empty() ? "neither path nor bytes" : "both a path and bytes"));
        }
    }
    return images;
}

}  // namespace clasp::engine
