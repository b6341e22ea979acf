#include "clasp/conversation.h"

#include <utility>

#include "base/check.h"
#include "base/file.h"
#include "clasp/image.h"
#include "engine/messages.h"
#include "video/clip.h"

namespace clasp {

namespace {

using Pictures = std::vector<std::shared_ptr<const std::string>>;

// The source lends bytes that `kept` holds, instead of the caller's or a file's.
Status keep_picture(ImageSource& image, Pictures& kept) {
    if (image.path.empty() == image.bytes.empty()) return ok_status();  // for the engine to refuse
    if (!image.path.empty() && video::sniff_file(image.path) != video::ClipFormat::None) return ok_status();
    std::string bytes(image.bytes);
    if (!image.path.empty()) {
        CLASP_ASSIGN_OR_RETURN(bytes, base::read_file(image.path, ImageLimits().max_file_bytes));
        image.path.clear();
    }
    kept.push_back(std::make_shared<const std::string>(std::move(bytes)));
    image.bytes = *kept.back();
    return ok_status();
}

}  // namespace

Conversation::Conversation(const Engine& engine, const std::string& system) : engine_(&engine) {
    if (!system.empty()) messages_.push_back({Message::Role::System, {{.text = system}}});
}

Result<Answer> Conversation::ask(AskRequest request) {
    if (!request.history.empty()) {
        return Status(Code::InvalidArgument,
                      "a conversation remembers what was said; the request has a history too");
    }
    Pictures pictures;
    for (ImageSource& image : request.images) CLASP_RETURN_IF_ERROR(keep_picture(image, pictures));
    for (MessagePart& part : request.parts) {
        if (part.image) CLASP_RETURN_IF_ERROR(keep_picture(*part.image, pictures));
    }
    request.history = messages_;
    CLASP_ASSIGN_OR_RETURN(Answer answer, engine_->ask(request));

    messages_ = engine::messages_of(request);
    if (request.answer_begin.empty()) messages_.push_back({Message::Role::Assistant, {{.text = {}}}});
    messages_.back().parts.back().text += answer.text;
    pictures_.insert(pictures_.end(), pictures.begin(), pictures.end());
    return answer;
}

void Conversation::cut_back(std::size_t n) {
    CLASP_CHECK(n <= messages_.size());
    messages_.resize(n);
}

}  // namespace clasp
