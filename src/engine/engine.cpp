#include "clasp/engine.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/mapped_file.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "engine/decoder_input.h"
#include "engine/default_policy.h"
#include "engine/executor.h"
#include "engine/file_identity.h"
#include "engine/generate.h"
#include "engine/memory_check.h"
#include "engine/messages.h"
#include "engine/model_info.h"
#include "engine/pair_check.h"
#include "engine/progress.h"
#include "engine/prompt.h"
#include "engine/request_plan.h"
#include "engine/sequence.h"
#include "engine/session_pool.h"
#include "engine/stage_chooser.h"
#include "engine/stop_flag.h"
#include "engine/vision_memory.h"
#include "engine/visual_input.h"
#include "model/text_model.h"
#include "model/vision_model.h"

namespace clasp {

using engine::Executor;
using engine::PhaseReport;
using engine::PrefillResult;
using engine::RequestPlan;
using engine::RequestShape;
using engine::VisualInput;

// Requests take turns on the processors, so more than two at a time are rare; a session that waits holds the
// intermediate results of its largest request.
constexpr std::size_t kIdleSessions = 2;

constexpr std::string_view kNoVisionFile =
    "the model was loaded without a vision file: it answers questions in text alone";

struct Engine::State {
    EngineOptions options;
    std::shared_ptr<model::Compute> compute;
    std::shared_ptr<const model::TextModel> text;
    std::shared_ptr<const model::VisionModel> vision;  // null: text alone
    std::unique_ptr<engine::VisionMemory> memory;      // null: every request encodes
    std::optional<Router> router;
    Policy policy;  // of requests that bring none
    mutable ThreadPool pool;
    ModelInfo info;
    // What requests compute with, kept from one to the next.
    mutable engine::SessionPool<Executor> executors;
    mutable engine::SessionPool<model::VisionSession> vision_sessions;

