#include "methods/holov.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "methods/methods.h"
#include "methods/ranking.h"
#include "methods/signals.h"

namespace clasp::methods {
namespace {

struct Chunk {
    std::size_t begin = 0;
    std::size_t size = 0;
};

// Keeps the divisions below finite.
constexpr double kTiny = 1e-6;

// Consecutive runs; the first n % count of them are one longer.
std::vector<Chunk> cut(std::size_t n, std::size_t count) {
    std::vector<Chunk> chunks(count);
    std::size_t begin = 0;
    for (std::size_t i = 0; i < count; ++i) {
        chunks[i] = {begin, n / count + (i < n % count ? 1 : 0)};
        begin += chunks[i].size;
    }
    return chunks;
}

// How unevenly token i of the chunk resembles the others. Its own similarity counts as 0 but is in the sum.
double similarity_variance(const GramView& gram, const Chunk& chunk, std::size_t i) {
    const float* row = gram.data + (chunk.begin + i) * gram.stride + chunk.begin;
    const auto n_others = static_cast<double>(chunk.size - 1);
    const auto entry = [&](std::size_t j) { return j == i ? 0.0 : static_cast<double>(row[j]); };
    double sum = 0;
    for (std::size_t j = 0; j < chunk.size; ++j) sum += entry(j);
    const double mean = sum / n_others;
    double squares = 0;
    for (std::size_t j = 0; j < chunk.size; ++j) squares += (entry(j) - mean) * (entry(j) - mean);
    return squares / n_others;
}

double chunk_score(std::span<const float> class_attention, const GramView& gram, const Chunk& chunk,
                   double variance_weight) {
    const auto n = static_cast<double>(chunk.size);
    double attention = 0;
    double magnitude = 0;
    for (const float value : class_attention.subspan(chunk.begin, chunk.size)) {
        attention += static_cast<double>(value) / n;
        magnitude += std::abs(static_cast<double>(value)) / n;
    }
    if (chunk.size == 1) return attention;
    double variance = 0;
    for (std::size_t i = 0; i < chunk.size; ++i) variance += similarity_variance(gram, chunk, i) / n;
    constexpr double kAttentionScale = 1000.0;
    const double scale = kAttentionScale * magnitude / (variance + kTiny);
    return kAttentionScale * attention + variance_weight * scale * variance;
}

// The budget by score: whole parts first, then one each by score. A chunk may get more than it has tokens.
std::vector<std::size_t> quotas_of(std::span<const double> scores, std::span<const TokenIndex> order,
                                   std::size_t keep) {
    double total = kTiny;
    for (const double score : scores) total += score;
    std::vector<std::size_t> quotas(scores.size());
    std::size_t given = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
        const double exact = scores[i] / total * static_cast<double>(keep);
        quotas[i] = std::min(static_cast<std::size_t>(std::max(exact, 0.0)), keep - given);
        given += quotas[i];
    }
    for (const TokenIndex chunk : order) {
        if (given == keep) break;
        ++quotas[chunk];
        ++given;
    }
    return quotas;
}

// What full chunks cannot use goes to the others one by one, by score. There is room for all of it.
void redistribute(std::span<const Chunk> chunks, std::span<const TokenIndex> order, std::size_t keep,
                  std::vector<std::size_t>& quotas) {
    std::size_t given = 0;
    for (std::size_t i = 0; i < chunks.size(); ++i) {
        quotas[i] = std::min(quotas[i], chunks[i].size);
        given += quotas[i];
    }
    while (given < keep) {
        for (const TokenIndex chunk : order) {
            if (given == keep || quotas[chunk] == chunks[chunk].size) continue;
            ++quotas[chunk];
            ++given;
        }
    }
}

// The most attended tokens of a chunk, in the order in which they are emitted.
std::vector<TokenIndex> choose_in(std::span<const float> class_attention, const Chunk& chunk,
                                  std::size_t quota, bool sorts) {
    const auto attention = class_attention.subspan(chunk.begin, chunk.size);
    std::vector<TokenIndex> chosen;
    // A chunk that stays whole is not reordered.
    if (sorts || quota >= chunk.size) {
        chosen = highest(attention, std::min(quota, chunk.size));
    } else {
        chosen = ranked(attention);
        chosen.resize(quota);
    }
    for (TokenIndex& token : chosen) token += static_cast<TokenIndex>(chunk.begin);
    return chosen;
}

void add_zeros(std::span<const float> class_attention, std::size_t count, std::vector<TokenIndex> kept,
               Plan& plan) {
    std::sort(kept.begin(), kept.end());
    const std::vector<TokenIndex> dropped = others(class_attention.size(), kept);
    std::vector<float> attention;
    for (const TokenIndex token : dropped) attention.push_back(class_attention[token]);
    for (const TokenIndex position : highest(attention, count)) {
        const MergeSource nothing = {dropped[position], 0.0F};
        plan.merge(dropped[position], {&nothing, 1});
    }
}

}  // namespace

