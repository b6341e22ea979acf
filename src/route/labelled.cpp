#include "route/labelled.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "route/hash.h"

namespace clasp::route {

namespace {

// Questions are left out of a draft in six turns. Coprime to the fifth that reports hold out, which uses the
// same hash.
constexpr std::size_t kFolds = 6;

bool is_labelled(const Question& question) {
    return question.class_id.has_value() || !question.intent.empty();
}

struct Judged {
    float confidence;
    bool right;
    bool truly_default;
};

// Mean of -ln p(class) over the examples at a temperature.
double mean_loss(std::span<const std::vector<float>> logits, std::span<const Example> examples,
                 double temperature) {
    double total = 0.0;
    for (std::size_t i = 0; i < examples.size(); ++i) {
        const auto top = static_cast<double>(*std::max_element(logits[i].begin(), logits[i].end()));
        double sum = 0.0;
        double right = 0.0;
        for (std::size_t k = 0; k < logits[i].size(); ++k) {
            const double e = std::exp((static_cast<double>(logits[i][k]) - top) / temperature);
            sum += e;
            if (examples[i].allowed[k]) right += e;
        }
        total -= std::log(std::max(right / sum, 1e-12));
    }
    return total / static_cast<double>(examples.size());
}

// Golden-section search on the logarithm; the loss has one valley there.
float best_temperature(std::span<const std::vector<float>> logits, std::span<const Example> examples) {
    constexpr double kRatio = 0.6180339887498949;
    double low = std::log(0.2);
    double high = std::log(5.0);
    for (int i = 0; i < 40; ++i) {
        const double a = high - kRatio * (high - low);
        const double b = low + kRatio * (high - low);
        if (mean_loss(logits, examples, std::exp(a)) < mean_loss(logits, examples, std::exp(b))) {
            high = b;
        } else {
            low = a;
        }
    }
    return static_cast<float>(std::exp(0.5 * (low + high)));
}

// The threshold with the least cost among those that keep confident errors within the limit, less two
// standard errors of the estimate, so that other questions keep within it too.
float best_threshold(std::vector<Judged> judged) {
    std::sort(judged.begin(), judged.end(),
              [](const Judged& a, const Judged& b) { return a.confidence > b.confidence; });
    const auto n = static_cast<double>(judged.size());
    const double limit =
        n * kMaxConfidentErrors - 2.0 * std::sqrt(n * kMaxConfidentErrors * (1.0 - kMaxConfidentErrors));
    double errors = 0.0;
    double fallbacks = 0.0;
    for (const Judged& j : judged) fallbacks += j.truly_default ? 0.0 : 1.0;
    double least = kFallbackCost * fallbacks;
    float best = 1.0f;
    for (const Judged& j : judged) {
        errors += j.right ? 0.0 : 1.0;
        fallbacks -= j.truly_default ? 0.0 : 1.0;
        if (errors > limit) break;
        const double cost = errors + kFallbackCost * fallbacks;
        if (cost <= least) {
            least = cost;
            best = j.confidence;
        }
    }
    return std::floor(best * 100.0f) / 100.0f;
}

struct Calibration {
    float temperature = 1.0f;
    float threshold = 0.5f;
};

// What drafts said about questions that they were not taught.
struct Unseen {
    std::vector<Example> examples;
    std::vector<std::vector<float>> logits;  // per example and intent
    std::vector<std::size_t> true_class;
};

std::vector<float> class_probabilities(const std::vector<float>& logits, float temperature,
                                       const Taxonomy& taxonomy) {
    const float top = *std::max_element(logits.begin(), logits.end());
    std::vector<float> by_class(taxonomy.classes.size(), 0.0f);
    float sum = 0.0f;
    for (std::size_t k = 0; k < logits.size(); ++k) {
        const float e = std::exp((logits[k] - top) / temperature);
        by_class[taxonomy.class_of_intent(k)] += e;
        sum += e;
    }
    for (float& p : by_class) p /= sum;
    return by_class;
}

Calibration calibrate(const Unseen& unseen, const Taxonomy& taxonomy) {
    Calibration result;
    if (unseen.examples.empty()) return result;
    result.temperature = best_temperature(unseen.logits, unseen.examples);
    const std::size_t default_index = *taxonomy.class_index(taxonomy.default_class);
    std::vector<Judged> judged;
    for (std::size_t i = 0; i < unseen.examples.size(); ++i) {
        const std::vector<float> p = class_probabilities(unseen.logits[i], result.temperature, taxonomy);
        const auto top = static_cast<std::size_t>(std::max_element(p.begin(), p.end()) - p.begin());
        const std::size_t truth = unseen.true_class[i];
        judged.push_back({p[top], top == truth, truth == default_index});
    }
    result.threshold = best_threshold(std::move(judged));
    return result;
}

std::size_t class_of(const Question& question, const Taxonomy& taxonomy) {
    if (question.class_id) return *taxonomy.class_index(*question.class_id);
    return taxonomy.class_of_intent(*taxonomy.intent_index(question.intent));
}

}  // namespace

std::size_t part_of(const Question& question, std::size_t parts) {
    std::string key;
    for (const Word& word : split_words(question.text)) {
        if (word.kind != WordKind::Mark) key += word.text;
    }
    return static_cast<std::size_t>((hash_bytes(key) >> 20u) % parts);
}

Result<std::vector<Example>> make_examples(std::span<const Question> questions, const Taxonomy& taxonomy,
                                           const Lexicon& lexicon, float balance) {
    std::vector<Example> examples;
    std::vector<const Question*> sources;
    for (const Question& question : questions) {
        if (!is_labelled(question)) continue;
        if (!question.intent.empty() && !taxonomy.intent_index(question.intent)) {
            return Status(Code::InvalidArgument, "there is no intent " + base::in_quotes(question.intent));
        }
        if (question.class_id && !taxonomy.class_index(*question.class_id)) {
            return Status(Code::InvalidArgument, "there is no class " + std::to_string(*question.class_id));
        }
        auto words = read_question(question.text);
        if (!words) return words.status().with_context("training question " + base::in_quotes(question.text));
        Example example;
        example.features = extract_features(*words, lexicon);
        for (const RouteIntent& intent : taxonomy.intents) {
            example.allowed.push_back(question.intent.empty() ? intent.class_id == *question.class_id
                                                              : intent.name == question.intent);
        }
        examples.push_back(std::move(example));
        sources.push_back(&question);
    }
    std::map<std::string, double> counts;
    for (const Question* question : sources) counts[question->benchmark] += 1.0;
    double total = 0.0;
    for (std::size_t i = 0; i < examples.size(); ++i) {
        examples[i].weight =
            static_cast<float>(std::pow(counts[sources[i]->benchmark], -static_cast<double>(balance)));
        total += static_cast<double>(examples[i].weight);
    }
    for (Example& example : examples) {
        example.weight *= static_cast<float>(static_cast<double>(examples.size()) / total);
    }
    return examples;
}

namespace {

Status add_fold(std::span<const Question> questions, std::size_t fold, const Taxonomy& taxonomy,
                const Lexicon& lexicon, const TrainOptions& options, Unseen& unseen) {
    std::vector<Question> taught;
    std::vector<Question> asked;
    for (const Question& question : questions) {
        if (!is_labelled(question)) continue;
        const bool hold_out = question.benchmark != kOwnBenchmark && part_of(question, kFolds) == fold;
        (hold_out ? asked : taught).push_back(question);
    }
    if (asked.empty() || taught.empty()) return ok_status();
    CLASP_ASSIGN_OR_RETURN(const auto lessons, make_examples(taught, taxonomy, lexicon, options.balance));
    CLASP_ASSIGN_OR_RETURN(const Model draft, train(lessons, taxonomy.intent_names(), options));
    CLASP_ASSIGN_OR_RETURN(auto held_out, make_examples(asked, taxonomy, lexicon, 0.0f));
    for (std::size_t i = 0; i < held_out.size(); ++i) {
        unseen.logits.emplace_back(taxonomy.intents.size());
        draft.score(held_out[i].features, unseen.logits.back());
        unseen.true_class.push_back(class_of(asked[i], taxonomy));
        unseen.examples.push_back(std::move(held_out[i]));
    }
    return ok_status();
}

}  // namespace

Result<Model> fit_router(std::span<const Question> questions, const Taxonomy& taxonomy,
                         const Lexicon& lexicon, const TrainOptions& options) {
    Unseen unseen;
    for (std::size_t fold = 0; fold < kFolds; ++fold) {
        CLASP_RETURN_IF_ERROR(add_fold(questions, fold, taxonomy, lexicon, options, unseen));
    }
    const Calibration calibration = calibrate(unseen, taxonomy);
    CLASP_ASSIGN_OR_RETURN(const auto examples, make_examples(questions, taxonomy, lexicon, options.balance));
    CLASP_ASSIGN_OR_RETURN(Model model, train(examples, taxonomy.intent_names(), options));
    model.set_calibration(calibration.temperature, calibration.threshold);
    return model;
}

}  // namespace clasp::route
