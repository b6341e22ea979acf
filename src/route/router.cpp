#include <algorithm>
#include <list>
#include <map>
#include <mutex>
#include <utility>

#include "base/text.h"
#include "clasp/route.h"
#include "route/embedded.h"
#include "route/features.h"
#include "route/labelled.h"
#include "route/languages.h"
#include "route/lexicon.h"
#include "route/model.h"
#include "route/taxonomy.h"

namespace clasp {

namespace {

using route::Model;
using route::Taxonomy;
using route::Word;

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);
constexpr float kUntrainedThreshold = 0.5f;  // for a user's examples, too few to choose one

std::size_t top_index(const std::vector<float>& values) {
    return static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

bool says_something(const std::vector<Word>& words) {
    return std::any_of(words.begin(), words.end(),
                       [](const Word& w) { return w.kind != route::WordKind::Mark; });
}

// Answers of the chat model, oldest dropped first. A question asked again costs nothing.
class ChoiceCache {
   public:
    std::optional<IntentChooser::Choice> find(std::string_view question) {
        const std::lock_guard lock(mutex_);
        const auto found = entries_.find(question);
        if (found == entries_.end()) return std::nullopt;
        return found->second;
    }
    void insert(std::string_view question, IntentChooser::Choice choice) {
        constexpr std::size_t kCapacity = 4096;
        const std::lock_guard lock(mutex_);
        const auto [entry, is_new] = entries_.emplace(question, choice);
        if (!is_new) return;
        order_.push_back(entry->first);
        if (order_.size() <= kCapacity) return;
        entries_.erase(order_.front());
        order_.pop_front();
    }

   private:
    std::mutex mutex_;
    std::map<std::string, IntentChooser::Choice, std::less<>> entries_;
    std::list<std::string> order_;
};

}  // namespace

struct Router::State {
    Taxonomy taxonomy;
    std::optional<Model> model;
    std::vector<std::size_t> intent_of_column;  // the model's intents in this taxonomy, or kNowhere
    RouterKind kind = RouterKind::Classifier;
    float threshold = 0.0f;
    float default_threshold = 0.0f;  // for a classifier that says Default
    std::shared_ptr<IntentChooser> chooser;
    mutable ChoiceCache choices;

    [[nodiscard]] std::size_t default_index() const { return *taxonomy.class_index(taxonomy.default_class); }

    [[nodiscard]] RouteDecision fallback(std::string reason) const {
        RouteDecision decision;
        decision.scores.assign(taxonomy.classes.size(), 0.0f);
        decision.scores[default_index()] = 1.0f;
        decision.class_id = taxonomy.default_class;
        decision.class_name = taxonomy.classes[default_index()].name;
        decision.reason = std::move(reason);
        return decision;
    }

    // Probability per intent. What the model knows but the taxonomy does not is left out of it and
    // counts for the default class.
    [[nodiscard]] std::vector<float> classify(const std::vector<Word>& words) const {
        std::vector<float> by_intent(taxonomy.intents.size(), 0.0f);
        if (!model) return by_intent;
        const auto p = model->probabilities(route::extract_features(words, route::Lexicon::builtin()));
        for (std::size_t column = 0; column < p.size(); ++column) {
            if (intent_of_column[column] != kNowhere) by_intent[intent_of_column[column]] += p[column];
        }
        return by_intent;
    }

    [[nodiscard]] std::vector<float> class_scores(const std::vector<float>& by_intent) const {
        std::vector<float> scores(taxonomy.classes.size(), 0.0f);
        float sum = 0.0f;
        for (std::size_t i = 0; i < by_intent.size(); ++i) {
            scores[taxonomy.class_of_intent(i)] += by_intent[i];
            sum += by_intent[i];
        }
        scores[default_index()] += std::max(0.0f, 1.0f - sum);
        return scores;
    }

    // One intent was named from outside the classifier, with this confidence; the rest of the mass is
    // shared among the other classes as the classifier sees them.
    [[nodiscard]] RouteDecision named(std::size_t intent, float confidence, RoutedBy by, std::string reason,
                                      const std::vector<float>& by_intent) const {
        const std::size_t winner = taxonomy.class_of_intent(intent);
        RouteDecision decision;
        decision.scores = class_scores(by_intent);
        float others = 0.0f;
        for (std::size_t i = 0; i < decision.scores.size(); ++i) {
            if (i != winner) others += decision.scores[i];
        }
        const std::size_t n_others = decision.scores.size() - 1;
        if (n_others == 0) confidence = 1.0f;
        for (float& score : decision.scores) {
            // Where the classifier sees nothing elsewhere, no class has a better claim than another.
            score = others > 0.0f  ? score * ((1.0f - confidence) / others)
                    : n_others > 0 ? (1.0f - confidence) / static_cast<float>(n_others)
                                   : 0.0f;
        }
        decision.scores[winner] = confidence;
        decision.class_id = taxonomy.classes[winner].id;
        decision.class_name = taxonomy.classes[winner].name;
        decision.intent = taxonomy.intents[intent].name;
        decision.confidence = confidence;
        decision.by = by;
        decision.reason = std::move(reason);
        return decision;
    }

