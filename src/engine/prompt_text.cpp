#include "engine/prompt_text.h"

#include "engine/chat_template.h"
#include "engine/messages.h"

namespace clasp::engine {

PromptOptions prompt_options(const model::VisionModel* vision, Compat compat) {
    if (vision == nullptr) return {};
    PromptOptions options = {.chat_template = {}, .words = vision->info().words};
    if (compat == Compat::LlamaCpp) options.words.gap.clear();
    return options;
}

Result<std::string> prompt_text(const EngineState& state, const AskRequest& request, std::string_view image) {
    CLASP_ASSIGN_OR_RETURN(
        const RenderedChat chat,
        render_chat(*state.text, messages_of(request), prompt_options(state.vision.get(), request.compat)));
    std::string text;
    for (const ChatSegment& segment : chat.segments) {
        text += segment.kind == ChatSegment::Kind::Image ? image : std::string_view(segment.text);
    }
    return text;
}

}  // namespace clasp::engine
