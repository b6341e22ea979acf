// The engine: a vision-language model from two GGUF files that answers questions about images while
// keeping only the visual tokens the question needs, or a text model from one.
//
//     auto engine = clasp::Engine::load({.model = "llava.gguf", .mmproj = "mmproj.gguf"});
//     clasp::AskRequest request;
//     request.images = {{.path = "photo.jpg"}};
//     request.question = "How many cups are on the table?";
//     auto answer = (*engine)->ask(request);
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/clip_choice.h"
#include "clasp/fuse.h"
#include "clasp/image.h"
#include "clasp/image_layout.h"
#include "clasp/log.h"
#include "clasp/policy.h"
#include "clasp/route.h"
#include "clasp/schedule.h"
#include "clasp/select.h"
#include "clasp/status.h"

namespace clasp {

namespace engine {
struct EngineState;
}

// ---- Progress ----

// How far a call has come, for whoever shows it to people. Within a phase `done` never falls, the first call
// has 0 and the last one `total`; phases come in this order, and one that has nothing to do may be left out.
struct Progress {
    enum class Phase : std::uint8_t {
        Load,     // bytes of the two files
        Encode,   // images
        Prefill,  // tokens times decoder layers, by the plan; stages may keep fewer
        Keep,     // bytes of packed weights, in Engine::finish_keeping() alone
    };
    Phase phase = Phase::Load;
    double done = 0.0;
    double total = 0.0;
};
std::string_view phase_name(Progress::Phase phase);  // "load", "encode", "prefill", "keep"

// Called often, on the calling thread; it should return at once. May be empty.
using ProgressSink = std::function<void(const Progress& progress)>;

// ---- Loading ----

struct EngineOptions {
    std::string model = {};   // text GGUF
    std::string mmproj = {};  // vision GGUF; empty: no pictures, questions in text alone
    // How the vision tower's matrices are kept: "auto" (i16 where that is fast, else file), "file" (as
    // stored; needed for llama.cpp's numbers to the bit), "i16" (16-bit integers, about as exact as f16 and
    // faster, CPU only), "q8" (8-bit integers with a scale per 32, activations too: half the memory and
    // faster where the processor has VNNI, but less exact), "f32", "f16", "bf16", "q4_0".
    std::string vision_weights = "auto";
    // Whose products the decoder runs on the CPU: "ours" (on integers, in layouts of our own, where the
    // processor has kernels for them and the weights a type that they know), or "ggml" (llama.cpp's, needed
    // for its numbers to the bit).
    std::string kernels = "ours";
    // 0: the processors that this process may use (affinity, control groups), shared with other processes of
    // this user that answer at the same time. Answers do not depend on it. More than four for each
    // processor are refused.
    std::size_t n_threads = 0;
    bool use_gpu = true;  // if ggml was built with one
    // Images whose vision layers stay in memory, so that another question need not encode again.
    std::size_t cached_images = 1;
    std::size_t cached_image_bytes = 0;  // of all of them; 0: no limit. One stays in any case
    // A folder where they stay between runs, made if it is not there; empty: none.
    std::string cache_dir = {};
    // Of the files that are kept there; the least recently used go first. 0: no limit.
    std::size_t cache_bytes = std::size_t{8} << 30U;
    // Where the decoder's weights stay between runs in the layouts of our products, so that the next start
    // maps them: "auto" (${XDG_CACHE_HOME:-~/.cache}/clasp/packed, models of 256 MiB and more, nothing
    // without a home), "none", or a folder, made if it is not there. Takes as much room as the model; files
    // that were not used for longest go when all exceed 32 GiB. Without a cache_dir the decoder's times that
    // a budget of "auto" needed are kept here too, a file of some bytes.
    std::string packed = "auto";
    // Bytes of keys and values that stay from one request to the next, for prompts that begin like one before
    // and for questions that follow (HistoryMode); the least recently used go first. 0: none stay.
    std::size_t history_bytes = 0;
    // Requests take turns with several methods on many images: whatever any request has needed of the encoder
    // so far is computed for every new image, so that each is encoded once.
    bool several_methods = false;
    // Who names the class of a question that comes without one. Its classes must be the policy's, by name.
    RouterOptions router = {};
    LogSink log = {};
    ProgressSink on_progress = {};
    // Set from any thread to stop; load() then returns Code::Cancelled. May be null.
    const std::atomic<bool>* cancel = nullptr;
};

struct ModelInfo {
    std::string name;          // of the text model
    std::string architecture;  // "llama"
    std::string weight_type;   // of most weights of the text model: "Q4_0"
    std::size_t n_layers = 0;
    std::size_t width = 0;
    std::size_t context_length = 0;
    std::size_t vision_blocks = 0;  // this and what follows: 0 without a vision file
    std::size_t feature_layer = 0;  // block that the original model projects
    Grid grid;                      // visual tokens of a square picture of the model's own size
};

// ---- Asking ----

// A picture, or a clip: a video file, an animated GIF, WebP or PNG picture, a folder of frames. Which it is,
// its content tells.
struct ImageSource {
    std::string path = {};
    // An encoded picture or clip in memory instead of a path; borrowed for the call. Both at once are
    // refused.
    std::string_view bytes = {};
    std::vector<std::string> frames = {};  // instead of both: paths of pictures that are the frames of a clip
    bool is_still = false;                 // what moves is seen by its first frame, as a picture
};

// What one side said, words and pictures in their order.
struct MessagePart {
    std::string text;
    std::optional<ImageSource> image = std::nullopt;  // instead of text
    std::vector<std::int32_t> tokens = {};            // instead of text, in AskRequest::is_raw alone
};
struct Message {
    enum class Role : std::uint8_t {
        System,  // how to answer; only the first message of a conversation
        User,
        Assistant,
    };
    Role role = Role::User;
    std::vector<MessagePart> parts;
};
std::string_view role_name(Message::Role role);  // "system", "user", "assistant"

// Requests for longer answers are refused.
inline constexpr std::size_t kMaxAnswerTokens = std::size_t{1} << 20U;

// Added to a token's logit before anything else; minus infinity: it is never written.
struct TokenBias {
    std::int32_t token = 0;
    double bias = 0.0;
};

struct GenerationOptions {
    std::size_t max_tokens = 256;
    double temperature = 0.0;  // 0: always the most likely token
    double top_p = 1.0;
    std::int32_t top_k = 0;  // draw from so many tokens at most; 0: from all
    double min_p = 0.0;      // leave out what is less probable than this times the most probable
    // Against repetition of what the answer has so far; 0, 0 and 1: nothing.
    double frequency_penalty = 0.0;
    double presence_penalty = 0.0;
    double repeat_penalty = 1.0;
    std::uint32_t seed = 0;
    // Texts that end the answer and are not part of it; at most kMaxStops of at most kMaxStopBytes each.
    std::vector<std::string> stop = {};
    bool keeps_space = false;                // white space at both ends of the answer stays
    bool ignores_end = false;                // the model cannot end the answer by itself
    std::vector<TokenBias> token_bias = {};  // at most kMaxTokenBiases
    // A grammar in llama.cpp's notation that the answer has to follow, from its rule "root"; empty: none. It
    // is trusted: llama.cpp's parser takes for ever over some.
    std::string grammar = {};
    // How likely each token of the answer was, and the likeliest so many in its place; nothing: not told.
    std::optional<std::size_t> n_likely = std::nullopt;
};
inline constexpr std::size_t kMaxStops = 16;
inline constexpr std::size_t kMaxStopBytes = 256;
inline constexpr std::size_t kMaxTokenBiases = 300;
inline constexpr std::size_t kMaxLikely = 20;

struct LikelyToken {
    std::int32_t id = 0;
    std::string bytes;     // may be part of a character; those of control tokens are written out
    double logprob = 0.0;  // logarithm of its probability by the model, before anything that sampling does
};
// A token of an answer.
struct WrittenToken {
    LikelyToken token;                // its logprob is 0 unless GenerationOptions::n_likely asks for it
    std::vector<LikelyToken> likely;  // in its place, the likeliest first
    std::string text;                 // of the answer, that became certain with it
};

// Which visual tokens a question that follows others sees. Text before the picture, and its rows before the
// first stage, are computed once in any case (EngineOptions::history_bytes).
enum class HistoryMode : std::uint8_t {
    Reselect,  // those that it needs itself
    Reuse,     // those of the question before, with their keys and values; only new text is computed
    Auto,  // those of the question before unless they miss what this one needs, by the first stage's scores
};
constexpr std::string_view history_mode_name(HistoryMode mode) {
    switch (mode) {
        case HistoryMode::Reselect: return "reselect";
        case HistoryMode::Reuse: return "reuse";
        case HistoryMode::Auto: return "auto";
    }
    return "";
}

// Longest AskRequest::max_seconds: a day.
inline constexpr double kMaxSeconds = 86'400.0;

struct AskRequest {
    // What was said before, the system message first if there is one; the question is the next message.
    std::vector<Message> history;
    // In front of the question. A request without any, here and in its history, is in text alone: nothing is
    // pruned, and the mix of its answer is empty.
    std::vector<ImageSource> images;
    std::string question;
    // For a question whose words and pictures are mixed: all of them in their order. `images` is empty then,
    // and `question` is what the router reads.
    std::vector<MessagePart> parts;
    // The parts are the whole prompt as the model gets it: there is no chat template and no history, and
    // control tokens that are written out in its texts are meant.
    bool is_raw = false;
    // What the answer begins with, as said already; the model goes on from there. Not in a raw prompt.
    std::string answer_begin;
    Policy policy;             // default-constructed: the engine's, see Engine::policy()
    std::string class_choice;  // id or name; empty: the router decides
    BudgetSpec budget;
    std::vector<Stage> forced_stages;  // instead of a budget
    std::string schedule_name;         // "paper-192" and the like, instead of a budget
    // What the budget counts: "average" visual tokens per decoder layer, those "entering" it, or those left
    // in the end ("final").
    std::string budget_kind = "average";
    std::string method;                       // empty: the policy's
    std::vector<std::string> method_options;  // "name=value"
    // Default: those of a method that has them (clasp+), none for any other that is named, and the policy's
    // when its own method runs.
    std::optional<MassRule> mass;
    // Positions of kept tokens: "keep" the original ones, "compact" them, or as in the "official" code of
    // the method.
    std::string position_mode = "official";
    // Mix vision layers as the policy says, or read only the block that the original model projects.
    // Default: what the method does.
    std::optional<bool> use_fusion;
    bool vanilla = false;  // no fusion, no pruning
    Compat compat = Compat::Original;
    PictureDetail detail;  // how finely pictures are seen
    ClipChoice clip;       // which frames of clips are seen
    // How the steps of a clip share what is kept: "free", the method chooses among all of them at once, or
    // "even", each keeps its share at every stage, so that no moment disappears.
    std::string split_time = "free";
    GenerationOptions generation;
    std::uint64_t select_seed = 0;
    // Reuse and Auto also keep this question's tokens for the next one.
    HistoryMode history_mode = HistoryMode::Reselect;
    // What is kept from one request to the next (layers of pictures, beginnings of prompts, turns) is found
    // by requests with the same word alone, as that of a customer.
    std::string cache_scope;
    bool want_logits = false;    // Answer::logits
    bool want_pictures = false;  // Answer::pictures