Result<Plan> holov(std::span<const float> class_attention, const GramView& gram, std::size_t keep,
                   const HolovOptions& options) {
    const std::size_t n = class_attention.size();
    CLASP_RETURN_IF_ERROR(check_budget(keep, n));
    CLASP_RETURN_IF_ERROR(check_scores(class_attention, n, "class attention"));
    CLASP_RETURN_IF_ERROR(check_cosines(gram, n));
    if (options.chunks == 0) return Status(Code::InvalidArgument, "the raster needs at least 1 chunk");
    if (!(options.variance_weight >= 0.0) || !std::isfinite(options.variance_weight)) {
        return Status(Code::InvalidArgument, "the weight of the variance " +
                                                 std::to_string(options.variance_weight) +
                                                 " is not a finite number from 0 on");
    }
    if (keep >= n) return keep_all_tokens(n);

    const std::vector<Chunk> chunks = cut(n, std::min(options.chunks, n));
    std::vector<double> scores;
    std::vector<float> ranks;
    for (const Chunk& chunk : chunks) {
        scores.push_back(chunk_score(class_attention, gram, chunk, options.variance_weight));
        ranks.push_back(static_cast<float>(scores.back()));
    }
    const std::vector<TokenIndex> order = ranked(ranks);
    std::vector<std::size_t> quotas = quotas_of(scores, order, keep);
    if (!options.pads_with_zeros) redistribute(chunks, order, keep, quotas);

    Plan plan;
    std::vector<TokenIndex> kept;
    for (std::size_t i = 0; i < chunks.size(); ++i) {
        const std::vector<TokenIndex> chosen =
            choose_in(class_attention, chunks[i], quotas[i], options.sorts);
        kept.insert(kept.end(), chosen.begin(), chosen.end());
    }
    if (kept.size() == keep && options.sorts) return keep_tokens(std::move(kept), Reason::Pivot);
    for (const TokenIndex token : kept) plan.keep(token, Reason::Pivot);
    const std::size_t n_zeros = keep - kept.size();
    if (n_zeros > 0) add_zeros(class_attention, n_zeros, std::move(kept), plan);
    return plan;
}

namespace {

class HolovRun : public MethodRun {
   public:
    HolovRun(const Setup& setup, std::size_t entering) : block_(setup.vision.feature_layer) {
        const bool is_code = setup.settings.is("faithful", "code");
        options_.chunks = setup.settings.integer("chunks");
        options_.variance_weight = setup.settings.number("variance");
        options_.pads_with_zeros = is_code;
        options_.sorts = !is_code;
        program_.encoder.class_attention = {block_};
        program_.encoder.gram = true;
        program_.has_after_projector = true;
        program_.entering = entering;
        program_.positions = PositionMode::Compact;
    }

    Status after_projector(const ImageInput& input, Plan& plan) override {
        CLASP_ASSIGN_OR_RETURN(plan,
                               holov(mean_class_attention(input, block_), input.gram, input.keep, options_));
        return ok_status();
    }

   private:
    std::size_t block_;
    HolovOptions options_;
};

Result<std::unique_ptr<MethodRun>> start(const Setup& setup) {
    CLASP_RETURN_IF_ERROR(require_class_token(setup, "holov"));
    CLASP_ASSIGN_OR_RETURN(const std::size_t entering, entering_count(setup.budget, "holov"));
    return std::unique_ptr<MethodRun>(new HolovRun(setup, entering));
}

}  // namespace

Method holov_method() {
    return {.name = "holov",
            .summary = "chunks of the picture share the budget by attention and variety",
            .paper =
                "Don't Just Chase Highlighted Tokens in MLLMs: Revisiting Visual Holistic Context Retention "
                "(NeurIPS 2025)",
            .options = {faithful_option("paper"),
                        {.name = "chunks",
                         .help = "runs of patches that share the budget",
                         .fallback = "16",
                         .type = OptionSpec::Type::Integer,
                         .min = 1,
                         .max = 4096},
                        {.name = "variance",
                         .help = "weight of the variance of similarities against attention",
                         .fallback = "0.09",
                         .type = OptionSpec::Type::Number,
                         .min = 0,
                         .max = 1000}},
            .start = start};
}

}  // namespace clasp::methods