    explicit State(const EngineOptions& given)
        : options(given),
          pool(given.n_threads),
          executors([this] { return Executor::create(text); }, kIdleSessions),
          vision_sessions([this] { return model::VisionSession::create(vision); }, kIdleSessions) {}
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

Result<model::VisionWeights> find_vision_weights(const std::string& name) {
    for (const auto weights : model::kAllVisionWeights) {
        if (model::vision_weights_name(weights) == name) return weights;
    }
    return Status(Code::InvalidArgument, "there is no type of vision weights called '" + name + "'");
}

Result<model::DecoderKernels> find_kernels(const std::string& name) {
    if (name == "ours") return model::DecoderKernels::Ours;
    if (name == "ggml") return model::DecoderKernels::Ggml;
    return Status(Code::InvalidArgument,
                  "there are no kernels called '" + name + "'; there are ours and ggml");
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

double mean(const std::vector<std::int32_t>& values) {
    double sum = 0.0;
    for (const std::int32_t value : values) sum += static_cast<double>(value);
    return values.empty() ? 0.0 : sum / static_cast<double>(values.size());
}

TokenCounts count_tokens(const PrefillResult& prefill, const RequestShape& shape) {
    TokenCounts counts;
    counts.visual = shape.n_visual();
    counts.text = shape.n_text;
    counts.average = mean(prefill.visual_per_layer) + mean(prefill.fixed_per_layer);
    if (!prefill.visual_per_layer.empty()) {
        counts.entering = static_cast<std::size_t>(prefill.visual_per_layer.front()) +
                          static_cast<std::size_t>(prefill.fixed_per_layer.front());
    }
    counts.final = prefill.stages.empty()
                       ? counts.entering
                       : prefill.stages.back().n_after + prefill.stages.back().n_fixed_after;
    return counts;
}

std::size_t count_text(const engine::Prompt& prompt) {
    std::size_t n = 0;
    for (const engine::PromptPiece& piece : prompt.pieces) n += piece.tokens.size();
    return n;
}

// A model that can see writes all its conversations in one way.
engine::PromptOptions prompt_options(const model::VisionModel* vision, Compat compat) {
    if (vision == nullptr) return {};
    engine::PromptOptions options = {.chat_template = {}, .words = vision->info().words};
    if (compat == Compat::LlamaCpp) options.words.gap.clear();
    return options;
}

// What is known once the headers of the pictures are read.
Result<RequestShape> request_shape(const engine::Prompt& prompt,
                                   const std::vector<engine::PlannedPicture>& pictures,
                                   const model::TextModel& text, const model::VisionModel* vision) {
    RequestShape shape;
    shape.n_text = count_text(prompt);
    shape.decoder = decoder_shape(text.config());
    if (vision != nullptr) shape.vision = vision->info();
    for (const engine::PlannedPicture& picture : pictures) {
        shape.images.push_back(picture.plan.layout);
        CLASP_ASSIGN_OR_RETURN(const std::size_t n_text, engine::count_image_text(picture.plan, text));
        shape.n_text += n_text;
    }
    return shape;
}

// What the vision side has to give for a request and its method, which may be null.
engine::VisualRequest visual_request(const AskRequest& request, const Policy& policy, const RequestPlan& plan,
                                     const RequestShape& shape, methods::MethodRun* run, ThreadPool& pool) {
    engine::VisualRequest seeing;
    seeing.mix = plan.mix;
    seeing.extra_layers = policy_layers(policy);
    seeing.compat = request.compat;
    seeing.want_gram = false;
    seeing.run = run;
    seeing.mass = plan.mass;
    seeing.want_images = request.want_pictures;
    seeing.pool = &pool;
    seeing.cancel = request.cancel;
    if (run == nullptr) return seeing;
    const methods::Program& program = run->program();
    for (const methods::DecoderStage& stage : program.stages) {
        seeing.want_gram = seeing.want_gram || stage.needs.gram || plan.mass == MassRule::Nearest;
    }
    std::vector<std::size_t> tokens;
    for (const ImageLayout& image : shape.images) tokens.push_back(image.n_tokens());
    seeing.keep = engine::share_in_proportion(std::min(program.entering, shape.n_visual()), tokens, tokens);
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
    if (run != nullptr) {
        for (const methods::DecoderStage& stage : run->program().stages) options.keep.push_back(stage.keep);
    }
    std::vector<engine::ChooserImage> images;
    for (const engine::SeenImage& seen : visual.images) {
        engine::ChooserImage image;
        image.n_tokens = seen.n_tokens();
        image.picture = seen.picture;
        if (!seen.gram.empty()) image.gram = {seen.gram.data(), seen.n_tokens(), seen.n_tokens()};
        image.grid = engine::method_grid(seen.plan.layout);
        image.has_lines = seen.plan.layout.n_fixed > 0 || seen.plan.arrangement.size() > 1;
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
    options.stop = request.generation.stop;
    options.on_text = request.on_text;
    options.cancel = request.cancel;
    return options;
}

// Everything of an answer that is known before generation.
Answer describe(const AskRequest& request, const Policy& policy, const RequestPlan& plan,
                const engine::StartedMethod& started, const VisualInput& visual, const RequestShape& shape,
                const PrefillResult& prefill) {
    Answer answer;
    answer.chosen_class = plan.chosen_class;
    answer.mix = plan.mix;
    answer.split = plan.split;
    answer.tokens = count_tokens(prefill, shape);
    for (const engine::SeenImage& seen : visual.images) {
        answer.layouts.push_back(seen.plan.layout);
        if (request.want_pictures) answer.pictures.push_back(seen.image);
    }
    answer.kv_bytes = prefill.kv_bytes;
    answer.policy_name = policy.name;
    answer.policy_hash = policy_hash(policy);
    answer.method = answer.label = "none";
    answer.budget = started.budget;
    if (started.run != nullptr) {
        answer.method = plan.method->name;
        answer.mass = plan.mass;
        answer.label =
            methods::method_label(*plan.method, request.method_options, plan.mass == MassRule::Nearest);
        answer.has_own_encoder = !started.run->program().encoder_blocks.empty();
    }
    answer.timings.route_ms = plan.route_ms;
    answer.timings.image_ms = visual.image_ms;
    answer.timings.encode_ms = visual.encode_ms;
    answer.timings.fuse_ms = visual.fuse_ms;
    answer.timings.project_ms = visual.project_ms;
    answer.timings.gram_ms = visual.gram_ms;
    answer.timings.select_ms = visual.select_ms + prefill.select_ms;
    answer.timings.prefill_ms = prefill.prefill_ms;
    return answer;
}

double file_bytes(const std::string& path) {
    std::error_code error;
    const auto n = std::filesystem::file_size(path, error);
    return error ? 0.0 : static_cast<double>(n);
}

struct LoadedModels {
    std::shared_ptr<const model::TextModel> text;
    std::shared_ptr<const model::VisionModel> vision;
    base::MappedFile vision_file;
};

Result<LoadedModels> load_models(const EngineOptions& options, model::VisionWeights weights,
                                 model::DecoderKernels kernels,
                                 const std::shared_ptr<model::Compute>& compute, ThreadPool& pool) {
    const double text_bytes = file_bytes(options.model);
    const double vision_bytes = file_bytes(options.mmproj);
    std::optional<PhaseReport> report;
    if (options.on_progress) {
        report.emplace(options.on_progress, Progress::Phase::Load, text_bytes + vision_bytes);
    }
    model::LoadWatch watch;
    watch.cancel = options.cancel;
    LoadedModels models;
    if (report) watch.on_progress = [&](double share) { report->at(share * text_bytes); };
    CLASP_ASSIGN_OR_RETURN(
        models.text, model::TextModel::load(options.model, compute, {.kernels = kernels, .watch = &watch}));
    if (options.mmproj.empty()) {
        if (report) report->finish();
        return models;
    }
    if (report) watch.on_progress = [&](double share) { report->at(text_bytes + share * vision_bytes); };
    CLASP_ASSIGN_OR_RETURN(models.vision_file, base::MappedFile::open(options.mmproj));
    const model::VisionOptions wanted = {.weights = weights,
                                         .watch = &watch,
                                         .outside = {.path = options.mmproj, .text = models.text->handle()}};
    auto vision =
        model::VisionModel::load_bytes(models.vision_file.bytes(), wanted, compute, &pool, options.log);
    if (!vision.ok()) return vision.status().with_context(options.mmproj);
    models.vision = std::move(*vision);
    if (report) report->finish();
    return models;
}

// The folder of the cache, made if need be.
Status make_cache_folder(const std::string& folder) {
    if (folder.empty()) return ok_status();
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (!error && std::filesystem::is_directory(folder, error)) return ok_status();
    return {Code::Unavailable, "the cache folder " + base::path_in_quotes(folder) + " cannot be made" +
                                   (error ? ": " + error.message() : "")};
}

}  // namespace

Engine::Engine(std::unique_ptr<State> state) : state_(std::move(state)) {}
Engine::~Engine() = default;

const ModelInfo& Engine::info() const {
    return state_->info;
}

const Policy& Engine::policy() const {
    return state_->policy;
}

Result<std::unique_ptr<Engine>> Engine::load(const EngineOptions& options) {
    auto state = std::make_unique<State>(options);
    CLASP_ASSIGN_OR_RETURN(const model::VisionWeights weights, find_vision_weights(options.vision_weights));
    CLASP_ASSIGN_OR_RETURN(const model::DecoderKernels kernels, find_kernels(options.kernels));
    CLASP_ASSIGN_OR_RETURN(
        state->compute, model::Compute::create({.n_threads = options.n_threads, .use_gpu = options.use_gpu}));
    CLASP_ASSIGN_OR_RETURN(const std::string warning,
                           engine::judge_memory(engine::memory_need(options.model, options.mmproj, weights,
                                                                    kernels, *state->compute),
                                                engine::memory_room()));
    if (!warning.empty()) log(options.log, LogLevel::Warning, warning);
    CLASP_RETURN_IF_ERROR(make_cache_folder(options.cache_dir));
    CLASP_ASSIGN_OR_RETURN(LoadedModels models,
                           load_models(options, weights, kernels, state->compute, state->pool));
    state->text = std::move(models.text);
    state->vision = std::move(models.vision);
    state->info = engine::model_info(*state->text, state->vision ? &state->vision->info() : nullptr);
    if (state->vision) {
        const model::VisionInfo& vision = state->vision->info();
        CLASP_RETURN_IF_ERROR(engine::check_pair(
            {options.model, state->info.width, state->info.context_length,
             static_cast<std::size_t>(state->text->config().n_deepstack)},
            {options.mmproj, vision.output_width, vision.n_tokens(), vision.branch_layers.size()}));
    } else if (!options.cache_dir.empty()) {
        return Status(Code::InvalidArgument, "there is nothing to keep in the cache folder " +
                                                 base::path_in_quotes(options.cache_dir) +
                                                 " without a vision file");
    }
    CLASP_ASSIGN_OR_RETURN(state->router, Router::create(options.router));
    CLASP_ASSIGN_OR_RETURN(
        state->policy,
        engine::default_policy(options.model, state->vision ? &state->vision->info() : nullptr));
    if (state->vision && (options.cached_images > 0 || !options.cache_dir.empty())) {
        // Only files of a cache outlive this engine; what stays in memory belongs to this model anyway.
        std::string vision_id;
        if (!options.cache_dir.empty())
            vision_id = engine::content_identity(models.vision_file.bytes(), &state->pool);
        vision_id += model::vision_weights_name(state->vision->weights());
        state->memory =
            std::make_unique<engine::VisionMemory>(std::move(vision_id), options.cached_images,
                                                   options.cache_dir, options.several_methods, options.log);
    }
    return std::unique_ptr<Engine>(new Engine(std::move(state)));
}

Result<Answer> Engine::ask(const AskRequest& request) const {
    const engine::StopFlag stop(request.cancel, request.deadline);
    AskRequest stoppable = request;
    stoppable.cancel = stop.flag();
    Result<Answer> answer = answer_request(*state_, stoppable);
    if (!stop.has_timed_out()) return answer;
    if (answer.ok() && answer->stopped == Stopped::Cancelled) answer->stopped = Stopped::Deadline;
    if (answer.status().code() == Code::Cancelled) {
        return Status(Code::Deadline, "the deadline passed before the answer began");
    }
    return answer;
}

Result<Answer> Engine::answer_request(const State& state, const AskRequest& request) {
    const base::Stopwatch watch;
    const model::Compute::Work work(*state.compute);
    const Policy& policy = request.policy.classes.empty() ? state.policy : request.policy;
    CLASP_RETURN_IF_ERROR(validate(policy));
    const std::vector<Message> messages = engine::messages_of(request);
    CLASP_ASSIGN_OR_RETURN(const std::vector<ImageSource> images, engine::images_of(messages));
    const bool is_text_only = images.empty();
    if (!is_text_only && state.vision == nullptr) {
        return Status(Code::InvalidArgument,
                      "the model was loaded without a vision file, so it cannot be asked about a picture");
    }
    CLASP_ASSIGN_OR_RETURN(const RequestPlan plan,
                           is_text_only
                               ? engine::plan_text_request(request, policy, *state.router)
                               : engine::plan_request(request, policy, *state.router, state.vision->info()));

    std::vector<std::string> notes = plan.notes;
    if (state.vision == nullptr) notes.emplace_back(kNoVisionFile);
    CLASP_ASSIGN_OR_RETURN(
        const engine::Prompt prompt,
        engine::build_prompt(*state.text, messages, prompt_options(state.vision.get(), request.compat)));
    if (!prompt.note.empty()) notes.push_back(prompt.note);
    std::vector<engine::PlannedPicture> pictures;
    if (!is_text_only) {
        const model::VisionInfo& vision = state.vision->info();
        // What a file with tiles lacks is of no matter in another order than its own.
        const bool is_files_order = request.compat == Compat::Original && request.detail.tile_merge.empty();
        if (!vision.note.empty() && (!vision.tiles || is_files_order)) notes.push_back(vision.note);
        CLASP_ASSIGN_OR_RETURN(
            pictures,
            engine::plan_pictures(images, *state.vision, {request.compat, request.detail}, request.cancel));
    }
    CLASP_ASSIGN_OR_RETURN(const RequestShape shape,
                           request_shape(prompt, pictures, *state.text, state.vision.get()));
    CLASP_ASSIGN_OR_RETURN(const engine::StartedMethod started,
                           engine::start_method(request, policy, plan, shape));
    methods::MethodRun* run = started.run.get();
    notes.insert(notes.end(), started.notes.begin(), started.notes.end());
    CLASP_ASSIGN_OR_RETURN(const engine::PositionMode positions,
                           engine::position_mode(request.position_mode, run));
    CLASP_ASSIGN_OR_RETURN(const auto executor, state.executors.take());

    VisualInput visual;
    if (!is_text_only) {
        engine::VisualRequest seeing = visual_request(request, policy, plan, shape, run, state.pool);
        CLASP_ASSIGN_OR_RETURN(const std::vector<float> words, engine::embed_words(run, prompt, *executor));
        const auto width = static_cast<std::size_t>(state.text->config().width);
        seeing.text = {words.data(), words.size() / width, width, width};
        CLASP_ASSIGN_OR_RETURN(const auto vision, state.vision_sessions.take());
        std::optional<PhaseReport> encoding;
        if (request.on_progress) {
            encoding.emplace(request.on_progress, Progress::Phase::Encode,
                             static_cast<double>(images.size()));
            seeing.on_images = [&encoding](double n_done) { encoding->at(n_done); };
        }
        CLASP_ASSIGN_OR_RETURN(visual, engine::prepare_images(pictures, seeing, *vision, state.memory.get()));
    }
    notes.insert(notes.end(), visual.notes.begin(), visual.notes.end());

    engine::StageChooser chooser =
        make_chooser(request, policy, plan, visual, state.text->config(), run, state.pool);
    const engine::GenerateOptions generating = generate_options(request);
    CLASP_ASSIGN_OR_RETURN(
        const engine::DecoderInput input,
        engine::lay_out_decoder(prompt, visual, state.vision.get(), run, policy.reference_tokens, *executor));
    engine::PrefillRequest reading = input.request();
    reading.positions = positions;
    reading.selector = [&chooser](const engine::StageView& view) { return chooser.choose(view); };
    reading.room = engine::room_for(generating.max_tokens);
    reading.cancel = request.cancel;
    const std::vector<double> planned = engine::planned_work(shape, run);
    std::optional<PhaseReport> prefilling;
    if (request.on_progress) {
        prefilling.emplace(request.on_progress, Progress::Phase::Prefill, planned.back());
        reading.on_layers = [&](double layers) { prefilling->at(engine::work_until(planned, layers)); };
    }
    CLASP_ASSIGN_OR_RETURN(engine::Sequence sequence, engine::Sequence::create(state.text));
    CLASP_ASSIGN_OR_RETURN(PrefillResult prefill, executor->prefill(sequence, reading));
    if (prefilling) prefilling->finish();

    Answer answer = describe(request, policy, plan, started, visual, shape, prefill);
    const std::string missed = engine::missed_budget(request, plan, started.budget, shape.n_visual(),
                                                     mean(prefill.visual_per_layer));
    if (!missed.empty()) notes.push_back(missed);
    answer.positions = positions == engine::PositionMode::Keep ? "keep" : "compact";
    answer.stages = visual.reports;
    answer.stages.insert(answer.stages.end(), chooser.reports().begin(), chooser.reports().end());
    answer.notes = std::move(notes);
    if (visual.n_looked_up > 0) answer.cache_hit = visual.n_found == visual.n_looked_up;
    const double before_generation = watch.elapsed_ms();
    CLASP_ASSIGN_OR_RETURN(engine::GenerateResult generated,
                           engine::generate(*executor, sequence, prefill.logits, generating));
    answer.text = std::move(generated.text);
    answer.generated = generated.tokens.size();
    answer.stopped = generated.reason;
    // An answer that ends at once has no first token; then it is the time until that was known.
    answer.timings.first_token_ms =
        before_generation + (generated.tokens.empty() ? generated.decode_ms : generated.first_token_ms);
    if (request.want_logits) answer.logits = std::move(prefill.logits);
    answer.timings.decode_ms = generated.decode_ms;
    answer.timings.total_ms = watch.elapsed_ms();
    return answer;
}

}  // namespace clasp
