#include "route/labelled.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "base/text.h"
#include "route/calibrate.h"
#include "route/hash.h"

namespace clasp::route {

namespace {

// Questions are left out of a draft in six turns.
constexpr std::size_t kFolds = 6;

bool is_labelled(const Question& question) {
    return question.class_id.has_value() || !question.intent.empty();
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

std::vector<Question> in_teaching_order(std::span<const Question> questions) {
    std::vector<std::pair<std::uint64_t, const Question*>> order;
    order.reserve(questions.size());
    for (const Question& question : questions) order.emplace_back(hash_bytes(question.text), &question);
    const auto key = [](const auto& entry) {
        const Question& q = *entry.second;
        return std::tie(entry.first, q.text, q.benchmark, q.intent, q.class_id);
    };
    std::sort(order.begin(), order.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
    std::vector<Question> ordered;
    ordered.reserve(order.size());
    for (const auto& entry : order) ordered.push_back(*entry.second);
    return ordered;
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

// Which of the drafts leaves a question out. Whole benchmarks are left out together, large ones first
// into the emptiest fold, so that a draft is asked about sets that it has never seen; without benchmarks to
// speak of a hash of the words decides.
class Folds {
   public:
    explicit Folds(std::span<const Question> questions) {
        std::map<std::string, std::size_t> sizes;
        for (const Question& question : questions) {
            if (is_labelled(question) && question.benchmark != kOwnBenchmark) ++sizes[question.benchmark];
        }
        if (sizes.size() < kFolds) return;
        std::vector<std::pair<std::size_t, std::string>> order;
        order.reserve(sizes.size());
        for (const auto& [name, n] : sizes) order.emplace_back(n, name);
        std::stable_sort(order.begin(), order.end(),
                         [](const auto& a, const auto& b) { return a.first > b.first; });
        std::array<std::size_t, kFolds> filled{};
        for (const auto& [n, name] : order) {
            const auto emptiest = std::min_element(filled.begin(), filled.end());
            *emptiest += n;
            fold_of_[name] = static_cast<std::size_t>(emptiest - filled.begin());
        }
    }

    [[nodiscard]] bool leaves_out(const Question& question, std::size_t fold) const {
        if (question.benchmark == kOwnBenchmark) return false;
        const auto found = fold_of_.find(question.benchmark);
        return (found != fold_of_.end() ? found->second : part_of(question, kFolds)) == fold;
    }

   private:
    std::map<std::string, std::size_t> fold_of_;
};

Status add_fold(std::span<const Question> questions, const Folds& folds, std::size_t fold,
                const Taxonomy& taxonomy, const Lexicon& lexicon, const TrainOptions& options,
                std::vector<UnseenQuestion>& unseen) {
    std::vector<Question> taught;
    std::vector<Question> asked;
    for (const Question& question : questions) {
        if (is_labelled(question)) (folds.leaves_out(question, fold) ? asked : taught).push_back(question);
    }
    if (asked.empty() || taught.empty()) return ok_status();
    CLASP_ASSIGN_OR_RETURN(const auto lessons, make_examples(taught, taxonomy, lexicon, options.balance));
    CLASP_ASSIGN_OR_RETURN(const Model draft, train(lessons, taxonomy.intent_names(), options));
    CLASP_ASSIGN_OR_RETURN(auto held_out, make_examples(asked, taxonomy, lexicon, 0.0f));
    for (std::size_t i = 0; i < held_out.size(); ++i) {
        UnseenQuestion& question = unseen.emplace_back();
        question.logits.resize(taxonomy.intents.size());
        draft.score(held_out[i].features, question.logits);
        question.allowed = std::move(held_out[i].allowed);
        question.true_class = class_of(asked[i], taxonomy);
    }
    return ok_status();
}

Result<LanguageProfile> learn_profile(std::span<const Question> questions) {
    std::vector<std::vector<Word>> texts;
    for (const Question& question : questions) {
        auto words = read_question(question.text);
        if (!words) return words.status().with_context("training question " + base::in_quotes(question.text));
        texts.push_back(std::move(words).value());
    }
    return LanguageProfile::learn(texts);
}

}  // namespace

Result<Model> fit_router(std::span<const Question> lines, const Taxonomy& taxonomy, const Lexicon& lexicon,
                         const TrainOptions& options) {
    const std::vector<Question> questions = in_teaching_order(lines);
    std::vector<UnseenQuestion> unseen;
    const Folds folds(questions);
    for (std::size_t fold = 0; fold < kFolds; ++fold) {
        CLASP_RETURN_IF_ERROR(add_fold(questions, folds, fold, taxonomy, lexicon, options, unseen));
    }
    CLASP_ASSIGN_OR_RETURN(const auto examples, make_examples(questions, taxonomy, lexicon, options.balance));
    CLASP_ASSIGN_OR_RETURN(Model model, train(examples, taxonomy.intent_names(), options));
    CLASP_ASSIGN_OR_RETURN(LanguageProfile profile, learn_profile(questions));
    model.set_calibration(calibrate(unseen, taxonomy));
    model.set_profile(std::move(profile));
    return model;
}

}  // namespace clasp::route
