// Questions in text to a trained model, where scripts/fetch-tinyllama has put it: our own graphs answer as
// libllama does, token by token. With ggml's products, and with ours of Q4_0, that is so to the bit but for
// the head; of other types, whose sums we add in another order, wherever two answers are not about equally
// likely, and with the same likelihood of text.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "clasp/engine.h"
#include "engine/executor.h"
#include "engine/prompt.h"
#include "engine/sequence.h"
#include "support/llama_oracle.h"
#include "support/paths.h"
#include "support/trained_model.h"

namespace clasp::engine {
namespace {

constexpr std::size_t kTokens = 64;
// libllama sums attention by threads.
constexpr std::size_t kThreads = 1;
// Of logits whose two best are as near as 0.001; the same kernels over the same layouts give the same bits.
constexpr float kTolerance = 1e-4F;

constexpr std::array kQuestions = {
    "What is the capital of France?",
    "Name three primary colours.",
    "How many days does a week have?",
    "Write one sentence about the sea.",
    "Who wrote Romeo and Juliet?",
    "What is water made of?",
    "Explain in two sentences why the sky is blue.",
    "List the planets of the solar system.",
    "What is 7 times 8?",
    "Give me a recipe for pancakes.",
};

std::int32_t best(std::span<const float> logits) {
    return static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

// The distance of the two best.
float gap(std::span<const float> logits) {
    std::vector<float> sorted(logits.begin(), logits.end());
    std::partial_sort(sorted.begin(), sorted.begin() + 2, sorted.end(), std::greater<>());
    return sorted[0] - sorted[1];
}

class TrainedText : public testing::Test {
   protected:
    void SetUp() override {
        file_ = test::tinyllama_path();
        if (!std::filesystem::exists(file_)) {
            GTEST_SKIP() << "no trained model at '" << file_ << "': run scripts/fetch-tinyllama";
        }
    }
    std::string file_;
};

using LlamaPointer = std::unique_ptr<llama_model, decltype(&llama_model_free)>;

LlamaPointer load_by_libllama(const std::string& file) {
    llama_model_params params = llama_model_default_params();
    params.n_gpu_layers = 0;
    return {llama_model_load_from_file(file.c_str(), params), llama_model_free};
}

// Who reads a prompt and then a token at a time; both return the logits of what could come next.
struct Reader {
    std::function<std::vector<float>(std::span<const PromptPart>)> prefill;
    std::function<std::vector<float>(std::int32_t)> step;
};

Reader our_graphs(const std::shared_ptr<const model::TextModel>& model) {
    const std::shared_ptr<Executor> executor = std::move(Executor::create(model)).value();
    const auto sequence = std::make_shared<Sequence>(std::move(Sequence::create(model)).value());
    return {[=](std::span<const PromptPart> parts) {
                auto prefill = executor->prefill(*sequence, {.parts = parts, .room = kTokens});
                EXPECT_TRUE(prefill.ok()) << prefill.status().message();
                return prefill.ok() ? prefill->logits : std::vector<float>();
            },
            [=](std::int32_t token) {
                const auto next = executor->step(*sequence, token);
                EXPECT_TRUE(next.ok()) << next.status().message();
                return next.ok() ? std::vector<float>(next->begin(), next->end()) : std::vector<float>();
            }};
}

Reader libllama(const model::TextModel& model, llama_model* loaded) {
    const auto oracle =
        std::make_shared<test::LlamaOracle>(model, 512, static_cast<std::int32_t>(kThreads), loaded);
    return {[=](std::span<const PromptPart> parts) { return oracle->prefill(parts); },
            [=](std::int32_t token) { return oracle->decode(token); }};
}

struct Comparison {
    float largest_difference = 0.0F;  // of logits
    float largest_gap = 0.0F;         // between libllama's two best where it would have said something else
    std::size_t n_tokens = 0;
    std::size_t n_others = 0;  // tokens that libllama would not have said
};

std::ostream& operator<<(std::ostream& out, const Comparison& seen) {
    return out << seen.n_others << " of " << seen.n_tokens << " tokens, where libllama's two best are up to "
               << seen.largest_gap << " apart; logits differ by up to " << seen.largest_difference;
}

// Both read the same prompt, made by our chat template; libllama is then fed the other's tokens.
void compare_answers(const model::TextModel& model, const Reader& one, const Reader& libllama,
                     const char* question, Comparison& seen) {
    const std::array<Message, 1> messages = {Message{Message::Role::User, {{.text = question}}}};
    const auto prompt = build_prompt(model, messages);
    ASSERT_TRUE(prompt.ok()) << prompt.status().message();
    ASSERT_EQ(prompt->pieces.size(), 1U);
    const std::array<PromptPart, 1> parts = {PromptPart{.tokens = prompt->pieces[0].tokens}};
    std::vector<float> ours = one.prefill(parts);
    std::vector<float> theirs = libllama.prefill(parts);
    const std::size_t before = seen.n_tokens;
    for (std::size_t i = 0; i < kTokens; ++i) {
        ASSERT_FALSE(ours.empty());
        ASSERT_EQ(theirs.size(), ours.size());
        const std::int32_t token = best(ours);
        for (std::size_t j = 0; j < ours.size(); ++j)
            seen.largest_difference = std::max(seen.largest_difference, std::abs(ours[j] - theirs[j]));
        if (token != best(theirs)) {
            ++seen.n_others;
            seen.largest_gap = std::max(seen.largest_gap, gap(theirs));
        }
        if (model.ends_generation(token)) break;
        ++seen.n_tokens;
        ours = one.step(token);
        theirs = libllama.step(token);
    }
    EXPECT_GT(seen.n_tokens, before) << question;
}

// libllama's bits come only from its products.
TEST_F(TrainedText, WithGgmlsProductsAnswersAreThoseOfLibllama) {
    const std::shared_ptr<model::Compute> compute = model::Compute::create({.n_threads = kThreads}).value();
    const auto model = model::TextModel::load(file_, compute, {.kernels = model::DecoderKernels::Ggml});
    ASSERT_TRUE(model.ok()) << model.status().message();
    const LlamaPointer loaded = load_by_libllama(file_);
    ASSERT_NE(loaded, nullptr);
    for (const char* question : kQuestions) {
        Comparison seen;
        compare_answers(**model, our_graphs(*model), libllama(**model, loaded.get()), question, seen);
        EXPECT_EQ(seen.n_others, 0U) << question << ": " << seen;
        EXPECT_LT(seen.largest_difference, kTolerance) << question;
    }
}

TEST_F(TrainedText, TheEngineAnswersWithoutAVisionFile) {
    EngineOptions options;
    options.model = file_;
    options.n_threads = kThreads;
    const auto engine = Engine::load(options);
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    EXPECT_EQ((*engine)->info().weight_type, "IQ2_XXS");
    AskRequest request;
    request.question = "What is the capital of France?";
    request.generation.max_tokens = 32;
    const auto answer = (*engine)->ask(request);
    ASSERT_TRUE(answer.ok()) << answer.status().message();
    EXPECT_NE(answer->text.find("Paris"), std::string::npos) << answer->text;
}

struct Quantised {
    const char* name;
    std::optional<llama_ftype> type = std::nullopt;  // nothing: the file as it is
    // The distance of libllama's two best from which on answers are the same; 0: answers are not compared.
    // Logits differ by up to 1 because rounding is amplified over the layers, as much as libllama's do
    // between its own layouts; wherever the answers differ, the two best were less than this apart.
    float sure = 0.0F;
    bool has_llamas_bits = false;
};

// Most matrices of the trained model's file have a type that stays with ggml (IQ2_XXS; others are Q2_K, Q4_K,
// Q5_K), so it is quantised anew, by libllama.
class TrainedKernels : public TrainedText, public testing::WithParamInterface<Quantised> {
   protected:
    void SetUp() override {
        TrainedText::SetUp();
        if (IsSkipped()) return;
        ASSERT_TRUE(model::prepare_ggml().ok());
        if (GetParam().type) quantise(*GetParam().type);
        compute_ = model::Compute::create({.n_threads = kThreads}).value();
        auto model = model::TextModel::load(file_, compute_);
        ASSERT_TRUE(model.ok()) << model.status().message();
        model_ = *model;
        loaded_ = load_by_libllama(file_);
        ASSERT_NE(loaded_, nullptr);
    }
    void TearDown() override {
        if (!made_.empty()) std::filesystem::remove(made_);
    }
    void quantise(llama_ftype type) {
        made_ = std::string(test::scratch_dir()) + "/trained-" + GetParam().name + "-" +
                std::to_string(::getpid()) + ".gguf";
        llama_model_quantize_params params = llama_model_quantize_default_params();
        params.ftype = type;
        params.allow_requantize = true;
        params.nthread = 2;
        ASSERT_EQ(llama_model_quantize(file_.c_str(), made_.c_str(), &params), 0U);
        file_ = made_;
    }
    void compare_likelihood() const;
    void compare_all_answers() const;

    std::string made_;
    std::shared_ptr<model::Compute> compute_;
    std::shared_ptr<const model::TextModel> model_;
    LlamaPointer loaded_ = {nullptr, llama_model_free};
};

// Negative log-likelihood of a token.
double surprise(std::span<const float> logits, std::int32_t token) {
    const float top = *std::max_element(logits.begin(), logits.end());
    double sum = 0.0;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit - top));
    return std::log(sum) + static_cast<double>(top - logits[static_cast<std::size_t>(token)]);
}

// The means are within 0.1 % of each other, or within four standard errors: what rounding changes at a token
// has either sign, and where the sum of 2,000 of them goes depends on the text and on the processor, whose
// kernels libllama chooses.
void expect_alike(std::span<const double> ours, std::span<const double> theirs) {
    const auto n = static_cast<double>(ours.size());
    double mean = 0.0;
    double difference = 0.0;
    for (std::size_t i = 0; i < ours.size(); ++i) {
        mean += theirs[i] / n;
        difference += (ours[i] - theirs[i]) / n;
    }
    double variance = 0.0;
    for (std::size_t i = 0; i < ours.size(); ++i) {
        const double away = ours[i] - theirs[i] - difference;
        variance += away * away / (n - 1.0);
    }
    const double error = std::sqrt(variance / n) / mean;
    const double share = difference / mean;
    testing::Test::RecordProperty("libllama", std::to_string(mean));
    testing::Test::RecordProperty("difference", std::to_string(share));
    testing::Test::RecordProperty("standard_error", std::to_string(error));
    EXPECT_LT(std::abs(share), std::max(1e-3, 4.0 * error)) << "of " << mean << ", standard error " << error;
    EXPECT_LT(error, 1e-3);
}

// Tokens of this project's pages as they once were (a page that changes would change the figures), 2,000 in
// eight sequences. A beginning of each is read as a prompt, long enough for the kernels that attend in
// prompts and for products of many rows; the tokens after it, which count, go through the decoder side by
// side.
void TrainedKernels::compare_likelihood() const {
    constexpr std::size_t kSequences = 8;
    constexpr std::size_t kBeginning = 128;
    constexpr std::size_t kLength = kBeginning + 250;
    std::ifstream in(std::string(test::source_dir()) + "/tests/data/text/pages.txt");
    const std::string text(std::istreambuf_iterator<char>(in), {});
    const auto tokens = model_->tokenize(text, false, false);
    ASSERT_TRUE(tokens.ok());
    ASSERT_GE(tokens->size(), kSequences * kLength);
    const auto part = [&](std::size_t i) { return std::span(*tokens).subspan(i * kLength, kLength); };

    // Of each token that counts, by both.
    constexpr std::size_t kCounting = kLength - kBeginning;
    std::vector<double> theirs(kSequences * kCounting);
    std::vector<double> ours(kSequences * kCounting);
    for (std::size_t i = 0; i < kSequences; ++i) {
        test::LlamaOracle oracle(*model_, 512, static_cast<std::int32_t>(kThreads), loaded_.get());
        const std::array<PromptPart, 1> parts = {PromptPart{.tokens = part(i)}};
        ASSERT_FALSE(oracle.prefill(parts, true).empty());
        const std::size_t width = oracle.all_logits().size() / kLength;
        for (std::size_t k = 0; k < kCounting; ++k) {
            theirs[i * kCounting + k] =
                surprise(std::span(oracle.all_logits()).subspan((kBeginning + k - 1) * width, width),
                         part(i)[kBeginning + k]);
        }
    }

    const auto executor = Executor::create(model_);
    ASSERT_TRUE(executor.ok()) << executor.status().message();
    std::vector<Sequence> sequences;
    for (std::size_t i = 0; i < kSequences; ++i) {
        sequences.push_back(std::move(Sequence::create(model_)).value());
        const std::array<PromptPart, 1> parts = {PromptPart{.tokens = part(i).first(kBeginning)}};
        const auto first = (*executor)->prefill(sequences.back(), {.parts = parts, .room = kLength});
        ASSERT_TRUE(first.ok()) << first.status().message();
        ours[i * kCounting] = surprise(first->logits, part(i)[kBeginning]);
    }
    for (std::size_t k = 1; k < kCounting; ++k) {
        std::vector<NextToken> batch;
        for (std::size_t i = 0; i < kSequences; ++i) {
            batch.push_back({&sequences[i], part(i)[kBeginning + k - 1]});
        }
        const auto logits = (*executor)->step(batch);
        ASSERT_TRUE(logits.ok()) << logits.status().message();
        for (std::size_t i = 0; i < kSequences; ++i) {
            ours[i * kCounting + k] = surprise((*logits)[i], part(i)[kBeginning + k]);
        }
    }
    expect_alike(ours, theirs);
}

// Q4_0 is multiplied with llama.cpp's bits, and short prompts attend with ggml's kernel, so answers are
// libllama's. Of the other types the sums have another order; rounding to bytes in every layer amplifies
// that, so that about one token in a hundred is another one, where two are nearly as likely.
void TrainedKernels::compare_all_answers() const {
    Comparison seen;
    for (const char* question : kQuestions) {
        compare_answers(*model_, our_graphs(model_), libllama(*model_, loaded_.get()), question, seen);
    }
    RecordProperty("tokens", static_cast<int>(seen.n_tokens));
    RecordProperty("others", static_cast<int>(seen.n_others));
    RecordProperty("largest_gap", std::to_string(seen.largest_gap));
    RecordProperty("largest_difference", std::to_string(seen.largest_difference));
    EXPECT_LT(seen.largest_gap, GetParam().sure) << seen;
    EXPECT_LT(50 * seen.n_others, seen.n_tokens) << seen;
    if (GetParam().has_llamas_bits) {
        EXPECT_LT(seen.largest_difference, kTolerance) << seen;
    }
}

// In one test, so that the file is made and read once.
TEST_P(TrainedKernels, ReadAndAnswerAsLibllamaDoes) {
    compare_likelihood();
    if (GetParam().sure > 0.0F) compare_all_answers();
}

INSTANTIATE_TEST_SUITE_P(Types, TrainedKernels,
                         testing::Values(Quantised{.name = "as_it_is"},
                                         Quantised{"q4_0", LLAMA_FTYPE_MOSTLY_Q4_0, 1e-3F, true},
                                         Quantised{"q4_k_m", LLAMA_FTYPE_MOSTLY_Q4_K_M, 0.25F},
                                         Quantised{"q8_0", LLAMA_FTYPE_MOSTLY_Q8_0, 0.25F}),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace clasp::engine
