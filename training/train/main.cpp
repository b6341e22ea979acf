// clasp-train: trains the embedded model phase by phase and resumes where it stopped.
#include <cblas.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "gguf/export_model.h"
#include "gguf/import_model.h"
#include "model/take_over.h"
#include "nn/muon.h"
#include "train/batch.h"
#include "train/checkpoint.h"
#include "train/log.h"
#include "train/recipe.h"

namespace clasp::training {
namespace {

constexpr std::uint64_t kTrainSeed = 20240;
constexpr float kClip = 1.0F;         // largest norm of the gradient
constexpr float kMuonFactor = 10.0F;  // Muon learns this much faster than AdamW by its own measure
constexpr int kLogEvery = 20;
constexpr double kSaveEverySeconds = 60;

struct Options {
    std::string recipe = "training/recipe.txt";
    std::string folder;
    int threads = 1;
    std::string from;               // an exported pair to start with
    std::string name = kStillName;  // of that pair
    std::string after;              // the phase that made it; empty: the recipe's first is to come
    std::uint64_t pictures = 0;     // pictures it has seen
};

volatile std::sig_atomic_t stop_requested = 0;

void request_stop(int) {
    stop_requested = 1;
}

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string default_folder() {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    const char* home = std::getenv("HOME");
    const std::string base =
        cache != nullptr && *cache != '\0' ? cache : std::string(home != nullptr ? home : ".") + "/.cache";
    return base + "/clasp/training";
}

class Trainer {
   public:
    Trainer(Checkpoint start, std::string folder, int threads)
        : threads_(threads),
          state_(std::move(start.state)),
          vocabulary_(std::move(start.vocabulary)),
          model_(std::move(start.model)),
          folder_(std::move(folder)),
          log_(folder_ + "/log.jsonl", state_) {}

    // Works through the recipe from the phase it stopped in. The file is read again before every phase,
    // so that a long run can be steered by editing the phases to come.
    Status run(const std::string& recipe) {
        for (;;) {
            CLASP_ASSIGN_OR_RETURN(const std::vector<Phase> phases, read_recipe(recipe));
            auto phase = phases.begin();
            if (!state_.phase.empty()) {
                phase = std::ranges::find(phases, state_.phase, &Phase::name);
                if (phase == phases.end())
                    return {Code::NotFound,
                            "the recipe has no phase '" + state_.phase + "' to continue with"};
                if (state_.phase_step >= phase->steps) {
                    ++phase;
                    state_.phase_step = 0;
                }
            }
            if (phase == phases.end()) return {};
            state_.phase = phase->name;
            CLASP_RETURN_IF_ERROR(run_phase(*phase));
            if (stop_requested != 0) return {};
        }
    }

   private:
    Status save() { return save_checkpoint(folder_ + "/last.ckpt", state_, vocabulary_, *model_); }

    void fit_depth(const Phase& phase) {
        const ModelShape& old = model_->shape();
        ModelShape shape = old;
        shape.vision_blocks = phase.vision_blocks;
        shape.decoder_blocks = phase.decoder_blocks;
        if (phase.frames > 1) {
            shape.frames = phase.frames;
            shape.grid = phase.side;
        }
        if (shape == old) return;
        auto changed = std::make_unique<Model>(shape);
        if (shape.frames == old.frames)
            grow(*model_, *changed);
        else
            take_over(*model_, *changed);
        model_ = std::move(changed);
    }

    Status run_phase(const Phase& phase) {
        fit_depth(phase);
        double saved = now();
        while (state_.phase_step < phase.steps) {
            const double start = now();
            const float rate = learning_rate(phase, state_.phase_step);
            const float norm = update(phase, rate);
            state_.seconds += now() - start;
            if (!std::isfinite(norm))
                return {Code::Internal, "the gradient is not finite; the last save is good"};
            if (state_.step % kLogEvery == 0) log_.write(state_, phase, rate, norm);
            if (stop_requested != 0) return save();
            if (now() - saved > kSaveEverySeconds) {
                CLASP_RETURN_IF_ERROR(save());
                saved = now();
            }
        }
        CLASP_RETURN_IF_ERROR(save());
        std::error_code ignored;
        std::filesystem::copy_file(folder_ + "/last.ckpt", folder_ + "/" + phase.name + ".ckpt",
                                   std::filesystem::copy_options::overwrite_existing, ignored);
        return {};
    }

