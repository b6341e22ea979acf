// The engine: a vision-language model from two GGUF files that answers questions about images while
// keeping only the visual tokens the question needs.
//
//     auto engine = clasp::Engine::load({.model = "llava.gguf", .mmproj = "mmproj.gguf"});
//     clasp::AskRequest request;
//     request.images = {{.path = "photo.jpg"}};
//     request.question = "How many cups are on the table?";
//     auto answer = (*engine)->ask(request);
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/fuse.h"
#include "clasp/log.h"
#include "clasp/policy.h"
#include "clasp/route.h"
#include "clasp/schedule.h"
#include "clasp/select.h"
#include "clasp/status.h"

namespace clasp {

// Whose numbers are wanted: the original model's, or those of llama.cpp, which runs LLaVA differently
// (docs/design/faithful-llava.md). The second exists for side-by-side tests.
enum class Numbers : std::uint8_t { Original, LlamaCpp };

// ---- Loading ----

struct EngineOptions {
    std::string model = {};   // text GGUF
    std::string mmproj = {};  // vision GGUF
    // How the vision tower's matrices are kept: "auto" (i16 where that is fast, else file), "file" (as
    // stored; needed for llama.cpp's numbers to the bit), "i16" (16-bit integers, about as exact as f16 and
    // faster, CPU only), "f32", "f16", "bf16", "q8_0", "q4_0".
    std::string vision_weights = "auto";
    std::size_t n_threads = 0;  // 0: one per hardware thread
    bool use_gpu = true;        // if ggml was built with one
    // Images whose vision layers stay in memory, so that another question need not encode again.
    std::size_t cached_images = 1;
    // A folder where they stay between runs; empty: none. It must exist.
    std::string cache_dir = {};
    // Requests take turns with several methods on many images: whatever any request has needed of the encoder
    // so far is computed for every new image, so that each is encoded once.
    bool several_methods = false;
    // Who names the class of a question that comes without one. Its classes must be the policy's, by name.
    RouterOptions router = {};
    LogSink log = {};
};

struct ModelInfo {
    std::string name;          // of the text model
    std::string architecture;  // "llama"
    std::string weight_type;
    std::size_t n_layers = 0;
    std::size_t width = 0;
    std::size_t context_length = 0;
    std::size_t vision_blocks = 0;
    std::size_t feature_layer = 0;  // block that the original model projects
    Grid grid;                      // visual tokens of one image
};

// ---- Asking ----

struct ImageSource {
    std::string path;
    // An encoded picture in memory instead of a path; borrowed for the call.
    std::string_view bytes;
};

struct GenerationOptions {
    std::size_t max_tokens = 256;
    double temperature = 0.0;  // 0: always the most likely token
    double top_p = 1.0;
    std::uint32_t seed = 0;
};

struct AskRequest {
    std::vector<ImageSource> images;
    std::string question;
    Policy policy;             // default-constructed: the "llava" profile
    std::string class_choice;  // id or name; empty: the router decides
    BudgetSpec budget;
    std::vector<Stage> forced_stages;  // instead of a budget
    std::string schedule_name;         // "paper-192" and the like, instead of a budget
    // What the budget counts: "average" visual tokens per decoder layer, those "entering" it, or those left
    // in the end ("final").
    std::string budget_kind = "average";
    std::string method;                       // empty: the policy's
    std::vector<std::string> method_options;  // "name=value"
    std::optional<MassRule> mass;             // default: the method's, else the policy's
    // Positions of kept tokens: "keep" the original ones, "compact" them, or as in the "official" code of
    // the method.
    std::string position_mode = "official";
    // Mix vision layers as the policy says, or read only the block that the original model projects.
    // Default: what the method does.
    std::optional<bool> use_fusion;
    bool vanilla = false;  // no fusion, no pruning
    Numbers numbers = Numbers::Original;
    GenerationOptions generation;
    std::uint64_t select_seed = 0;
    bool want_logits = false;  // Answer::logits

    // Called with pieces of valid UTF-8 as the answer grows, on the calling thread. May be empty.
    std::function<void(std::string_view text)> on_text;
    // Set from any thread to stop; ask() then returns what it has with `cancelled` set, or
    // Code::Cancelled if nothing was generated yet. May be null.
    const std::atomic<bool>* cancel = nullptr;
};

struct ClassChoice {
    std::size_t id = 0;
    std::string name;
    double confidence = 0.0;
    std::string by;  // rules, classifier, llm, fallback, forced
};

// What one stage kept. Indices count the patches of all images in order.
struct StageReport {
    std::string site = "decoder";  // or "before": what was left when the tokens entered the decoder
    std::size_t layer = 0;
    std::vector<TokenIndex> kept;
    std::vector<TokenIndex> pivots;
    std::vector<TokenIndex> coverage;
    std::vector<TokenIndex> merged;  // kept tokens that carry others
    std::size_t n_class_tokens = 0;  // of the encoder, kept beside the patches
};

struct TokenCounts {
    std::size_t visual = 0;  // patches, before any pruning
    std::size_t text = 0;
    std::size_t entering = 0;  // visual tokens that decoder layer 0 processes
    std::size_t final = 0;     // after the last stage
    double average = 0.0;      // per decoder layer
};

// Wall-clock milliseconds. first_token runs from the call until the first generated token is there for
// on_text, or until the model ended without one; decode begins after the prefill and includes it.
struct AskTimings {
    double route = 0.0;
    double image = 0.0;
    double encode = 0.0;  // 0 when the image's layers were cached
    double fuse = 0.0;
    double project = 0.0;
    double gram = 0.0;
    double select = 0.0;
    double prefill = 0.0;
    double first_token = 0.0;
    double decode = 0.0;
    double total = 0.0;
};

struct Answer {
    std::string text;
    ClassChoice chosen_class;
    Mix mix;
    double split = 0.0;
    TokenCounts tokens;
    std::vector<Grid> grids;  // one per image
    std::vector<StageReport> stages;
    AskTimings timings;
    std::size_t generated = 0;
    std::size_t kv_bytes = 0;
    std::string policy_name;
    std::string policy_hash;
    std::string method;
    MassRule mass = MassRule::None;
    std::string positions = "keep";  // or "compact"
    bool stopped_at_limit = false;   // max_tokens reached before the model ended its answer
    bool cancelled = false;
    std::vector<std::string> notes;  // sentences worth telling the user
    std::vector<float> logits;       // of the first generated position, if asked for
};

// Holds the weights. ask() may be called from several threads: sessions are independent, and their
// computations take turns on the CPU.
class Engine {
   public:
    static Result<std::unique_ptr<Engine>> load(const EngineOptions& options);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    [[nodiscard]] const ModelInfo& info() const;
    Result<Answer> ask(const AskRequest& request) const;

   private:
    struct State;
    explicit Engine(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace clasp
