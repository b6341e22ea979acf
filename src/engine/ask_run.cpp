#include "engine/ask_run.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"

namespace clasp::engine {
namespace {

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

// Whether a stage of the decoder compares tokens.
bool needs_cosines(const RequestPlan& plan, const methods::Program& program) {
    return std::any_of(program.stages.begin(), program.stages.end(), [&](const methods::DecoderStage& stage) {
        return stage.needs.gram || plan.mass == MassRule::Nearest;
    });
}

// What the vision side has to give for a request and its method, which may be null.
VisualRequest visual_request(const AskRequest& request, const Policy& policy, const RequestPlan& plan,
                             const RequestShape& shape, methods::MethodRun* run, ThreadPool& pool) {
    VisualRequest seeing;
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
    seeing.want_gram = needs_cosines(plan, program);
    std::vector<std::size_t> tokens;
    for (const ImageLayout& image : shape.images) tokens.push_back(image.n_tokens());
    seeing.keep = share_in_proportion(std::min(program.entering, shape.n_visual()), tokens, tokens);
    return seeing;
}

// Of a clip; empty for a picture.
std::vector<TokenIndex> step_ends(const ImageLayout& layout) {
    if (layout.n_steps == 1) return {};
    std::vector<TokenIndex> ends(layout.n_steps, 0);
    TokenIndex n = 0;
    for (const TokenRegion& region : layout.regions) {
        n += static_cast<TokenIndex>(region.n_tokens());
        ends[region.step] = n;
    }
    return ends;
}

StageChooser make_chooser(const AskRequest& request, const Policy& policy, const RequestPlan& plan,
                          const VisualInput& visual, const model::TextConfig& config, methods::MethodRun* run,
                          ThreadPool& pool) {
    StageChooserOptions options;
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
    std::vector<ChooserImage> images;
    for (const SeenImage& seen : visual.images) {
        ChooserImage image;
        image.n_tokens = seen.n_tokens();
        image.picture = seen.picture;
        if (!seen.gram.empty()) {
            image.gram = {seen.gram.data(), seen.n_tokens(), seen.n_tokens()};
        } else if (run != nullptr && needs_cosines(plan, run->program())) {
            const std::size_t width = seen.values.size() / seen.n_tokens();
            image.features = {seen.values.data(), seen.n_tokens(), width, width};
        }
        image.grid = method_grid(seen.plan.layout);
        image.has_lines = seen.plan.layout.n_fixed > 0 || seen.plan.arrangement.size() > 1;
        image.places = seen.places;
        image.masses = seen.masses;
        if (request.split_time == "even") image.step_ends = step_ends(seen.plan.layout);
        images.push_back(image);
    }
    return {std::move(options), images, &pool};
}

GenerateOptions generate_options(const AskRequest& request) {
    GenerateOptions options;
    options.max_tokens = static_cast<std::int32_t>(request.generation.max_tokens);
    options.sampling.temperature = static_cast<float>(request.generation.temperature);
    options.sampling.top_p = static_cast<float>(request.generation.top_p);
    options.sampling.top_k = request.generation.top_k;
    options.sampling.min_p = static_cast<float>(request.generation.min_p);
    options.sampling.frequency_penalty = static_cast<float>(request.generation.frequency_penalty);
    options.sampling.presence_penalty = static_cast<float>(request.generation.presence_penalty);
    options.sampling.repeat_penalty = static_cast<float>(request.generation.repeat_penalty);
    options.sampling.seed = request.generation.seed;
    options.sampling.token_bias = request.generation.token_bias;
    options.sampling.grammar = request.generation.grammar;
    options.stop = request.generation.stop;
    options.keeps_space = request.generation.keeps_space || request.is_raw || !request.answer_begin.empty();
    options.ignores_end = request.generation.ignores_end;
    options.n_likely = request.generation.n_likely;
    options.on_text = request.on_text;
    options.on_token = request.on_token;
    options.cancel = request.cancel;
    return options;
}

// Everything of an answer that is known before generation.
Answer describe(const AskPlan& ask, const VisualInput& visual, const PrefillResult& prefill) {
    const RequestPlan& plan = ask.plan;
    const StartedMethod& started = ask.started;
    Answer answer;
    answer.chosen_class = plan.chosen_class;
    answer.mix = plan.mix;
    answer.split = plan.split;
    answer.tokens = count_tokens(prefill, ask.shape);
    for (const SeenImage& seen : visual.images) {
        answer.layouts.push_back(seen.plan.layout);
        if (ask.request.want_pictures) answer.pictures.push_back(seen.image);
    }
    for (std::size_t i = 0; i < ask.pictures.size(); ++i) {
        if (ask.pictures[i].clip == nullptr) continue;
        const video::Clip& clip = *ask.pictures[i].clip;
        const video::Sample& sample = ask.pictures[i].sample;
        const std::size_t n_frames = clip.seconds().size();
        // Pictures that are frames were taken at the rate that the request says.
        const bool is_pictures = clip.format() == video::ClipFormat::Frames;
        const double fps = is_pictures ? ask.request.clip.fps.value_or(clip.fps()) : clip.fps();
        answer.clips.push_back({.image = i,
                                .frames = sample.frames,
                                .seconds = sample.seconds,
                                .n_frames = n_frames,
                                .duration_s = static_cast<double>(n_frames) / fps,
                                .fps = fps,
                                .pictures = visual.images[i].frames});
    }
    answer.kv_bytes = prefill.kv_bytes;
    answer.policy_name = ask.policy.name;
    answer.policy_hash = policy_hash(ask.policy);
    answer.method = answer.label = "none";
    answer.budget = started.budget;
    if (started.run != nullptr) {
        answer.method = plan.method->name;
        answer.mass = plan.mass;
        answer.label =
            methods::method_label(*plan.method, ask.request.method_options, plan.mass == MassRule::Nearest);
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

bool is_stopped(const AskRequest& request) {
    return request.cancel != nullptr && request.cancel->load(std::memory_order_relaxed);
}

}  // namespace

Result<std::unique_ptr<Lane>> Lane::open(const EngineState& state) {
    CLASP_ASSIGN_OR_RETURN(auto executor, state.executors.take());
    return std::unique_ptr<Lane>(new Lane(std::move(executor)));
}

AskRun::AskRun(const EngineState& state, std::unique_ptr<AskPlan> plan, base::Stopwatch since)
    : state_(state), plan_(std::move(plan)), watch_(since) {}

Status AskRun::see(Lane& lane, const std::function<bool()>& pause) {
    CLASP_CHECK(phase_ == Phase::See);
    std::optional<model::PauseScope> pauses;
    if (pause) pauses.emplace(pause);
    work_.emplace(*state_.compute);
    const AskRequest& request = plan_->request;
    if (request.history_mode != HistoryMode::Reselect) {
        CLASP_RETURN_IF_ERROR(look_back(lane));
        if (phase_ != Phase::See) return ok_status();
    }
    if (!plan_->pictures.empty()) {
        methods::MethodRun* run = plan_->started.run.get();
        VisualRequest seeing =
            visual_request(request, plan_->policy, plan_->plan, plan_->shape, run, state_.pool);
        CLASP_ASSIGN_OR_RETURN(const std::vector<float> words,
                               embed_words(run, plan_->prompt, lane.executor()));
        const auto width = static_cast<std::size_t>(state_.text->config().width);
        seeing.text = {words.data(), words.size() / width, width, width};
        CLASP_ASSIGN_OR_RETURN(const auto vision, state_.vision_sessions.take());
        std::optional<PhaseReport> encoding;
        if (request.on_progress) {
            encoding.emplace(request.on_progress, Progress::Phase::Encode,
                             static_cast<double>(plan_->pictures.size()));
            seeing.on_images = [&encoding](double n_done) { encoding->at(n_done); };
        }
        CLASP_ASSIGN_OR_RETURN(visual_,
                               prepare_images(plan_->pictures, seeing, *vision, state_.memory.get()));
    }
    return begin_reading(lane);
}

Status AskRun::begin_reading(Lane& lane) {
    const AskRequest& request = plan_->request;
    methods::MethodRun* run = plan_->started.run.get();
    chooser_.emplace(
        make_chooser(request, plan_->policy, plan_->plan, visual_, state_.text->config(), run, state_.pool));
    CLASP_ASSIGN_OR_RETURN(input_, lay_out_decoder(plan_->prompt, visual_, state_.vision.get(), run,
                                                   plan_->policy.reference_tokens, lane.executor()));
    PrefillRequest reading = input_.request();
    reading.positions = plan_->positions;
    reading.selector = [this](const StageView& view) { return choose(view); };
    reading.starts = state_.starts();
    if (reading.starts != nullptr && !request.cache_scope.empty())
        reading.starts = &starts_.emplace(*reading.starts, request.cache_scope);
    reading.room = room_for(generate_options(request).max_tokens);
    reading.cancel = request.cancel;
    if (request.on_progress) {
        reading.on_layers = [this](double layers) { prefilling_->at(work_until(plan_->work, layers)); };
    }
    CLASP_ASSIGN_OR_RETURN(sequence_, Sequence::create(state_.text));
    CLASP_ASSIGN_OR_RETURN(reading_, lane.executor().start(*sequence_, reading));
    if (request.on_reused) request.on_reused(reading_->n_known());
    if (request.on_progress)
        prefilling_.emplace(request.on_progress, Progress::Phase::Prefill, plan_->work.back());
    phase_ = Phase::Read;
    return ok_status();
}

Result<StageChoice> AskRun::choose(const StageView& view) {
    Result<StageChoice> choice = chooser_->choose(view);
    if (choice.ok() && !turn_key_.empty()) {
        const std::size_t n_pivots = chooser_->reports().back().pivots.size();
        kept_.push_back({choice->kept, n_pivots > 0 ? n_pivots : choice->kept.size()});
    }
    return choice;
}

Status AskRun::read(Lane& lane, std::size_t n_layers) {
    CLASP_CHECK(phase_ == Phase::Read);
    if (choice_ != nullptr) return read_on(lane, n_layers);
    CLASP_RETURN_IF_ERROR(reading_->advance(n_layers));
    return reading_->is_done() ? begin_writing() : ok_status();
}

Status AskRun::begin_writing() {
    PrefillResult prefill = reading_->take_result();
    reading_.reset();
    if (prefilling_) prefilling_->finish();
    answer_ = describe(*plan_, visual_, prefill);
    std::vector<std::string> notes = plan_->notes;
    notes.insert(notes.end(), visual_.notes.begin(), visual_.notes.end());
    const std::string missed = missed_budget(plan_->request, plan_->plan, plan_->started.budget,
                                             plan_->shape.n_visual(), mean(prefill.visual_per_layer));
    if (!missed.empty()) notes.push_back(missed);
    answer_.positions = plan_->positions == PositionMode::Keep ? "keep" : "compact";
    answer_.stages = visual_.reports;
    answer_.stages.insert(answer_.stages.end(), chooser_->reports().begin(), chooser_->reports().end());
    if (!turn_key_.empty()) {
        described_ = answer_;
        described_.timings = {};
        described_.pictures.clear();
    }
    answer_.notes = std::move(notes);
    history_.n_tokens = prefill.n_prefix_found;
    history_.n_front_tokens = prefill.n_front_found;
    front_ = prefill.front;
    if (visual_.n_looked_up > 0) answer_.cache_hit = visual_.n_found == visual_.n_looked_up;
    return write_after(std::move(prefill.logits));
}

Status AskRun::write_after(std::vector<float> logits) {
    answer_.history = history_;
    answer_.timings.prefill_ms += look_back_ms_;
    answer_.notes.insert(answer_.notes.end(), history_notes_.begin(), history_notes_.end());
    before_writing_ms_ = watch_.elapsed_ms();
    for (AskRequest& other : others_) {
        CLASP_ASSIGN_OR_RETURN(auto run, twin(std::move(other), logits));
        twins_.push_back(std::move(run));
    }
    CLASP_ASSIGN_OR_RETURN(writing_, Generation::start(*sequence_, generate_options(plan_->request)));
    phase_ = Phase::Write;
    take_logits(logits);
    if (plan_->request.want_logits) answer_.logits = std::move(logits);
    return ok_status();
}

Result<std::unique_ptr<AskRun>> AskRun::twin(AskRequest request, std::span<const float> logits) const {
    auto plan = std::make_unique<AskPlan>();
    plan->request = std::move(request);
    plan->shape = plan_->shape;
    auto run = std::make_unique<AskRun>(state_, std::move(plan), watch_);
    run->is_twin_ = true;
    run->work_.emplace(*state_.compute);
    run->answer_ = answer_;
    run->before_writing_ms_ = before_writing_ms_;
    CLASP_ASSIGN_OR_RETURN(run->sequence_, sequence_->fork());
    CLASP_ASSIGN_OR_RETURN(run->writing_,
                           Generation::start(*run->sequence_, generate_options(run->plan_->request)));
    run->phase_ = Phase::Write;
    run->take_logits(logits);
    return run;
}

void AskRun::take_logits(std::span<const float> logits) {
    next_token_ = writing_->take(logits);
    if (!next_token_) finish();
}

Status AskRun::write(Lane& lane, std::span<AskRun* const> runs, const std::atomic<bool>* cancel) {
    std::vector<AskRun*> going;
    std::vector<NextToken> batch;
    for (AskRun* run : runs) {
        CLASP_CHECK(run->phase_ == Phase::Write);
        if (is_stopped(run->plan_->request)) {
            run->writing_->stop(Stopped::Cancelled);
            run->finish();
            continue;
        }
        going.push_back(run);
        batch.push_back({&*run->sequence_, *run->next_token_});
    }
    if (going.empty()) return ok_status();
    const auto logits = lane.executor().step(batch, cancel);
    if (!logits.ok() && logits.status().code() == Code::Cancelled) {
        for (AskRun* run : going) {
            if (!is_stopped(run->plan_->request)) continue;
            run->writing_->stop(Stopped::Cancelled);
            run->finish();
        }
        return ok_status();
    }
    if (!logits.ok()) return logits.status();
    for (std::size_t i = 0; i < going.size(); ++i) going[i]->take_logits((*logits)[i]);
    return ok_status();
}

void AskRun::finish() {
    GenerateResult generated = writing_->finish();
    answer_.text = std::move(generated.text);
    answer_.generated = generated.tokens.size();
    answer_.stopped = generated.reason;
    answer_.stop_text = std::move(generated.stop_text);
    answer_.written = std::move(generated.written);
    // An answer that ends at once has no first token; then it is the time until that was known.
    answer_.timings.first_token_ms =
        before_writing_ms_ + (generated.tokens.empty() ? generated.decode_ms : generated.first_token_ms);
    answer_.timings.decode_ms = generated.decode_ms;
    answer_.timings.total_ms = watch_.elapsed_ms();
    if (!is_twin_) learn_times();
    if (!turn_key_.empty()) keep_turn();
    sequence_.reset();
    work_.reset();
    phase_ = Phase::Done;
}

void AskRun::learn_times() {
    const AskTimings& times = answer_.timings;
    const double n_computed = tokens_computed(answer_, state_.info.n_layers);
    if (choice_ == nullptr) state_.timing.learn_reading(n_computed, times.prefill_ms);
    if (answer_.cache_hit != true && !plan_->pictures.empty()) {
        state_.timing.learn_encoding(times.encode_ms / static_cast<double>(plan_->pictures.size()));
    }
    const auto figures = state_.timing.figures();
    if (plan_->pictures.empty() || !figures) return;
    if (answer_.method == "none" && choice_ == nullptr) {
        answer_.unpruned = UnprunedTime{times.first_token_ms, true};
        return;
    }
    const double rest = times.first_token_ms - times.prefill_ms - times.gram_ms - times.select_ms;
    const auto n_tokens = static_cast<double>(plan_->n_prompt());
    answer_.unpruned = UnprunedTime{std::max(0.0, rest) + figures->reading(n_tokens), false};
}

void learn_decoder_times(const EngineState& state, Lane& lane) {
    if (!state.decoder_times->is_due()) return;
    const model::Compute::Work work(*state.compute);
    state.decoder_times->measure(state.text, decoder_shape(state.text->config()), lane.executor());
}

Answer AskRun::take_answer() {
    CLASP_CHECK(phase_ == Phase::Done);
    return std::move(answer_);
}

}  // namespace clasp::engine