    // One optimiser step over phase.batch pictures; returns the gradient's norm.
    float update(const Phase& phase, float rate) {
        const auto parts = static_cast<std::size_t>(phase.batch / phase.micro);
        parts_.resize(parts);
        fit_helpers();
        const std::uint64_t first = state_.pictures;
        in_parallel([&](std::size_t i, Model&) {
            make_batch(plan_of(phase, first + i * static_cast<std::uint64_t>(phase.micro)), vocabulary_,
                       parts_[i].batch);
        });
        state_.pictures += parts * static_cast<std::uint64_t>(phase.micro);
        const Model::Weights weights = weights_of(phase);
        model_->store().zero_grads();
        in_parallel([&](std::size_t i, Model& model) {
            Part& part = parts_[i];
            part.aux = {};
            part.answers = {};
            model.run(part.batch.pictures, part.batch.targets, part.batch.text, weights, part.aux,
                      part.answers);
        });
        std::vector<float>& sum = model_->store().grads();
        for (const auto& helper : helpers_)
            std::ranges::transform(sum, helper->store().grads(), sum.begin(), std::plus<>());
        for (const Part& part : parts_) log_.add(part.batch, part.aux, part.answers);
        ++state_.step;
        ++state_.phase_step;
        if (phase.heads_only != 0) forget_all_but_heads();
        return apply_gradient(rate);
    }

    // What has no gradient is not updated.
    void forget_all_but_heads() {
        ParamStore& store = model_->store();
        for (ParamId id = 0; id < store.params().size(); ++id)
            if (!is_auxiliary(store.info(id))) store.zero_grad(id);
    }

    static BatchPlan plan_of(const Phase& phase, std::uint64_t first_index) {
        BatchPlan plan;
        plan.seed = kTrainSeed;
        plan.first_index = first_index;
        plan.pictures = phase.micro;
        plan.side = phase.side;
        plan.questions = phase.questions;
        plan.chained_share = phase.chained;
        plan.stray_share = phase.strays;
        plan.newline_share = phase.newline;
        plan.probes = phase.probes;
        plan.counts = phase.counts;
        plan.sides = phase.sides;
        plan.class_weights = phase.class_weights;
        plan.frames = phase.frames;
        plan.form_weights = phase.form_weights;
        return plan;
    }

    // The share of one item of each kind in the whole batch's loss.
    Model::Weights weights_of(const Phase& phase) const {
        std::size_t answer_tokens = 0;
        std::size_t mentions = 0;
        std::size_t early_mentions = 0;
        std::size_t relations = 0;
        for (const Part& part : parts_) {
            answer_tokens += part.batch.text.targets.size();
            mentions += part.batch.text.mentions.size();
            early_mentions += part.batch.text.early_mentions.size();
            relations += part.batch.text.relations.size();
        }
        Model::Weights weights;
        weights.tower = phase.tower != 0;
        weights.aux = phase.aux / static_cast<float>(parts_.size());
        if (phase.questions > 0) weights.answer_token = 1.0F / static_cast<float>(answer_tokens);
        if (mentions > 0) weights.mention = phase.mention / static_cast<float>(mentions);
        if (early_mentions > 0) weights.early_mention = phase.early / static_cast<float>(early_mentions);
        if (relations > 0) weights.relation = phase.relation / static_cast<float>(relations);
        return weights;
    }

    // Gives every further thread a model with the current weights and no gradient.
    void fit_helpers() {
        const bool fits = !helpers_.empty() && helpers_[0]->shape() == model_->shape();
        if (!fits) helpers_.clear();
        while (std::ssize(helpers_) < threads_ - 1)
            helpers_.push_back(std::make_unique<Model>(model_->shape()));
        for (const auto& helper : helpers_) {
            helper->store().values() = model_->store().values();
            helper->store().zero_grads();
        }
    }

    // Calls work(i, model) for every part; part i belongs to thread i mod threads, so that the order in which
    // gradients are added does not depend on timing.
    template <class Work>
    void in_parallel(const Work& work) {
        const std::size_t stride = helpers_.size() + 1;
        const auto run_share = [&](std::size_t start, Model& model) {
            for (std::size_t i = start; i < parts_.size(); i += stride) work(i, model);
        };
        std::vector<std::jthread> threads;
        for (std::size_t t = 1; t < stride; ++t)
            threads.emplace_back([&run_share, t, model = helpers_[t - 1].get()] { run_share(t, *model); });
        run_share(0, *model_);
    }

    float apply_gradient(float rate) {
        ParamStore& store = model_->store();
        const float norm = gradient_norm(store);
        const float scale = norm > kClip ? kClip / norm : 1.0F;
        if (!std::isfinite(norm)) return norm;
        AdamW adamw;
        adamw.rate = rate;
        adamw_update(store, adamw, scale, state_.step);
        Muon muon;
        muon.rate = kMuonFactor * rate;
        for (ParamId id = 0; id < store.params().size(); ++id)
            if (store.info(id).parts > 0 && has_gradient(store, id))
                muon_update(store, id, muon, scale, workspace_);
        return norm;
    }