    // Not sure enough: Default instead of the class that won.
    void fall_back(RouteDecision& decision, float least) const {
        decision.reason = "confidence " + base::format_number(static_cast<double>(decision.confidence)) +
                          " for " + decision.class_name + " is below " +
                          base::format_number(static_cast<double>(least));
        decision.class_id = taxonomy.default_class;
        decision.class_name = taxonomy.classes[default_index()].name;
        decision.by = RoutedBy::Fallback;
    }

    // The class whose intents have the largest sum, and its most probable intent.
    [[nodiscard]] RouteDecision most_probable(const std::vector<float>& by_intent, RoutedBy by) const {
        RouteDecision decision;
        decision.scores = class_scores(by_intent);
        const std::size_t winner = top_index(decision.scores);
        decision.confidence = std::min(decision.scores[winner], 1.0f);
        std::size_t best = kNowhere;
        for (std::size_t i = 0; i < by_intent.size(); ++i) {
            if (taxonomy.class_of_intent(i) != winner) continue;
            if (best == kNowhere || by_intent[i] > by_intent[best]) best = i;
        }
        decision.intent = taxonomy.intents[best].name;
        decision.class_id = taxonomy.classes[winner].id;
        decision.class_name = taxonomy.classes[winner].name;
        decision.by = by;
        const bool claims_default = by == RoutedBy::Classifier && decision.class_id == taxonomy.default_class;
        const float least = claims_default ? default_threshold : threshold;
        if (decision.confidence < least) fall_back(decision, least);
        return decision;
    }

    [[nodiscard]] RouteDecision by_classifier(const std::vector<float>& by_intent) const {
        if (!model) return fallback("no rule fits and this router has no classifier");
        return most_probable(by_intent, RoutedBy::Classifier);
    }

    [[nodiscard]] RouteDecision by_chooser(const IntentChooser::Choice& choice,
                                           const std::vector<float>& by_intent) const {
        if (!choice.scores.empty()) return most_probable(choice.scores, RoutedBy::Llm);
        RouteDecision decision = named(choice.intent, choice.confidence, RoutedBy::Llm, "", by_intent);
        if (choice.confidence < threshold) fall_back(decision, threshold);
        return decision;
    }

    [[nodiscard]] Result<IntentChooser::Choice> ask_chooser(std::string_view question) const {
        if (const auto known = choices.find(question)) return *known;
        CLASP_ASSIGN_OR_RETURN(const IntentChooser::Choice choice,
                               chooser->choose(question, taxonomy.intents));
        const auto is_share = [](float p) { return p >= 0.0f && p <= 1.0f; };
        const bool has_scores = !choice.scores.empty();
        if (choice.intent >= taxonomy.intents.size() || !is_share(choice.confidence) ||
            (has_scores && choice.scores.size() != taxonomy.intents.size()) ||
            !std::all_of(choice.scores.begin(), choice.scores.end(), is_share)) {
            return Status(Code::Corrupt, "the router model named no intent of the list");
        }
        choices.insert(question, choice);
        return choice;
    }

    [[nodiscard]] RouteDecision by_rule(const route::Rule& rule, const std::vector<float>& by_intent) const {
        return named(*taxonomy.intent_index(rule.intent), rule.confidence, RoutedBy::Rules,
                     "rule " + rule.name + ": " + rule.reason, by_intent);
    }

    // The classifier's word, or nothing but Default where it was not taught the language.
    [[nodiscard]] RouteDecision without_rule(const route::Tongue& tongue,
                                             const std::vector<float>& by_intent) const {
        return tongue.is_taught ? by_classifier(by_intent) : fallback(tongue.reason);
    }