    // Called with pieces of valid UTF-8 as the answer grows, on the calling thread. May be empty.
    std::function<void(std::string_view text)> on_text;
    // Called with every token of the answer, before on_text gets what became certain with it. May be empty.
    std::function<void(const WrittenToken& token)> on_token;
    // Called while the images are encoded and the prompt is read, before the first text.
    ProgressSink on_progress;
    // Called once, before the prompt is read, with how many of its tokens no layer computes again. May be
    // empty.
    std::function<void(std::size_t n_tokens)> on_reused;
    // Set from any thread to stop; ask() then returns what it has (Answer::stopped), or
    // Code::Cancelled if nothing was generated yet. May be null.
    const std::atomic<bool>* cancel = nullptr;
    // When to stop; ask() then returns what it has (Answer::stopped), or Code::Deadline if nothing was
    // generated yet.
    std::optional<std::chrono::steady_clock::time_point> deadline;
    // The same, counted from when the request comes: from 0 to kMaxSeconds. The earlier one holds.
    std::optional<double> max_seconds;
};

struct ClassChoice {
    std::size_t id = 0;
    std::string name;
    double confidence = 0.0;
    std::string by;  // rules, classifier, llm, fallback, forced
};

// What one stage kept. Indices count the tokens of all images in order, as Answer::layouts has them.
struct StageReport {
    std::string site = "decoder";  // or "before": what was left when the tokens entered the decoder
    std::size_t layer = 0;
    StageMode when = StageMode::Before;  // whether that layer ran on the kept tokens, or on all before them
    std::vector<TokenIndex> kept;
    std::vector<TokenIndex> pivots;
    std::vector<TokenIndex> coverage;
    std::vector<TokenIndex> merged;  // kept tokens that carry others
    std::size_t n_class_tokens = 0;  // of the encoder, kept beside the patches
};

struct TokenCounts {
    std::size_t visual = 0;  // of the images, before any pruning, without fixed rows (ImageLayout::n_fixed)
    std::size_t text = 0;
    // With the fixed rows that go with them:
    std::size_t entering = 0;  // visual tokens that decoder layer 0 processes
    std::size_t final = 0;     // after the last stage
    double average = 0.0;      // per decoder layer
};

// What became of the budget.
struct BudgetReport {
    std::string asked;    // "64", "33%", "none", "auto", "2:300,6:200", "paper-192", or the policy's schedule
    std::string decided;  // visual tokens aimed at, "none" when nothing was pruned, or the schedule
    std::string reason;   // a sentence; empty where what was asked for was done as it stands
};

// What was seen of a clip.
struct ClipReport {
    std::size_t image = 0;            // which of the images it is: Answer::layouts
    std::vector<std::size_t> frames;  // indices of the frames that were seen
    std::vector<double> seconds;      // when each is shown
    std::size_t n_frames = 0;         // that the clip has
    double duration_s = 0.0;          // of all frames, the last one's time included
    double fps = 0.0;                 // of the clip
    // The frames themselves, if pictures were asked for.
    std::vector<std::shared_ptr<const Image>> pictures = {};
};

// Wall-clock milliseconds. first_token runs from the call until the first generated token is there for
// on_text, or until the model ended without one; decode begins after the prefill and includes it.
struct AskTimings {
    double route_ms = 0.0;
    double image_ms = 0.0;
    double encode_ms = 0.0;  // 0 when the image's layers were cached
    double fuse_ms = 0.0;
    double project_ms = 0.0;
    double gram_ms = 0.0;
    double select_ms = 0.0;
    double prefill_ms = 0.0;
    double first_token_ms = 0.0;
    double decode_ms = 0.0;
    double total_ms = 0.0;
};

// What of the prompt was there from before.
struct HistoryReport {
    HistoryMode did = HistoryMode::Reselect;  // or Reuse
    // What the question before had kept lacks of what this one needs, from 0 to 1; nothing unless Auto
    // looked.
    std::optional<double> missed;
    std::size_t n_tokens = 0;        // of the prompt that no layer computed again
    std::size_t n_front_tokens = 0;  // that the layers before the first stage did not compute again
};

// What the same request takes with all visual tokens.
struct UnprunedTime {
    double first_token_ms = 0.0;
    bool is_measured =
        false;  // this request pruned nothing; else it is estimated from prompts that were read
};

// Why an answer ends where it does.
enum class Stopped : std::uint8_t {
    End,        // the model ended it
    StopText,   // a stop text of the request came
    MaxTokens,  // the limit of the request
    Cancelled,
    Deadline,
    NoToken,  // no token of the vocabulary is allowed by the grammar and the biases
};
// "end", "stop_text", "max_tokens", "cancelled", "deadline", "no_token"
std::string_view stopped_name(Stopped stopped);

struct Answer {
    std::string text;
    ClassChoice chosen_class;
    Mix mix;
    double split = 0.0;
    TokenCounts tokens;
    std::vector<ImageLayout> layouts;  // one per image: where its tokens lie
    std::vector<ClipReport> clips;     // those of the images that are clips
    std::vector<StageReport> stages;
    AskTimings timings;
    std::size_t generated = 0;
    std::size_t kv_bytes = 0;
    std::string policy_name;
    std::string policy_hash;
    std::string method;  // the name of what ran: "clasp+" for clasp with masses; "none" if nothing was pruned
    std::string label;   // the same with options and masses: "fastv:faithful=paper + masses"
    MassRule mass = MassRule::None;
    BudgetReport budget;
    // The method merged tokens inside the encoder, so that this request had to run it for itself.
    bool has_own_encoder = false;
    std::string positions = "keep";  // or "compact"
    Stopped stopped = Stopped::End;
    std::string stop_text;              // the one that came, if that is why
    std::vector<WrittenToken> written;  // the tokens of the answer
    // With Reuse the mix, the split and the stages are those of the question that chose.
    HistoryReport history;
    std::optional<UnprunedTime> unpruned;  // of requests with pictures
    // Whether the vision layers of all images were there from before; nothing when nobody keeps them.
    std::optional<bool> cache_hit;
    std::vector<std::string> notes;  // sentences worth telling the user
    std::vector<float> logits;       // of the first generated position, if asked for
    // The images as the model saw them, if asked for: the layouts' rectangles are in their pixels. Of a clip,
    // the first frame that was seen.
    std::vector<std::shared_ptr<const Image>> pictures;
};

// Holds the weights, and memory for intermediate results from one request to the next. ask() may be called
// from several threads: requests are independent, and their computations take turns on the CPU.
class Engine {
   public:
    static Result<std::unique_ptr<Engine>> load(const EngineOptions& options);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    [[nodiscard]] const ModelInfo& info() const;
    // What requests without a policy use: the model's own, NAME-policy.json beside NAME.gguf or
    // beside the file that this is a link to, or else the profile of its vision tower: the paper's numbers
    // where it has them, those of LLaVA mapped by depth where not.
    [[nodiscard]] const Policy& policy() const;
    Result<Answer> ask(const AskRequest& request) const;

    // Waits for the weights that load() packed to be where the next start finds them
    // (EngineOptions::packed); nothing to wait for is fine, and what else prevents it is a warning. The
    // destructor waits for a few seconds only, then gives the file up. What takes no time is not reported.
    // Both may be empty or null. Error: Code::Cancelled, and the next start packs them again.
    Status finish_keeping(const ProgressSink& on_progress, const std::atomic<bool>* cancel) const;

    // For those inside the library who let several requests take turns (src/engine/ask_run.h).
    [[nodiscard]] const engine::EngineState& state() const;

   private:
    explicit Engine(std::unique_ptr<engine::EngineState> state);
    std::unique_ptr<engine::EngineState> state_;
};

}  // namespace clasp
