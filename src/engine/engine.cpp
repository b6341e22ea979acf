#include "clasp/engine.h"

#include <algorithm>
#include <span>

#include "base/stopwatch.h"
#include "engine/decoder_session.h"
#include "engine/feature_cache.h"
#include "engine/file_identity.h"
#include "engine/generate.h"
#include "engine/prompt.h"
#include "engine/request_plan.h"
#include "engine/stage_chooser.h"
#include "engine/visual_input.h"
#include "model/text_model.h"
#include "model/vision_model.h"

namespace clasp {

using engine::DecoderSession;
using engine::PrefillResult;
using engine::PromptPart;
using engine::RequestPlan;
using engine::VisualInput;

struct Engine::State {
    EngineOptions options;
    std::shared_ptr<model::Compute> compute;
    std::shared_ptr<const model::TextModel> text;
    std::shared_ptr<const model::VisionModel> vision;
    std::string vision_id;
    std::unique_ptr<engine::FeatureCache> cache;
    std::optional<Router> router;
    Policy default_policy;
    mutable ThreadPool pool;
    ModelInfo info;

    explicit State(const EngineOptions& given) : options(given), pool(given.n_threads) {}
};

namespace {

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

Result<engine::ReferenceMode> reference_mode(ReferenceTokens tokens) {
    switch (tokens) {
        case ReferenceTokens::Last: return engine::ReferenceMode::Last;
        case ReferenceTokens::Post: return engine::ReferenceMode::Post;
        case ReferenceTokens::Instruction: return engine::ReferenceMode::Instruction;
        case ReferenceTokens::Raters: break;
    }
    return Status(Code::Unsupported, "reference tokens by raters are not available in this version");
}

model::Compat compat_of(Numbers numbers) {
    return numbers == Numbers::Original ? model::Compat::Original : model::Compat::LlamaCpp;
}

Result<model::VisionWeights> find_vision_weights(const std::string& name) {
    for (const auto weights : model::kAllVisionWeights) {
        if (model::vision_weights_name(weights) == name) return weights;
    }
    return Status(Code::InvalidArgument, "there is no type of vision weights called '" + name + "'");
}

std::vector<engine::PrefillStage> prefill_stages(const methods::Program& program) {
    std::vector<engine::PrefillStage> stages;
    for (const methods::DecoderStage& stage : program.stages) {
        engine::PrefillStage wanted;
        wanted.layer = static_cast<std::int32_t>(stage.layer);
        wanted.mode = stage.mode;
        wanted.probe.scores = stage.needs.attention == methods::StageNeeds::Attention::Mean;
        stages.push_back(wanted);
    }
    return stages;
}

// Text tokens and visual embeddings in the order of the prompt; borrows from both.
std::vector<PromptPart> prompt_parts(const engine::Prompt& prompt, const VisualInput& visual) {
    std::vector<PromptPart> parts;
    for (const engine::PromptPiece& piece : prompt.pieces) {
        PromptPart part;
        if (piece.image >= 0) {
            part.embeddings = visual.images[static_cast<std::size_t>(piece.image)].values;
        } else {
            part.tokens = piece.tokens;
        }
        parts.push_back(part);
    }
    return parts;
}

std::vector<std::size_t> policy_layers(const Policy& policy) {
    std::vector<std::size_t> layers;
    for (std::size_t id = 0; id < policy.classes.size(); ++id) {
        if (const auto mix = mix_for(policy, id)) {
            for (const LayerWeight& entry : *mix) layers.push_back(entry.layer);
        }
    }
    return layers;
}

TokenCounts count_tokens(const PrefillResult& prefill, std::size_t n_visual, std::size_t n_tokens) {
    TokenCounts counts;
    counts.visual = n_visual;
    counts.text = n_tokens - n_visual;
    double sum = 0.0;
    for (const std::int32_t n : prefill.visual_per_layer) sum += static_cast<double>(n);
    if (!prefill.visual_per_layer.empty()) {
        counts.entering = static_cast<std::size_t>(prefill.visual_per_layer.front());
        counts.average = sum / static_cast<double>(prefill.visual_per_layer.size());
    }
    counts.final = prefill.stages.empty() ? counts.entering : prefill.stages.back().n_after;
    return counts;
}

// A request as the decoder gets it.
struct DecoderInput {
    engine::Prompt prompt;
    engine::PromptLayout layout;
    std::vector<std::int32_t> reference;
    Schedule schedule;
};

Result<DecoderInput> lay_out_request(const AskRequest& request, const Policy& policy, const RequestPlan& plan,
                                     const VisualInput& visual, const model::TextModel& text,
                                     std::vector<std::string>& notes) {
    DecoderInput input;
    CLASP_ASSIGN_OR_RETURN(input.prompt, engine::build_prompt(text, request.question, request.images.size()));
    if (!input.prompt.note.empty()) notes.push_back(input.prompt.note);
    std::vector<std::size_t> tokens_per_image;
    for (const model::VisionTokens& tokens : visual.images) tokens_per_image.push_back(tokens.n_tokens());
    CLASP_ASSIGN_OR_RETURN(input.layout, engine::lay_out(input.prompt, tokens_per_image));
    CLASP_ASSIGN_OR_RETURN(const engine::ReferenceMode mode, reference_mode(policy.reference_tokens));
    input.reference = engine::reference_tokens(input.layout, mode);
    CLASP_ASSIGN_OR_RETURN(
        input.schedule,
        engine::plan_schedule(request, policy, plan, input.layout.n_visual, decoder_shape(text.config()),
                              input.layout.n_tokens - input.layout.n_visual, notes));
    if (!input.schedule.note.empty()) notes.push_back(input.schedule.note);
    return input;
}

Result<std::unique_ptr<methods::MethodRun>> start_method(const methods::Method& method,
                                                         const VisualInput& visual,
                                                         const Schedule& schedule) {
    methods::Setup setup;
    for (const model::VisionTokens& tokens : visual.images) {
        setup.grids.push_back({tokens.grid.height, tokens.grid.width});
        setup.n_visual += tokens.n_tokens();
    }
    setup.n_layers = schedule.per_layer.size();
    setup.stages = schedule.stages;
    setup.stage_mode = schedule.stage_mode;
    return method.start(setup);
}

engine::StageChooser make_chooser(const AskRequest& request, const Policy& policy, const RequestPlan& plan,
                                  const VisualInput& visual, methods::MethodRun& run, ThreadPool& pool) {
    engine::StageChooserOptions options;
    options.run = &run;
    options.mass = plan.mass;
    options.split = plan.split;
    options.iterations = static_cast<std::uint32_t>(policy.iterations);
    options.seed = request.select_seed;
    for (const methods::DecoderStage& stage : run.program().stages) options.keep.push_back(stage.keep);
    std::vector<GramView> grams;
    for (const model::VisionTokens& tokens : visual.images) {
        grams.push_back({tokens.gram.data(), tokens.n_tokens(), tokens.n_tokens()});
    }
    return {std::move(options), std::move(grams), &pool};
}

engine::GenerateOptions generate_options(const AskRequest& request) {
    engine::GenerateOptions options;
    options.max_tokens = static_cast<std::int32_t>(request.generation.max_tokens);
    options.sampling.temperature = static_cast<float>(request.generation.temperature);
    options.sampling.top_p = static_cast<float>(request.generation.top_p);
    options.sampling.seed = request.generation.seed;
    options.on_text = request.on_text;
    options.cancel = request.cancel;
    return options;
}

// Everything of an answer that is known before generation.
Answer describe(const Policy& policy, const RequestPlan& plan, const VisualInput& visual,
                const DecoderInput& input, const PrefillResult& prefill) {
    Answer answer;
    answer.chosen_class = plan.chosen_class;
    answer.mix = plan.mix;
    answer.split = plan.split;
    answer.tokens = count_tokens(prefill, input.layout.n_visual, input.layout.n_tokens);
    for (const model::VisionTokens& tokens : visual.images) answer.grids.push_back(tokens.grid);
    answer.kv_bytes = prefill.kv_bytes;
    answer.policy_name = policy.name;
    answer.policy_hash = policy_hash(policy);
    answer.method = plan.prunes ? std::string(plan.method->name) : "none";
    answer.mass = plan.prunes ? plan.mass : MassRule::None;
    answer.timings.route = plan.route_ms;
    answer.timings.image = visual.image_ms;
    answer.timings.encode = visual.encode_ms;
    answer.timings.fuse = visual.fuse_ms;
    answer.timings.project = visual.project_ms;
    answer.timings.gram = visual.gram_ms;
    answer.timings.select = prefill.select_ms;
    answer.timings.prefill = prefill.prefill_ms;
    return answer;
}

}  // namespace

Engine::Engine(std::unique_ptr<State> state) : state_(std::move(state)) {}
Engine::~Engine() = default;

const ModelInfo& Engine::info() const {
    return state_->info;
}

Result<std::unique_ptr<Engine>> Engine::load(const EngineOptions& options) {
    auto state = std::make_unique<State>(options);
    CLASP_ASSIGN_OR_RETURN(const model::VisionWeights weights, find_vision_weights(options.vision_weights));
    CLASP_ASSIGN_OR_RETURN(
        state->compute, model::Compute::create({.n_threads = options.n_threads, .use_gpu = options.use_gpu}));
    CLASP_ASSIGN_OR_RETURN(state->text, model::TextModel::load(options.model, state->compute));
    CLASP_ASSIGN_OR_RETURN(state->vision,
                           model::VisionModel::load(options.mmproj, {.weights = weights}, state->compute,
                                                    &state->pool, options.log));
    const model::TextConfig& text = state->text->config();
    const model::VisionInfo& vision = state->vision->info();
    if (vision.output_width != static_cast<std::size_t>(text.width)) {
        return Status(Code::InvalidArgument, "the two files do not belong together: '" + options.mmproj +
                                                 "' gives tokens of width " +
                                                 std::to_string(vision.output_width) + ", '" + options.model +
                                                 "' takes width " + std::to_string(text.width));
    }
    CLASP_ASSIGN_OR_RETURN(state->router, Router::create());
    CLASP_ASSIGN_OR_RETURN(state->default_policy, find_profile("llava"));
    if (options.cached_images > 0 || !options.cache_dir.empty()) {
        CLASP_ASSIGN_OR_RETURN(state->vision_id, engine::file_identity(options.mmproj));
        state->vision_id += model::vision_weights_name(state->vision->weights());
        state->cache =
            std::make_unique<engine::FeatureCache>(options.cached_images, options.cache_dir, options.log);
    }
    ModelInfo& info = state->info;
    info.name = text.name;
    info.architecture = text.architecture;
    info.n_layers = static_cast<std::size_t>(text.n_layers);
    info.width = static_cast<std::size_t>(text.width);
    info.context_length = static_cast<std::size_t>(text.context_length);
    info.vision_blocks = vision.n_blocks;
    info.feature_layer = vision.feature_layer;
    info.grid = vision.grid;
    return std::unique_ptr<Engine>(new Engine(std::move(state)));
}

Result<Answer> Engine::ask(const AskRequest& request) const {
    const base::Stopwatch watch;
    const State& state = *state_;
    const Policy& policy = request.policy.classes.empty() ? state.default_policy : request.policy;
    CLASP_RETURN_IF_ERROR(validate(policy));
    CLASP_ASSIGN_OR_RETURN(const RequestPlan plan,
                           engine::plan_request(request, policy, *state.router, state.vision->info()));

    engine::VisualRequest seeing;
    seeing.mix = plan.mix;
    seeing.extra_layers = policy_layers(policy);
    seeing.compat = compat_of(request.numbers);
    seeing.want_gram = plan.prunes;
    seeing.cancel = request.cancel;
    CLASP_ASSIGN_OR_RETURN(const auto vision, model::VisionSession::create(state.vision));
    CLASP_ASSIGN_OR_RETURN(
        const VisualInput visual,
        engine::prepare_images(request.images, seeing, *vision, state.vision_id, state.cache.get()));
    std::vector<std::string> notes = plan.notes;
    notes.insert(notes.end(), visual.notes.begin(), visual.notes.end());
    CLASP_ASSIGN_OR_RETURN(const DecoderInput input,
                           lay_out_request(request, policy, plan, visual, *state.text, notes));

    CLASP_ASSIGN_OR_RETURN(const auto run, start_method(*plan.method, visual, input.schedule));
    engine::StageChooser chooser = make_chooser(request, policy, plan, visual, *run, state.pool);
    const std::vector<PromptPart> parts = prompt_parts(input.prompt, visual);
    const std::vector<engine::PrefillStage> stages = prefill_stages(run->program());
    const engine::GenerateOptions generating = generate_options(request);
    engine::PrefillRequest reading;
    reading.parts = parts;
    reading.reference_tokens = input.reference;
    reading.stages = stages;
    reading.selector = [&chooser](const engine::StageView& view) { return chooser.choose(view); };
    reading.room = engine::room_for(generating.max_tokens);
    reading.cancel = request.cancel;
    CLASP_ASSIGN_OR_RETURN(const auto session, DecoderSession::create(state.text));
    CLASP_ASSIGN_OR_RETURN(PrefillResult prefill, session->prefill(reading));

    Answer answer = describe(policy, plan, visual, input, prefill);
    answer.stages = chooser.reports();
    answer.notes = std::move(notes);
    answer.timings.first_token = watch.elapsed_ms();
    CLASP_ASSIGN_OR_RETURN(engine::GenerateResult generated,
                           engine::generate(*session, prefill.logits, generating));
    answer.text = std::move(generated.text);
    answer.generated = generated.tokens.size();
    answer.stopped_at_limit = generated.reason == engine::StopReason::MaxTokens;
    answer.cancelled = generated.reason == engine::StopReason::Cancelled;
    if (request.want_logits) answer.logits = std::move(prefill.logits);
    answer.timings.decode = generated.decode_ms;
    answer.timings.total = watch.elapsed_ms();
    return answer;
}

}  // namespace clasp
