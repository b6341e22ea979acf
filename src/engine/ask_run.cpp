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
    for (const methods::DecoderStage& stage : program.stages) {
        seeing.want_gram = seeing.want_gram || stage.needs.gram || plan.mass == MassRule::Nearest;
    }
    std::vector<std::size_t> tokens;
    for (const ImageLayout& image : shape.images) tokens.push_back(image.n_tokens());
    seeing.keep = share_in_proportion(std::min(program.entering, shape.n_visual()), tokens, tokens);
    return seeing;
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
        if (!seen.gram.empty()) image.gram = {seen.gram.data(), seen.n_tokens(), seen.n_tokens()};
        image.grid = method_grid(seen.plan.layout);
        image.has_lines = seen.plan.layout.n_fixed > 0 || seen.plan.arrangement.size() > 1;
        image.places = seen.places;
        image.masses = seen.masses;
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
    options.stop = request.generation.stop;
    options.on_text = request.on_text;
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

Status AskRun::see(Lane& lane) {
    CLASP_CHECK(phase_ == Phase::See);
    work_.emplace(*state_.compute);
    const AskRequest& request = plan_->request;
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
    reading.selector = [this](const StageView& view) { return chooser_->choose(view); };
    reading.room = room_for(generate_options(request).max_tokens);
    reading.cancel = request.cancel;
    if (request.on_progress) {
        prefilling_.emplace(request.on_progress, Progress::Phase::Prefill, plan_->work.back());
        reading.on_layers = [this](double layers) { prefilling_->at(work_until(plan_->work, layers)); };
    }
    CLASP_ASSIGN_OR_RETURN(sequence_, Sequence::create(state_.text));
    CLASP_ASSIGN_OR_RETURN(reading_, lane.executor().start(*sequence_, reading));
    phase_ = Phase::Read;
    return ok_status();
}

Status AskRun::read(Lane& lane, std::size_t n_layers) {
    CLASP_CHECK(phase_ == Phase::Read);
    static_cast<void>(lane);  // the run under way computes with its workspace
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
    answer_.notes = std::move(notes);
    if (visual_.n_looked_up > 0) answer_.cache_hit = visual_.n_found == visual_.n_looked_up;
    before_writing_ms_ = watch_.elapsed_ms();
    CLASP_ASSIGN_OR_RETURN(writing_, Generation::start(*sequence_, generate_options(plan_->request)));
    phase_ = Phase::Write;
    take_logits(prefill.logits);
    if (plan_->request.want_logits) answer_.logits = std::move(prefill.logits);
    return ok_status();
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
    // An answer that ends at once has no first token; then it is the time until that was known.
    answer_.timings.first_token_ms =
        before_writing_ms_ + (generated.tokens.empty() ? generated.decode_ms : generated.first_token_ms);
    answer_.timings.decode_ms = generated.decode_ms;
    answer_.timings.total_ms = watch_.elapsed_ms();
    sequence_->clear();
    work_.reset();
    phase_ = Phase::Done;
}

Answer AskRun::take_answer() {
    CLASP_CHECK(phase_ == Phase::Done);
    return std::move(answer_);
}

}  // namespace clasp::engine
