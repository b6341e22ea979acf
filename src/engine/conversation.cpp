#include "clasp/conversation.h"

#include <utility>

#include "base/check.h"
#include "base/file.h"
#include "clasp/image.h"
#include "engine/messages.h"

namespace clasp {

Conversation::Conversation(const Engine& engine, const std::string& system) : engine_(&engine) {
    if (!system.empty()) messages_.push_back({Message::Role::System, {{.text = system}}});
}

Result<Answer> Conversation::ask(AskRequest request) {
    if (!request.history.empty()) {
        return Status(Code::InvalidArgument,
                      "a conversation remembers what was said; the request has a history too");
    }
    std::list<std::string> pictures;
    for (ImageSource& image : request.images) {
        if (image.path.empty() == image.bytes.empty()) continue;  // for the engine to refuse
        if (image.path.empty()) {
            pictures.emplace_back(image.bytes);
        } else {
            CLASP_ASSIGN_OR_RETURN(std::string bytes,
                                   base::read_file(image.path, ImageLimits().max_file_bytes));
            pictures.push_back(std::move(bytes));
            image.path.clear();
        }
        image.bytes = pictures.back();
    }
    request.history = messages_;
    CLASP_ASSIGN_OR_RETURN(Answer answer, engine_->ask(request));

    messages_ = engine::messages_of(request);
    messages_.push_back({Message::Role::Assistant, {{.text = answer.text}}});
    pictures_.splice(pictures_.end(), pictures);
    return answer;
}

void Conversation::cut_back(std::size_t n) {
    CLASP_CHECK(n <= messages_.size());
    messages_.resize(n);
}

}  // namespace clasp
