#include "engine/ask_plan.h"

#include <algorithm>
#include <utility>

#include "engine/decoder_input.h"
#include "engine/generate.h"
#include "engine/messages.h"
#include "engine/progress.h"
#include "engine/prompt_text.h"
#include "engine/token_check.h"

namespace clasp::engine {
namespace {

constexpr std::string_view kNoVisionFile =
    "the model was loaded without a vision file: it answers questions in text alone";

}  // namespace

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

namespace {

std::size_t count_text(const Prompt& prompt) {
    std::size_t n = 0;
    for (const PromptPiece& piece : prompt.pieces) n += piece.tokens.size();
    return n;
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

Status check_split_time(const std::string& split_time, const methods::MethodRun* run) {
    if (split_time == "free") return ok_status();
    if (split_time != "even") {
        return {Code::InvalidArgument,
                "the steps of a clip share what is kept even or free, not " + split_time};
    }
    if (run == nullptr) return ok_status();
    const methods::Program& program = run->program();
    if (!program.has_after_encoder && !program.has_after_projector && program.encoder_blocks.empty()) {
        return ok_status();
    }
    return {
        Code::InvalidArgument,
        "the method chooses before the decoder, among all steps of a clip at once; their even shares are for "
        "methods that choose inside it"};
}

// Of the prompt, as many tokens as enter the decoder.
std::size_t n_entering(const AskPlan& ask) {
    const methods::MethodRun* run = ask.started.run.get();
    const std::size_t n_visual = ask.shape.n_visual();
    return (run != nullptr ? std::min(run->program().entering, n_visual) : n_visual) + ask.shape.n_carried();
}

// What can be done about clips that make a prompt too long; where a model's number of frames and their size
// are fixed, neither can be asked for.
std::string shorter_prompt(const model::VisionInfo& vision) {
    if (vision.sampling.is_fixed) {
        return "the model sees " + std::to_string(vision.sampling.n_frames) +
               " frames of every clip: ask about fewer clips at once, or with a method that drops tokens "
               "before the decoder";
    }
    return vision.token_range ? "ask for fewer frames, or for smaller ones" : "ask for fewer frames";
}

// A clip that cannot be read is refused before its frames are decoded, which costs more than a picture's
// does.
Status check_clips(const model::VisionModel* vision, const AskPlan& ask, std::size_t context_length) {
    std::size_t n_frames = 0;
    for (const PlannedPicture& picture : ask.pictures) n_frames += picture.sample.frames.size();
    if (n_frames == 0) {
        const bool says_nothing =
            ask.request.clip == ClipChoice() && ask.request.split_time == AskRequest().split_time;
        if (says_nothing) return ok_status();
        return {Code::InvalidArgument,
                "frames of a clip were asked for, but there is no clip, only pictures"};
    }
    CLASP_RETURN_IF_ERROR(check_split_time(ask.request.split_time, ask.started.run.get()));
    const std::size_t n_prompt = n_entering(ask);
    if (n_prompt <= context_length) return ok_status();
    return {Code::TooLarge, std::to_string(n_frames) + (n_frames == 1 ? " frame makes" : " frames make") +
                                " a prompt of " + std::to_string(n_prompt) +
                                " tokens, but the model's context is " + std::to_string(context_length) +
                                "; " + shorter_prompt(vision->info())};
}

// What depends on how many tokens there are to see.
Status plan_tokens(const EngineState& state, AskPlan& ask) {
    CLASP_ASSIGN_OR_RETURN(ask.shape,
                           request_shape(ask.prompt, ask.pictures, *state.text, state.vision.get()));
    ask.shape.times = state.decoder_times.get();
    CLASP_ASSIGN_OR_RETURN(ask.started, start_method(ask.request, ask.policy, ask.plan, ask.shape));
    return ok_status();
}

// Left for the answer where frames are made fewer so that the prompt fits.
constexpr std::size_t kAnswerRoom = 256;

// Rules for frames know nothing of a decoder's context. Where it is too short for what they say, and the
// request leaves it to them, as many frames are seen as it has room for.
Status fit_clips(const EngineState& state, std::size_t context_length, AskPlan& ask) {
    if (ask.pictures.empty()) return ok_status();
    const std::size_t by_rule = most_frames_of_ours(*state.vision, ask.request.clip, ask.pictures);
    const std::size_t room =
        context_length - std::min({ask.request.generation.max_tokens, kAnswerRoom, context_length});
    std::size_t n = by_rule;
    while (n > 1 && n_entering(ask) > room) {
        const std::size_t carried = std::min(ask.shape.n_carried(), room);
        const std::size_t guess = n * (room - carried) / (n_entering(ask) - carried) + 1;
        n = std::clamp<std::size_t>(guess, 1, n - 1);
        CLASP_RETURN_IF_ERROR(see_fewer_frames(*state.vision, ask.request.clip, n, ask.pictures));
        CLASP_RETURN_IF_ERROR(plan_tokens(state, ask));
    }
    if (n == by_rule) return ok_status();
    const std::size_t seen = most_frames_of_ours(*state.vision, ask.request.clip, ask.pictures);
    ask.notes.push_back("seen at " + std::to_string(seen) + (seen == 1 ? " frame" : " frames") +
                        " instead of " + std::to_string(by_rule) + ", because the model's context is " +
                        std::to_string(context_length) + " tokens");
    return ok_status();
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
    const bool has_usual_policy = request.policy.classes.empty();
    ask->policy = has_usual_policy ? state.usual.policy : request.policy;
    CLASP_RETURN_IF_ERROR(validate(ask->policy));
    CLASP_RETURN_IF_ERROR(check_tokens(request, *state.text));
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
    if (has_usual_policy && ask->plan.mix.size() > 1 && !state.usual.note.empty()) {
        ask->notes.push_back(state.usual.note);
    }
    if (state.vision == nullptr) ask->notes.emplace_back(kNoVisionFile);
    const PromptOptions writing = prompt_options(state.vision.get(), request.compat);
    CLASP_ASSIGN_OR_RETURN(ask->prompt, request.is_raw
                                            ? build_raw_prompt(*state.text, request.parts, writing.words)
                                            : build_prompt(*state.text, messages, writing));
    if (!ask->prompt.note.empty()) ask->notes.push_back(ask->prompt.note);
    if (!is_text_only) {
        const model::VisionInfo& vision = state.vision->info();
        // What a file with tiles lacks is of no matter in another order than its own.
        const bool is_files_order = request.compat == Compat::Original && request.detail.tile_merge.empty();
        if (!vision.note.empty() && (!vision.tiles || is_files_order)) ask->notes.push_back(vision.note);
        CLASP_ASSIGN_OR_RETURN(ask->pictures,
                               plan_pictures(images, *state.vision, {request.compat, request.detail},
                                             request.cancel, request.clip));
        for (PlannedPicture& picture : ask->pictures) picture.scope = request.cache_scope;
    }
    CLASP_RETURN_IF_ERROR(plan_tokens(state, *ask));
    const auto context_length = static_cast<std::size_t>(state.text->config().context_length);
    CLASP_RETURN_IF_ERROR(fit_clips(state, context_length, *ask));
    if (ask->started.wants_times) state.decoder_times->want();
    ask->notes.insert(ask->notes.end(), ask->started.notes.begin(), ask->started.notes.end());
    CLASP_RETURN_IF_ERROR(check_clips(state.vision.get(), *ask, context_length));
    CLASP_ASSIGN_OR_RETURN(ask->positions, position_mode(request.position_mode, ask->started.run.get()));
    ask->work = planned_work(ask->shape, ask->started.run.get());
    return ask;
}

}  // namespace clasp::engine
