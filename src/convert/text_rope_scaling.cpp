#include "convert/text_rope_scaling.h"

#include <cmath>
#include <numbers>

namespace clasp::convert {
namespace {

constexpr std::size_t kMaxFrequencies = 1U << 16U;
constexpr std::uint64_t kMaxOriginal = 1U << 28U;
constexpr double kMaxRopeFactor = 1e6;

Result<double> read_factor(const ModelConfig& scaling, const char* key) {
    CLASP_ASSIGN_OR_RETURN(const double factor, scaling.number(key));
    if (factor > 0.0 && factor <= kMaxRopeFactor) return factor;
    return scaling.wrong(key, "is not in (0, 1000000]");
}

// Llama 3: slow rotations become slower by the factor, fast ones stay, those between change by degrees.
Status add_llama3_factors(const ModelConfig& scaling, double base, std::uint64_t n_rotated,
                          ConversionPlan& plan) {
    CLASP_ASSIGN_OR_RETURN(const double factor, read_factor(scaling, "factor"));
    CLASP_ASSIGN_OR_RETURN(const double low, read_factor(scaling, "low_freq_factor"));
    CLASP_ASSIGN_OR_RETURN(const double high, read_factor(scaling, "high_freq_factor"));
    CLASP_ASSIGN_OR_RETURN(const double original, read_factor(scaling, "original_max_position_embeddings"));
    if (high <= low) return scaling.wrong("high_freq_factor", "is not above low_freq_factor");
    std::vector<float> factors;
    for (std::uint64_t i = 0; i < n_rotated; i += 2) {
        const double exponent = static_cast<double>(i) / static_cast<double>(n_rotated);
        const double wavelength = 2.0 * std::numbers::pi * std::pow(base, exponent);
        double divisor = 1.0;
        if (wavelength > original / low) {
            divisor = factor;
        } else if (wavelength >= original / high) {
            const double share = (original / wavelength - low) / (high - low);
            divisor = 1.0 / ((1.0 - share) / factor + share);
        }
        factors.push_back(static_cast<float>(divisor));
    }
    add_values(plan.text, "rope_freqs.weight", std::move(factors));
    return ok_status();
}

// Phi 3: a factor for each frequency, others for long texts.
Status add_long_factors(const ModelConfig& config, const ModelConfig& scaling, const TextDecoder& decoder,
                        const TextShape& shape, std::uint64_t n_rotated, ConversionPlan& plan) {
    if (decoder.architecture != "phi3") {
        return config.unsupported("rope_scaling", "longrope can be converted for phi3 alone");
    }
    CLASP_ASSIGN_OR_RETURN(const std::uint64_t original,
                           config.count("original_max_position_embeddings", kMaxOriginal));
    const std::string arch(decoder.architecture);
    for (const auto& [key, name] : {std::pair("long_factor", "rope_factors_long.weight"),
                                    std::pair("short_factor", "rope_factors_short.weight")}) {
        CLASP_ASSIGN_OR_RETURN(const auto numbers, scaling.numbers(key, kMaxFrequencies));
        if (numbers.size() != n_rotated / 2) {
            return scaling.wrong(key, "has " + std::to_string(numbers.size()) + " numbers, not " +
                                          std::to_string(n_rotated / 2));
        }
        add_values(plan.text, name, std::vector<float>(numbers.begin(), numbers.end()));
    }
    plan.text.keys.set_u32(arch + ".rope.scaling.original_context_length", original);
    const double grown = static_cast<double>(shape.context_length) / static_cast<double>(original);
    const double factor =
        grown <= 1.0 ? 1.0 : std::sqrt(1.0 + std::log(grown) / std::log(static_cast<double>(original)));
    plan.text.keys.set_f32(arch + ".rope.scaling.attn_factor", factor);
    return ok_status();
}

Status set_scaling(const ModelConfig& config, const ModelConfig& scaling, const TextDecoder& decoder,
                   const TextShape& shape, double base, std::uint64_t n_rotated, ConversionPlan& plan) {
    CLASP_ASSIGN_OR_RETURN(std::string type, scaling.text("type", ""));
    CLASP_ASSIGN_OR_RETURN(type, scaling.text("rope_type", type));
    const std::string arch(decoder.architecture);
    if (type.empty() || type == "default") return ok_status();
    if (type == "dynamic") {
        plan.notes.push_back(
            "the decoder's dynamic scaling of positions is not converted; it would act beyond " +
            std::to_string(shape.context_length) + " positions alone");
        return ok_status();
    }
    if (type == "llama3" && arch == "llama") return add_llama3_factors(scaling, base, n_rotated, plan);
    if (type == "longrope" || type == "su") {
        return add_long_factors(config, scaling, decoder, shape, n_rotated, plan);
    }
    if (type != "linear" && type != "yarn") {
        return config.unsupported("rope_scaling", "linear, yarn, dynamic, llama3 and longrope are known");
    }
    CLASP_ASSIGN_OR_RETURN(const double factor, read_factor(scaling, "factor"));
    plan.text.keys.set_text(arch + ".rope.scaling.type", type);
    plan.text.keys.set_f32(arch + ".rope.scaling.factor", factor);
    if (type == "linear") return ok_status();
    for (const char* key : {"beta_fast", "beta_slow", "attention_factor", "mscale", "mscale_all_dim"}) {
        if (scaling.has(key)) return scaling.unsupported(key, "yarn can be converted without it");
    }
    CLASP_ASSIGN_OR_RETURN(const std::uint64_t original,
                           scaling.count("original_max_position_embeddings", kMaxOriginal));
    plan.text.keys.set_u32(arch + ".rope.scaling.original_context_length", original);
    return ok_status();
}

}  // namespace

Status set_rope(const ModelConfig& config, const TextDecoder& decoder, const TextShape& shape,
                std::uint64_t n_rotated, ConversionPlan& plan) {
    // Newer configs keep both in one object.
    const bool is_new = config.is_object("rope_parameters");
    const ModelConfig scaling = config.part(is_new ? "rope_parameters" : "rope_scaling");
    const ModelConfig& has_base = is_new ? scaling : config;
    CLASP_ASSIGN_OR_RETURN(const double base, has_base.number("rope_theta", decoder.defaults.rope_base));
    if (!(base >= 1.0 && base <= 1e15)) return has_base.wrong("rope_theta", "is not in [1, 1e15]");
    plan.text.keys.set_f32(std::string(decoder.architecture) + ".rope.freq_base", base);
    return set_scaling(config, scaling, decoder, shape, base, n_rotated, plan);
}

}  // namespace clasp::convert
