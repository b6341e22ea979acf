// The router: from the text of a question to a class, before anything visual is computed. Rules come
// first, then a small linear classifier; when neither is sure the class is the taxonomy's default and
// the decision says so. The paper's Route(x) with a model of kilobytes in place of one of 15.5 GB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/status.h"

namespace clasp {

struct RouteClass {
    int id = 0;
    std::string name;
};

// A finer reason to ask than a class; several map to one class.
struct RouteIntent {
    std::string name;
    int class_id = 0;
    std::string description;  // one sentence; the language-model router shows it to the model
};

// Who decided.
enum class RoutedBy : std::uint8_t { Rules, Classifier, Llm, Fallback, Forced };
std::string_view routed_by_name(RoutedBy by);  // "rules", "classifier", "llm", "fallback", "forced"

struct RouteDecision {
    int class_id = 0;
    std::string class_name;
    std::string intent;       // the most probable intent, also when the class fell back
    float confidence = 0.0f;  // calibrated probability of the class that won, before any fallback
    RoutedBy by = RoutedBy::Fallback;
    std::vector<float> scores;  // probability per class, in the order of Router::classes()
    std::string reason;         // the rule that fired, or why the decision fell back; may be empty
    bool model_failed = false;  // the chat model was asked in vain, so the classifier decided
};

// A piece of evidence: what in the question spoke for the winning intent, and how strongly (in
// natural-log odds; negative speaks against it).
struct RouteEvidence {
    std::string feature;
    float weight = 0.0f;
};

struct RouteExplanation {
    RouteDecision decision;
    std::vector<std::string> words;       // what was left of the question after cleaning
    std::vector<RouteEvidence> evidence;  // strongest first, at most `limit`
};

// A chat model that names an intent. Implemented over libllama by the engine; a test double works as
// well. Must be safe to call from several threads.
class IntentChooser {
   public:
    virtual ~IntentChooser() = default;

    struct Choice {
        std::size_t intent = 0;  // the most probable; index into the intents given
        float confidence = 1.0f;
        // Probability of each intent; the class with the largest sum is taken. Empty if the model names one
        // intent only.
        std::vector<float> scores = {};
    };
    // Any error (deadline, invalid output) makes the router use its classifier instead.
    virtual Result<Choice> choose(std::string_view question, const std::vector<RouteIntent>& intents) = 0;
};

enum class RouterKind : std::uint8_t {
    Classifier,  // rules, then the classifier
    Rules,       // rules only; what no rule knows is Default
    Llm,         // rules, then the chat model, then the classifier if the model fails
};

struct RouterOptions {
    RouterKind kind = RouterKind::Classifier;
    // A taxonomy file's text (see docs/router.md); empty means the built-in nine classes.
    std::string taxonomy_json;
    // A trained classifier, the bytes that `route train` writes; empty means the embedded one.
    std::string model_bytes;
    // Least confidence that is acted on, 0 to 1. Default: the value chosen on validation data at
    // training time, stored in the model; the classifier's claims of Default have a stricter one there. It
    // holds for the chat model's choices too.
    std::optional<float> threshold;
    // Needed for RouterKind::Llm, ignored otherwise; see clasp/route_llm.h.
    std::shared_ptr<IntentChooser> chooser;
};

class Router {
   public:
    // Corrupt or InvalidArgument if the taxonomy or the model does not hold together.
    static Result<Router> create(const RouterOptions& options = {});

    // Never fails: text that cannot be read (invalid UTF-8, above 64 KiB, nothing but punctuation)
    // goes to the default class by fallback, with the reason. Thread safe.
    [[nodiscard]] RouteDecision route(std::string_view question) const;
    [[nodiscard]] RouteExplanation explain(std::string_view question, std::size_t limit = 12) const;

    // The decision for a class the user named by id or by name. NotFound if there is none.
    [[nodiscard]] Result<RouteDecision> forced(std::string_view id_or_name) const;

    [[nodiscard]] const std::vector<RouteClass>& classes() const;
    [[nodiscard]] const std::vector<RouteIntent>& intents() const;
    [[nodiscard]] int default_class() const;
    [[nodiscard]] float threshold() const;

   private:
    struct State;
    explicit Router(std::shared_ptr<const State> state) : state_(std::move(state)) {}
    std::shared_ptr<const State> state_;
};

}  // namespace clasp
