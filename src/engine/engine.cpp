#include "clasp/engine.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <limits>
#include <optional>
#include <sstream>
#include <system_error>

#include "base/cache_files.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "clasp/version.h"
#include "engine/ask_run.h"
#include "engine/default_policy.h"
#include "engine/engine_state.h"
#include "engine/file_identity.h"
#include "engine/memory_check.h"
#include "engine/model_info.h"
#include "engine/pair_check.h"
#include "engine/progress.h"
#include "engine/stop_flag.h"
#include "model/kernel_set.h"
#include "model/text_model.h"
#include "model/vision_model.h"

namespace clasp {

using engine::AskRun;
using engine::PhaseReport;

namespace {

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

// A folder that is named keeps models of any size.
model::PackedFolder packed_folder(const std::string& word) {
    if (word == "none") return {};
    if (word == "auto") return {.path = base::usual_cache_folder("packed")};
    return {.path = word, .min_bytes = 0};
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
    CLASP_ASSIGN_OR_RETURN(models.text, model::TextModel::load(options.model, compute,
                                                               {.kernels = kernels,
                                                                .packed = packed_folder(options.packed),
                                                                .watch = &watch,
                                                                .log = options.log}));
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

// One request by itself.
Result<Answer> answer_request(const engine::EngineState& state, const AskRequest& request) {
    const model::Compute::Work work(*state.compute);
    const base::Stopwatch watch;
    CLASP_ASSIGN_OR_RETURN(auto plan, engine::plan_ask(state, request));
    AskRun run(state, std::move(plan), watch);
    CLASP_ASSIGN_OR_RETURN(const auto lane, engine::Lane::open(state));
    CLASP_RETURN_IF_ERROR(run.see(*lane));
    CLASP_RETURN_IF_ERROR(run.read(*lane, std::numeric_limits<std::size_t>::max()));
    AskRun* const alone = &run;
    while (run.phase() == AskRun::Phase::Write) {
        CLASP_RETURN_IF_ERROR(AskRun::write(*lane, std::span(&alone, 1), request.cancel));
    }
    engine::learn_decoder_times(state, *lane);
    return run.take_answer();
}

// Beside what else is kept of the model, where that is; times of small models are found out in no time. They
// depend on the shape of the blocks, the type of their weights (which the file's size tells), and what they
// run on.
engine::TimesPlace times_place(const EngineOptions& options, const model::TextConfig& config,
                               const model::Compute& compute) {
    engine::TimesPlace place = {.folder = options.cache_dir};
    const double n_bytes = file_bytes(options.model);
    if (place.folder.empty()) {
        const model::PackedFolder packed = packed_folder(options.packed);
        if (n_bytes >= static_cast<double>(packed.min_bytes)) place.folder = packed.path;
    }
    std::array<char, 256> machine = {};
    if (gethostname(machine.data(), machine.size() - 1) != 0) machine = {};
    std::ostringstream conditions;
    conditions << "version " CLASP_VERSION_STRING " on " << machine.data() << ", "
               << model::kernel_set_name(model::fastest_kernels()) << ", kernels " << options.kernels
               << (compute.has_gpu() ? ", with a GPU, " : ", ") << compute.n_threads() << " threads; "
               << static_cast<std::uint64_t>(n_bytes) << " bytes";
    for (const auto n : {config.n_layers, config.width, config.ffn_width, config.n_heads, config.n_kv_heads,
                         config.head_width}) {
        conditions << ", " << n;
    }
    place.conditions = conditions.str();
    return place;
}

// When the request has to end; nothing: whenever it does.
Result<std::optional<engine::StopFlag::Clock::time_point>> deadline_of(const AskRequest& request) {
    using Clock = engine::StopFlag::Clock;
    std::optional<Clock::time_point> deadline = request.deadline;
    if (!request.max_seconds) return deadline;
    const double seconds = *request.max_seconds;
    if (!(seconds >= 0.0 && seconds <= kMaxSeconds)) {
        return Status(Code::InvalidArgument, "max_seconds is " + base::format_exact(seconds) +
                                                 "; an answer may take 0 to " +
                                                 base::format_exact(kMaxSeconds) + " seconds");
    }
    const auto end =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    if (!deadline || end < *deadline) deadline = end;
    return deadline;
}

}  // namespace

Engine::Engine(std::unique_ptr<engine::EngineState> state) : state_(std::move(state)) {}
Engine::~Engine() = default;

const ModelInfo& Engine::info() const {
    return state_->info;
}

const Policy& Engine::policy() const {
    return state_->usual.policy;
}

Status Engine::finish_keeping(const ProgressSink& on_progress, const std::atomic<bool>* cancel) const {
    model::RepackedWeights* const repacked = state_->text->repacked();
    if (repacked == nullptr) return ok_status();
    std::optional<PhaseReport> report;
    const auto n_bytes = static_cast<double>(repacked->bytes());
    model::LoadWatch watch;
    watch.cancel = cancel;
    watch.on_progress = [&](double share) {
        if (!on_progress) return;
        if (!report) report.emplace(on_progress, Progress::Phase::Keep, n_bytes);
        report->at(share * n_bytes);
    };
    CLASP_RETURN_IF_ERROR(repacked->wait_until_kept(watch));
    if (report) report->finish();
    return ok_status();
}

const engine::EngineState& Engine::state() const {
    return *state_;
}

Result<std::unique_ptr<Engine>> Engine::load(const EngineOptions& options) {
    const model::LibraryLog library_log(options.log);
    auto state = std::make_unique<engine::EngineState>(options);
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
        state->usual,
        engine::default_policy(options.model, state->vision ? &state->vision->info() : nullptr));
    if (state->vision && (options.cached_images > 0 || !options.cache_dir.empty())) {
        // Only files of a cache outlive this engine; what stays in memory belongs to this model anyway.
        std::string vision_id;
        if (!options.cache_dir.empty())
            vision_id = engine::content_identity(models.vision_file.bytes(), &state->pool);
        vision_id += model::vision_weights_name(state->vision->weights());
        state->memory = std::make_unique<engine::VisionMemory>(
            std::move(vision_id), options.cached_images, options.cache_dir, options.several_methods,
            options.log, options.cached_image_bytes, options.cache_bytes);
    }
    if (options.history_bytes > 0) {
        state->prompts = std::make_unique<engine::PromptMemory>(options.history_bytes);
    }
    if (!options.cache_dir.empty()) {
        CLASP_ASSIGN_OR_RETURN(std::string text_id, engine::file_stamp(options.model));
        text_id += " " + options.kernels + " " CLASP_VERSION_STRING;
        state->start_folder = std::make_unique<engine::StartFolder>(
            options.cache_dir, std::move(text_id), state->prompts.get(), options.log, options.cache_bytes);
    }
    state->decoder_times = std::make_unique<engine::DecoderTimes>(
        times_place(options, state->text->config(), *state->compute), options.log);
    return std::unique_ptr<Engine>(new Engine(std::move(state)));
}

Result<Answer> Engine::ask(const AskRequest& request) const {
    CLASP_ASSIGN_OR_RETURN(const auto deadline, deadline_of(request));
    const engine::StopFlag stop(request.cancel, deadline);
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

}  // namespace clasp
