#include "serve/sampling_fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "base/text.h"
#include "request/grammar_text.h"
#include "request/json_grammar.h"

namespace clasp::serve {

namespace {

using base::Json;

constexpr long long kMaxSeed = 4294967295;
constexpr double kMaxBias = 1e6;

Refusal wrong_bias(const Fields& fields) {
    return bad_field(
        "wrong_type", fields.name("logit_bias"),
        fields.name("logit_bias") +
            " takes {\"TOKEN\": BIAS} or [[TOKEN, BIAS]], a token by its number and a bias of at "
            "most 1000000, or false for never");
}

// One of the list, or of the object whose keys are numbers as text.
bool add_bias(const Json& token, const Json& bias, std::vector<TokenBias>& biases) {
    TokenBias one;
    if (const std::string* text = token.as_string()) {
        const char* const end = text->data() + text->size();
        const auto read = std::from_chars(text->data(), end, one.token);
        if (read.ec != std::errc() || read.ptr != end) return false;
    } else if (!token.get_to(one.token)) {
        return false;
    }
    if (bias == Json(false)) {
        one.bias = -std::numeric_limits<double>::infinity();
    } else if (!bias.get_to(one.bias) || std::abs(one.bias) > kMaxBias) {
        return false;
    }
    biases.push_back(one);
    return true;
}

Check read_biases(const Fields& fields, GenerationOptions& generation) {
    const Json* value = fields.find("logit_bias");
    if (value == nullptr) return std::nullopt;
    if (!value->is_array() && !value->is_object()) return wrong_bias(fields);
    if (value->size() > kMaxTokenBiases) {
        return bad_field("out_of_range", fields.name("logit_bias"),
                         fields.name("logit_bias") + " takes at most " + std::to_string(kMaxTokenBiases) +
                             " tokens, got " + std::to_string(value->size()));
    }
    for (const Json& pair : *value) {
        if (pair.size() != 2 || !add_bias(pair[0], pair[1], generation.token_bias)) return wrong_bias(fields);
    }
    for (const base::JsonMember& member : value->items()) {
        if (!add_bias(Json(member.key), member.value, generation.token_bias)) return wrong_bias(fields);
    }
    return std::nullopt;
}

Check read_penalties(const Fields& fields, GenerationOptions& generation) {
    std::optional<double> frequency;
    std::optional<double> presence;
    std::optional<double> repeat;
    CLASP_RETURN_IF_REFUSED(fields.read("frequency_penalty", -2.0, 2.0, frequency));
    CLASP_RETURN_IF_REFUSED(fields.read("presence_penalty", -2.0, 2.0, presence));
    CLASP_RETURN_IF_REFUSED(fields.read("repeat_penalty", 0.01, 10.0, repeat));
    if (frequency) generation.frequency_penalty = *frequency;
    if (presence) generation.presence_penalty = *presence;
    if (repeat) generation.repeat_penalty = *repeat;
    return std::nullopt;
}

}  // namespace

Check read_max_tokens(const Fields& fields, const std::vector<std::string_view>& names,
                      const RequestLimits& limits, ChatRequest& chat, GenerationOptions& generation) {
    const auto limit = static_cast<long long>(limits.max_output_tokens);
    std::optional<long long> wanted;
    for (const std::string_view name : names) {
        std::optional<long long> value;
        CLASP_RETURN_IF_REFUSED(fields.read(name, std::numeric_limits<long long>::min(),
                                            std::numeric_limits<long long>::max(), value));
        // -1 and -2 mean "as long as it goes" to llama-server and Ollama.
        if (value && (*value < -2 || *value == 0 || *value > limit)) {
            return bad_field("out_of_range", fields.name(name),
                             fields.name(name) + " must be between 1 and " + std::to_string(limit) +
                                 " (--max-output-tokens), or -1 for as long as it goes, got " +
                                 std::to_string(*value));
        }
        if (!wanted) wanted = value;
    }
    chat.has_max_tokens = wanted && *wanted > 0;
    if (chat.has_max_tokens) generation.max_tokens = static_cast<std::size_t>(*wanted);
    return std::nullopt;
}

Check read_sampling(const Fields& fields, GenerationOptions& generation) {
    std::optional<double> temperature;
    std::optional<double> top_p;
    std::optional<double> min_p;
    std::optional<long long> seed;
    std::optional<long long> top_k;
    CLASP_RETURN_IF_REFUSED(fields.read("temperature", 0.0, 2.0, temperature));
    CLASP_RETURN_IF_REFUSED(fields.read("top_p", 0.000001, 1.0, top_p));
    CLASP_RETURN_IF_REFUSED(fields.read("min_p", 0.0, 1.0, min_p));
    CLASP_RETURN_IF_REFUSED(fields.read("seed", -1, kMaxSeed, seed));
    CLASP_RETURN_IF_REFUSED(fields.read("top_k", -1, 1 << 20, top_k));
    if (temperature) generation.temperature = *temperature;
    if (top_p) generation.top_p = *top_p;
    if (min_p) generation.min_p = *min_p;
    if (seed) generation.seed = *seed < 0 ? std::random_device()() : static_cast<std::uint32_t>(*seed);
    if (top_k) generation.top_k = static_cast<std::int32_t>(std::max(0LL, *top_k));
    CLASP_RETURN_IF_REFUSED(read_penalties(fields, generation));
    CLASP_RETURN_IF_REFUSED(fields.read("ignore_eos", generation.ignores_end));
    return read_biases(fields, generation);
}

Check read_stop(const Fields& fields, std::string_view name, GenerationOptions& generation) {
    return fields.read_texts(name, kMaxStops, kMaxStopBytes, generation.stop);
}

Check read_logprobs(const Fields& fields, GenerationOptions& generation) {
    bool is_wanted = false;
    std::optional<long long> n_top;
    CLASP_RETURN_IF_REFUSED(fields.read("logprobs", is_wanted));
    CLASP_RETURN_IF_REFUSED(fields.read("top_logprobs", 0, static_cast<long long>(kMaxLikely), n_top));
    if (n_top && !is_wanted) {
        return bad_field("unsupported_parameter", fields.name("top_logprobs"),
                         "top_logprobs goes with logprobs: true");
    }
    if (is_wanted) generation.n_likely = static_cast<std::size_t>(n_top.value_or(0));
    return std::nullopt;
}

Check use_schema(const Json& schema, const std::string& place, GenerationOptions& generation) {
    if (schema.is_null()) {
        generation.grammar = request::grammar_of_objects();
        return std::nullopt;
    }
    auto grammar = request::grammar_of_schema(schema);
    if (!grammar.ok()) {
        return bad_field(grammar.status().code() == Code::TooLarge ? "out_of_range" : "unsupported_parameter",
                         place, grammar.status().with_context(place).message());
    }
    generation.grammar = std::move(*grammar);
    return std::nullopt;
}

Check read_format(const Fields& fields, GenerationOptions& generation) {
    std::string grammar;
    CLASP_RETURN_IF_REFUSED(fields.read("grammar", grammar));
    if (!grammar.empty()) {
        const Status status = request::check_grammar(grammar);
        if (!status.ok()) {
            return bad_field(status.code() == Code::TooLarge ? "out_of_range" : "unsupported_parameter",
                             fields.name("grammar"), status.message());
        }
        generation.grammar = std::move(grammar);
        return std::nullopt;
    }
    if (const Json* schema = fields.find("json_schema")) {
        return use_schema(*schema, fields.name("json_schema"), generation);
    }
    const Json* format = fields.find("response_format");
    if (format == nullptr) return std::nullopt;
    const std::string place = fields.name("response_format");
    const std::string* type = (*format)["type"].as_string();
    if (type != nullptr && *type == "text") return std::nullopt;
    if (type != nullptr && *type == "json_object") {
        return use_schema((*format)["schema"], place + ".schema", generation);
    }
    if (type != nullptr && *type == "json_schema") {
        const Json& schema = (*format)["json_schema"]["schema"];
        if (schema.is_null()) return bad_field("missing", place, place + ".json_schema.schema is missing");
        return use_schema(schema, place + ".json_schema.schema", generation);
    }
    return bad_field("unsupported_parameter", place,
                     place + ".type takes text, json_object or json_schema" +
                         (type != nullptr ? ", not " + base::in_quotes(*type) : std::string()));
}

Json generation_json(const GenerationOptions& generation) {
    Json biases = Json::array();
    for (const TokenBias& bias : generation.token_bias) {
        biases.push_back({{"token", bias.token}, {"bias", bias.bias}});
    }
    return {{"seed", generation.seed},
            {"temperature", generation.temperature},
            {"top_k", generation.top_k},
            {"top_p", generation.top_p},
            {"min_p", generation.min_p},
            {"repeat_penalty", generation.repeat_penalty},
            {"presence_penalty", generation.presence_penalty},
            {"frequency_penalty", generation.frequency_penalty},
            {"stop", generation.stop},
            {"n_predict", generation.max_tokens},
            {"max_tokens", generation.max_tokens},
            {"ignore_eos", generation.ignores_end},
            {"logit_bias", biases},
            {"n_probs", generation.n_likely.value_or(0)},
            {"grammar", generation.grammar}};
}

}  // namespace clasp::serve