    // A chat model that is not sure leaves the question to the classifier, if that one is.
    [[nodiscard]] RouteDecision unless_unsure(RouteDecision chosen, const route::Tongue& tongue,
                                              const std::vector<float>& by_intent) const {
        if (chosen.by != RoutedBy::Fallback) return chosen;
        RouteDecision decision = without_rule(tongue, by_intent);
        if (decision.by != RoutedBy::Classifier) return chosen;
        decision.reason = "router model unsure (" + chosen.reason + ")";
        return decision;
    }

    [[nodiscard]] route::Tongue tongue_of(const std::vector<Word>& words) const {
        if (!model) return {};
        return route::recognise(words, model->profile(), route::Languages::builtin());
    }

    [[nodiscard]] RouteDecision decide(std::string_view question, const std::vector<Word>& words) const {
        if (!says_something(words)) return fallback("the question has no words");
        const route::Tongue tongue = tongue_of(words);
        std::vector<float> by_intent(taxonomy.intents.size(), 0.0f);
        if (tongue.is_taught) {
            by_intent = classify(words);
        } else {
            const route::Rule* rule = route::find_language_rule(route::Languages::builtin(), tongue, words);
            if (rule != nullptr && taxonomy.intent_index(rule->intent)) return by_rule(*rule, by_intent);
        }
        if (const route::Rule* rule = route::find_rule(taxonomy.rules, words)) {
            return by_rule(*rule, by_intent);
        }
        if (kind == RouterKind::Rules) return fallback("no rule fits");
        if (kind == RouterKind::Llm) {
            const auto choice = ask_chooser(question);
            if (choice) return unless_unsure(by_chooser(*choice, by_intent), tongue, by_intent);
            RouteDecision decision = without_rule(tongue, by_intent);
            decision.model_failed = true;
            const std::string failure = "router model failed (" + choice.status().message() + ")";
            decision.reason = decision.reason.empty() ? failure : failure + "; " + decision.reason;
            return decision;
        }
        return without_rule(tongue, by_intent);
    }
};

std::string_view routed_by_name(RoutedBy by) {
    switch (by) {
        case RoutedBy::Rules: return "rules";
        case RoutedBy::Classifier: return "classifier";
        case RoutedBy::Llm: return "llm";
        case RoutedBy::Fallback: return "fallback";
        case RoutedBy::Forced: return "forced";
    }
    return "fallback";
}

namespace {

// The user's classes on the built-in intents keep the built-in classifier, and its rules behind
// their own. With examples a classifier is trained on them here.
Result<std::optional<Model>> make_model(const RouterOptions& options, const Taxonomy& taxonomy) {
    const route::Lexicon& lexicon = route::Lexicon::builtin();
    if (!options.model_bytes.empty()) {
        CLASP_ASSIGN_OR_RETURN(Model model, Model::load(options.model_bytes, lexicon));
        return std::optional<Model>(std::move(model));
    }
    if (!taxonomy.examples.empty()) {
        route::TrainOptions training;
        training.min_count = 1;
        CLASP_ASSIGN_OR_RETURN(
            const auto examples,
            route::make_examples(route::in_teaching_order(taxonomy.examples), taxonomy, lexicon, 0.0f));
        CLASP_ASSIGN_OR_RETURN(Model model, route::train(examples, taxonomy.intent_names(), training));
        model.set_calibration({1.0f, kUntrainedThreshold, kUntrainedThreshold});
        return std::optional<Model>(std::move(model));
    }
    CLASP_ASSIGN_OR_RETURN(Model model, Model::load(route::embedded_model(), lexicon));
    const auto known = [&](const std::string& name) { return taxonomy.intent_index(name).has_value(); };
    const auto& names = model.intent_names();
    if (std::any_of(names.begin(), names.end(), known)) return std::optional<Model>(std::move(model));
    if (taxonomy.rules.empty()) {
        return Status(
            Code::InvalidArgument,
            "taxonomy " + base::in_quotes(taxonomy.name) +
                " has neither rules nor examples and shares no intent with the built-in classifier");
    }
    return std::optional<Model>();
}

}  // namespace

Result<Router> Router::create(const RouterOptions& options) {
    const auto state = std::make_shared<State>();
    state->kind = options.kind;
    state->chooser = options.chooser;
    if (options.kind == RouterKind::Llm && !options.chooser) {
        return Status(Code::InvalidArgument, "a language-model router needs a model");
    }
    const bool own_taxonomy = !options.taxonomy_json.empty();
    if (own_taxonomy) {
        CLASP_ASSIGN_OR_RETURN(state->taxonomy, Taxonomy::parse(options.taxonomy_json));
    } else {
        state->taxonomy = Taxonomy::builtin();
    }
    CLASP_ASSIGN_OR_RETURN(state->model, make_model(options, state->taxonomy));
    if (state->model) {
        for (const std::string& name : state->model->intent_names()) {
            state->intent_of_column.push_back(state->taxonomy.intent_index(name).value_or(kNowhere));
        }
        const bool any = std::any_of(state->intent_of_column.begin(), state->intent_of_column.end(),
                                     [](std::size_t i) { return i != kNowhere; });
        if (!any) {
            return Status(Code::InvalidArgument, "the router model knows none of the taxonomy's intents");
        }
    }
    if (own_taxonomy && state->taxonomy.examples.empty()) {
        for (const route::Rule& rule : Taxonomy::builtin().rules) {
            if (state->taxonomy.intent_index(rule.intent)) state->taxonomy.rules.push_back(rule);
        }
    }
    const std::optional<float> wanted = options.threshold ? options.threshold : state->taxonomy.threshold;
    const route::Calibration trained = state->model ? state->model->calibration() : route::Calibration();
    state->threshold = wanted.value_or(trained.threshold);
    state->default_threshold = wanted.value_or(trained.default_threshold);
    if (!(state->threshold >= 0.0f && state->threshold <= 1.0f)) {
        return Status(Code::InvalidArgument, "router threshold is not between 0 and 1");
    }
    return Router(state);
}

RouteDecision Router::route(std::string_view question) const {
    const auto words = route::read_question(question);
    if (!words) return state_->fallback(words.status().message());
    return state_->decide(question, *words);
}

RouteExplanation Router::explain(std::string_view question, std::size_t limit) const {
    RouteExplanation explanation;
    const auto words = route::read_question(question);
    if (!words) {
        explanation.decision = state_->fallback(words.status().message());
        return explanation;
    }
    explanation.decision = state_->decide(question, *words);
    for (const Word& word : *words) explanation.words.push_back(word.text);
    const auto intent = state_->taxonomy.intent_index(explanation.decision.intent);
    if (!intent || !state_->model) return explanation;
    const auto& columns = state_->intent_of_column;
    const auto column = std::find(columns.begin(), columns.end(), *intent);
    if (column == columns.end()) return explanation;
    const auto k = static_cast<std::size_t>(column - columns.begin());
    const Model& model = *state_->model;
    const auto n = static_cast<float>(columns.size());
    for (auto& [feature, name] : route::extract_named_features(*words, route::Lexicon::builtin())) {
        // Against the mean over intents, because only differences between intents decide.
        float mean = 0.0f;
        for (std::size_t other = 0; other < columns.size(); ++other)
            mean += model.weight(feature.id, other) / n;
        const float weight =
            feature.value * (model.weight(feature.id, k) - mean) / model.calibration().temperature;
        if (weight != 0.0f) explanation.evidence.push_back({name, weight});
    }
    std::stable_sort(explanation.evidence.begin(), explanation.evidence.end(),
                     [](const RouteEvidence& a, const RouteEvidence& b) {
                         return std::abs(a.weight) > std::abs(b.weight);
                     });
    if (explanation.evidence.size() > limit) explanation.evidence.resize(limit);
    return explanation;
}

Result<RouteDecision> Router::forced(std::string_view id_or_name) const {
    const Taxonomy& taxonomy = state_->taxonomy;
    const std::string wanted = base::lower(id_or_name);
    for (std::size_t i = 0; i < taxonomy.classes.size(); ++i) {
        const RouteClass& c = taxonomy.classes[i];
        if (base::lower(c.name) != wanted && std::to_string(c.id) != wanted) continue;
        RouteDecision decision;
        decision.class_id = c.id;
        decision.class_name = c.name;
        decision.confidence = 1.0f;
        decision.by = RoutedBy::Forced;
        decision.scores.assign(taxonomy.classes.size(), 0.0f);
        decision.scores[i] = 1.0f;
        return decision;
    }
    std::string names;
    for (const RouteClass& c : taxonomy.classes) {
        names += (names.empty() ? "" : ", ") + std::to_string(c.id) + " " + c.name;
    }
    return Status(Code::NotFound,
                  "there is no class " + base::in_quotes(id_or_name) + "; there are " + names);
}

const std::vector<RouteClass>& Router::classes() const {
    return state_->taxonomy.classes;
}
const std::vector<RouteIntent>& Router::intents() const {
    return state_->taxonomy.intents;
}
int Router::default_class() const {
    return state_->taxonomy.default_class;
}
float Router::threshold() const {
    return state_->threshold;
}

}  // namespace clasp