    // What one forward and backward pass works on.
    struct Part {
        Batch batch;
        AuxScores aux;
        AnswerScores answers;
    };

    int threads_;
    RunState state_;
    Vocabulary vocabulary_;
    std::unique_ptr<Model> model_;
    std::vector<std::unique_ptr<Model>> helpers_;  // of the threads after the first
    std::string folder_;
    TrainingLog log_;
    std::vector<Part> parts_;
    MuonWorkspace workspace_;
};

int usage(const char* problem) {
    std::fprintf(
        stderr,
        "clasp-train: %s\nusage: clasp-train [--recipe FILE] [--dir FOLDER] "
        "[--threads N] [--from FOLDER [--name NAME] [--after PHASE] [--pictures N]]\n"
        "  --from  an exported pair of GGUF files (clasp-tiny, or NAME) to begin with in a --dir without\n"
        "          checkpoints: after this phase of the recipe, with the picture that follows so many\n",
        problem);
    return 2;
}

int fail(const Status& status) {
    std::fprintf(stderr, "clasp-train: %s\n", status.message().c_str());
    return 1;
}

// Where to go on: the last checkpoint, or else the exported files, or else nothing learned yet.
Result<Checkpoint> first_state(const Options& options, const std::vector<Phase>& phases) {
    const std::string last = options.folder + "/last.ckpt";
    const bool has_checkpoint = std::filesystem::exists(last);
    if (has_checkpoint && !options.from.empty())
        return Status(Code::InvalidArgument, options.folder +
                                                 " has a checkpoint already, so --from cannot apply; "
                                                 "leave it out to go on, or name another --dir");
    if (has_checkpoint) return load_checkpoint(last);
    Checkpoint start;
    if (!options.from.empty()) {
        const auto phase = std::ranges::find(phases, options.after, &Phase::name);
        if (!options.after.empty() && phase == phases.end())
            return Status(Code::NotFound, "the recipe has no phase '" + options.after + "'");
        CLASP_ASSIGN_OR_RETURN(ImportedModel imported, import_model(options.from, options.name));
        start.vocabulary = std::move(imported.vocabulary);
        start.model = std::move(imported.model);
        start.state.phase = options.after;
        start.state.phase_step = options.after.empty() ? 0 : phase->steps;
        start.state.pictures = options.pictures;
        return start;
    }
    start.vocabulary = scene_vocabulary();
    ModelShape shape;
    shape.vocabulary = start.vocabulary.size();
    shape.vision_blocks = phases.front().vision_blocks;
    shape.decoder_blocks = phases.front().decoder_blocks;
    start.model = std::make_unique<Model>(shape);
    return start;
}

int run(int argc, char** argv) {
    Options options;
    options.folder = default_folder();
    for (int i = 1; i < argc; i += 2) {
        const std::string key = argv[i];
        if (i + 1 >= argc) return usage(("no value for " + key).c_str());
        if (key == "--recipe")
            options.recipe = argv[i + 1];
        else if (key == "--dir")
            options.folder = argv[i + 1];
        else if (key == "--threads")
            options.threads = std::atoi(argv[i + 1]);
        else if (key == "--from")
            options.from = argv[i + 1];
        else if (key == "--name")
            options.name = argv[i + 1];
        else if (key == "--after")
            options.after = argv[i + 1];
        else if (key == "--pictures")
            options.pictures = std::strtoull(argv[i + 1], nullptr, 10);
        else
            return usage(("unknown option " + key).c_str());
    }
    if (options.threads < 1) return usage("--threads must be a positive number");
    if (options.from.empty() && !options.after.empty()) return usage("--after needs --from");
    openblas_set_num_threads(1);  // threads share a batch, not a product
    std::error_code error;
    std::filesystem::create_directories(options.folder, error);
    if (error) return fail({Code::Unavailable, "cannot make the folder " + options.folder});

    auto phases = read_recipe(options.recipe);
    if (!phases) return fail(phases.status());
    if (phases->empty()) return fail({Code::Corrupt, "the recipe " + options.recipe + " has no phase"});
    auto start = first_state(options, *phases);
    if (!start) return fail(start.status());
    // An interrupted run ends after the current update and saves it.
    std::signal(SIGINT, request_stop);
    std::signal(SIGTERM, request_stop);
    const Status status =
        Trainer(std::move(start).value(), options.folder, options.threads).run(options.recipe);
    return status.ok() ? 0 : fail(status);
}

}  // namespace
}  // namespace clasp::training

int main(int argc, char** argv) {
    return clasp::training::run(argc, argv);
}
