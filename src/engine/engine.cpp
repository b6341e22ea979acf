#include "clasp/engine.h"

#include <algorithm>

#include "base/stopwatch.h"
#include "engine/decoder_input.h"
#include "engine/decoder_session.h"
#include "engine/file_identity.h"
#include "engine/generate.h"
#include "engine/prompt.h"
#include "engine/request_plan.h"
#include "engine/stage_chooser.h"
#include "engine/vision_memory.h"
#include "engine/visual_input.h"
#include "model/text_model.h"
#include "model/vision_model.h"

namespace clasp {

using engine::DecoderSession;
using engine::PrefillResult;
using engine::RequestPlan;
using engine::RequestShape;
using engine::VisualInput;

struct Engine::State {
    EngineOptions options;
    std::shared_ptr<model::Compute> compute;
    std::shared_ptr<const model::TextModel> text;
    std::shared_ptr<const model::VisionModel> vision;
    std::unique_ptr<engine::VisionMemory> memory;  // null: every request encodes
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

model::Compat compat_of(Numbers numbers) {
    return numbers == Numbers::Original ? model::Compat::Original : model::Compat::LlamaCpp;
}

Result<model::VisionWeights> find_vision_weights(const std::string& name) {
    for (const auto weights : model::kAllVisionWeights) {
        if (model::vision_weights_name(weights) == name) return weights;
    }
    return Status(Code::InvalidArgument, "there is no type of vision weights called '" + name + "'");
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

TokenCounts count_tokens(const PrefillResult& prefill, const RequestShape& shape) {
    TokenCounts counts;
    counts.visual = shape.n_visual();
    counts.text = shape.n_text;
    double sum = 0.0;
    for (const std::int32_t n : prefill.visual_per_layer) sum += static_cast<double>(n);
    if (!prefill.visual_per_layer.empty()) {
        counts.entering = static_cast<std::size_t>(prefill.visual_per_layer.front());
        counts.average = sum / static_cast<double>(prefill.visual_per_layer.size());
    }
    counts.final = prefill.stages.empty() ? counts.entering : prefill.stages.back().n_after;
    return counts;
}

std::size_t count_text(const engine::Prompt& prompt) {
    std::size_t n = 0;
    for (const engine::PromptPiece& piece : prompt.pieces) n += piece.tokens.size();
    return n;
}

// What the vision side has to give for a request and its method, which may be null.
engine::VisualRequest visual_request(const AskRequest& request, const Policy& policy, const RequestPlan& plan,
                                     const RequestShape& shape, methods::MethodRun* run, ThreadPool& pool) {
    engine::VisualRequest seeing;
    seeing.mix = plan.mix;
    seeing.extra_layers = policy_layers(policy);
    seeing.compat = compat_of(request.numbers);
    seeing.want_gram = false;
    seeing.run = run;
    seeing.mass = plan.mass;
    seeing.pool = &pool;
    seeing.cancel = request.cancel;
    if (run == nullptr) return seeing;
    const methods::Program& program = run->program();
    for (const methods::DecoderStage& stage : program.stages) {
        seeing.want_gram = seeing.want_gram || stage.needs.gram || plan.mass == MassRule::Nearest;
    }
    const std::vector<std::size_t> patches(shape.n_images, shape.vision.n_tokens());
    seeing.keep = engine::share_in_proportion(std::min(program.entering, shape.n_visual()), patches, patches);
    return seeing;
}

engine::StageChooser make_chooser(const AskRequest& request, const Policy& policy, const RequestPlan& plan,
                                  const VisualInput& visual, const model::TextConfig& config,
                                  methods::MethodRun* run, ThreadPool& pool) {
    engine::StageChooserOptions options;
    options.run = run;
    options.mass = plan.mass;
    options.split = plan.split;
    options.iterations = static_cast<std::uint32_t>(policy.iterations);
    options.seed = request.select_seed;
    options.n_layers = static_cast<std::size_t>(config.n_layers);
    options.n_heads = static_cast<std::size_t>(config.n_heads);
    options.width = static_cast<std::size_t>(config.width);
    if (run != nullptr) {
        for (const methods::DecoderStage& stage : run->program().stages) options.keep.push_back(stage.keep);
    }
    std::vector<engine::ChooserImage> images;
    for (const engine::SeenImage& seen : visual.images) {
        engine::ChooserImage image;
        image.n_tokens = seen.n_tokens();
        image.picture = seen.picture;
        if (!seen.gram.empty()) image.gram = {seen.gram.data(), seen.n_tokens(), seen.n_tokens()};
        image.grid = {seen.grid.height, seen.grid.width};
        image.places = seen.places;
        image.masses = seen.masses;
        images.push_back(image);
    }
    return {std::move(options), images, &pool};
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
                const RequestShape& shape, const PrefillResult& prefill) {
    Answer answer;
    answer.chosen_class = plan.chosen_class;
    answer.mix = plan.mix;
    answer.split = plan.split;
    answer.tokens = count_tokens(prefill, shape);
    for (const engine::SeenImage& seen : visual.images) answer.grids.push_back(seen.grid);
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
    answer.timings.select = visual.select_ms + prefill.select_ms;
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
    CLASP_ASSIGN_OR_RETURN(state->router, Router::create(options.router));
    CLASP_ASSIGN_OR_RETURN(state->default_policy, find_profile("llava"));
    if (options.cached_images > 0 || !options.cache_dir.empty()) {
        CLASP_ASSIGN_OR_RETURN(std::string vision_id, engine::file_identity(options.mmproj));
        vision_id += model::vision_weights_name(state->vision->weights());
        state->memory =
            std::make_unique<engine::VisionMemory>(std::move(vision_id), options.cached_images,
                                                   options.cache_dir, options.several_methods, options.log);
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

    std::vector<std::string> notes = plan.notes;
    CLASP_ASSIGN_OR_RETURN(const engine::Prompt prompt,
                           engine::build_prompt(*state.text, request.question, request.images.size()));
    if (!prompt.note.empty()) notes.push_back(prompt.note);
    const RequestShape shape = {request.images.size(), count_text(prompt),
                                decoder_shape(state.text->config()), state.vision->info()};
    CLASP_ASSIGN_OR_RETURN(const auto run, engine::start_method(request, policy, plan, shape, notes));
    CLASP_ASSIGN_OR_RETURN(const engine::PositionRule positions,
                           engine::position_rule(request.position_mode, run.get()));
    CLASP_ASSIGN_OR_RETURN(const auto session, DecoderSession::create(state.text));

    engine::VisualRequest seeing = visual_request(request, policy, plan, shape, run.get(), state.pool);
    CLASP_ASSIGN_OR_RETURN(const std::vector<float> words, engine::embed_words(run.get(), prompt, *session));
    const auto width = static_cast<std::size_t>(state.text->config().width);
    seeing.text = {words.data(), words.size() / width, width, width};
    CLASP_ASSIGN_OR_RETURN(const auto vision, model::VisionSession::create(state.vision));
    CLASP_ASSIGN_OR_RETURN(const VisualInput visual,
                           engine::prepare_images(request.images, seeing, *vision, state.memory.get()));
    notes.insert(notes.end(), visual.notes.begin(), visual.notes.end());

    engine::StageChooser chooser =
        make_chooser(request, policy, plan, visual, state.text->config(), run.get(), state.pool);
    const engine::GenerateOptions generating = generate_options(request);
    CLASP_ASSIGN_OR_RETURN(
        const engine::DecoderInput input,
        engine::lay_out_decoder(prompt, visual, run.get(), policy.reference_tokens, *session));
    engine::PrefillRequest reading = input.request();
    reading.positions = positions;
    reading.selector = [&chooser](const engine::StageView& view) { return chooser.choose(view); };
    reading.room = engine::room_for(generating.max_tokens);
    reading.cancel = request.cancel;
    CLASP_ASSIGN_OR_RETURN(PrefillResult prefill, session->prefill(reading));

    Answer answer = describe(policy, plan, visual, shape, prefill);
    answer.positions = positions == engine::PositionRule::Keep ? "keep" : "compact";
    answer.stages = visual.reports;
    answer.stages.insert(answer.stages.end(), chooser.reports().begin(), chooser.reports().end());
    answer.notes = std::move(notes);
    const double before_generation = watch.elapsed_ms();
    CLASP_ASSIGN_OR_RETURN(engine::GenerateResult generated,
                           engine::generate(*session, prefill.logits, generating));
    answer.text = std::move(generated.text);
    answer.generated = generated.tokens.size();
    answer.stopped_at_limit = generated.reason == engine::StopReason::MaxTokens;
    answer.cancelled = generated.reason == engine::StopReason::Cancelled;
    // An answer that ends at once has no first token; then it is the time until that was known.
    answer.timings.first_token =
        before_generation + (generated.tokens.empty() ? generated.decode_ms : generated.first_token_ms);
    if (request.want_logits) answer.logits = std::move(prefill.logits);
    answer.timings.decode = generated.decode_ms;
    answer.timings.total = watch.elapsed_ms();
    return answer;
}

}  // namespace clasp
