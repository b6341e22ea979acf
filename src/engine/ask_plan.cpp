#include "engine/ask_plan.h"

#include <utility>

#include "engine/decoder_input.h"
#include "engine/generate.h"
#include "engine/messages.h"
#include "engine/progress.h"

namespace clasp::engine {
namespace {

constexpr std::string_view kNoVisionFile =
    "the model was loaded without a vision file: it answers questions in text alone";

DecoderShape decoder_shape(const model::TextConfig& config) {
    DecoderShape shape;
    shape.n_layers = static_cast<std::size_t>(config.n_layers);
    shape.width = static_cast<std::size_t>(config.width);
    shape.ffn_width = static_cast<std::size_t>(config.ffn_width);
    shape.n_heads = static_cast<std::size_t>(config.n_heads);
    shape.n_kv_heads = static_cast<std::size_t>(config.n_kv_heads);
    shape.head_width = static_cast<std::size_t>(config.head_width);
    shape.vocab = static_cast<std::size_t>(config.vocabulary);
    return shape;
}

std::size_t count_text(const Prompt& prompt) {
    std::size_t n = 0;
    for (const PromptPiece& piece : prompt.pieces) n += piece.tokens.size();
    return n;
}

// A model that can see writes all its conversations in one way.
PromptOptions prompt_options(const model::VisionModel* vision, Compat compat) {
    if (vision == nullptr) return {};
    PromptOptions options = {.chat_template = {}, .words = vision->info().words};
    if (compat == Compat::LlamaCpp) options.words.gap.clear();
    return options;
}

// What is known once the headers of the pictures are read.
Result<RequestShape> request_shape(const Prompt& prompt, const std::vector<PlannedPicture>& pictures,
                                   const model::TextModel& text, const model::VisionModel* vision) {
    RequestShape shape;
    shape.n_text = count_text(prompt);
    shape.decoder = decoder_shape(text.config());
    if (vision != nullptr) shape.vision = vision->info();
    for (const PlannedPicture& picture : pictures) {
        shape.images.push_back(picture.plan.layout);
        CLASP_ASSIGN_OR_RETURN(const std::size_t n_text, count_image_text(picture.plan, text));
        shape.n_text += n_text;
    }
    return shape;
}

}  // namespace

std::size_t AskPlan::kv_bytes(const model::TextConfig& config) const {
    constexpr std::size_t kBytesPerValue = 2;  // keys and values are half precision
    const auto room =
        static_cast<std::size_t>(room_for(static_cast<std::int32_t>(request.generation.max_tokens)));
    const std::size_t n_cells = static_cast<std::size_t>(work.back()) + room * shape.decoder.n_layers;
    return n_cells * 2 * static_cast<std::size_t>(config.kv_width()) * kBytesPerValue;
}

Result<std::unique_ptr<AskPlan>> plan_ask(const EngineState& state, const AskRequest& request) {
    auto ask = std::make_unique<AskPlan>();
    ask->request = request;
    ask->policy = request.policy.classes.empty() ? state.policy : request.policy;
    CLASP_RETURN_IF_ERROR(validate(ask->policy));
    const std::vector<Message> messages = messages_of(request);
    CLASP_ASSIGN_OR_RETURN(const std::vector<ImageSource> images, images_of(messages));
    const bool is_text_only = images.empty();
    if (!is_text_only && state.vision == nullptr) {
        return Status(Code::InvalidArgument,
                      "the model was loaded without a vision file, so it cannot be asked about a picture");
    }
    CLASP_ASSIGN_OR_RETURN(
        ask->plan, is_text_only ? plan_text_request(request, ask->policy, *state.router)
                                : plan_request(request, ask->policy, *state.router, state.vision->info()));
    ask->notes = ask->plan.notes;
    if (state.vision == nullptr) ask->notes.emplace_back(kNoVisionFile);
    CLASP_ASSIGN_OR_RETURN(
        ask->prompt, build_prompt(*state.text, messages, prompt_options(state.vision.get(), request.compat)));
    if (!ask->prompt.note.empty()) ask->notes.push_back(ask->prompt.note);
    if (!is_text_only) {
        const model::VisionInfo& vision = state.vision->info();
        // What a file with tiles lacks is of no matter in another order than its own.
        const bool is_files_order = request.compat == Compat::Original && request.detail.tile_merge.empty();
        if (!vision.note.empty() && (!vision.tiles || is_files_order)) ask->notes.push_back(vision.note);
        CLASP_ASSIGN_OR_RETURN(
            ask->pictures,
            plan_pictures(images, *state.vision, {request.compat, request.detail}, request.cancel));
    }
    CLASP_ASSIGN_OR_RETURN(ask->shape,
                           request_shape(ask->prompt, ask->pictures, *state.text, state.vision.get()));
    CLASP_ASSIGN_OR_RETURN(ask->started, start_method(request, ask->policy, ask->plan, ask->shape));
    ask->notes.insert(ask->notes.end(), ask->started.notes.begin(), ask->started.notes.end());
    CLASP_ASSIGN_OR_RETURN(ask->positions, position_mode(request.position_mode, ask->started.run.get()));
    ask->work = planned_work(ask->shape, ask->started.run.get());
    return ask;
}

}  // namespace clasp::engine
