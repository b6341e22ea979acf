#include "serve/model_card.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <utility>

#include "base/sha256.h"
#include "base/text.h"
#include "engine/engine_state.h"
#include "llama.h"

namespace clasp::serve {

using base::Json;

namespace {

// "6.7B", "9.8M".
std::string size_text(std::size_t n) {
    const auto value = static_cast<double>(n);
    for (const auto& [unit, letter] : {std::pair{1e9, "B"}, std::pair{1e6, "M"}, std::pair{1e3, "K"}}) {
        if (value >= unit) return base::format_number(std::round(10.0 * value / unit) / 10.0, 1) + letter;
    }
    return std::to_string(n);
}

}  // namespace

std::string iso_time(std::int64_t seconds, std::int64_t microseconds) {
    const auto time = static_cast<std::time_t>(seconds);
    std::tm utc{};
    gmtime_r(&time, &utc);
    std::array<char, 64> text{};
    std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &utc);
    std::string result(text.data());
    if (microseconds >= 0) {
        std::string digits = std::to_string(microseconds);
        result += "." + std::string(6 - std::min<std::size_t>(6, digits.size()), '0') + digits;
    }
    return result + "Z";
}

std::string ModelCard::modified_at() const {
    return iso_time(created_s);
}

Json ModelCard::details_json() const {
    Json families = Json::array({info.architecture});
    if (has_vision) families.push_back("clip");
    return {{"parent_model", ""},
            {"format", "gguf"},
            {"family", info.architecture},
            {"families", families},
            {"parameter_size", size_text(n_parameters)},
            {"quantization_level", info.weight_type}};
}

Json ModelCard::entry_json(const std::string& name) const {
    return {{"id", name},
            {"object", "model"},
            {"created", created_s},
            {"owned_by", "clasp"},
            {"aliases", Json::array({id})},
            {"tags", Json::array()},
            {"max_model_len", n_context},
            {"meta",
             {{"vocab_type", vocabulary_type},
              {"n_vocab", n_vocabulary},
              {"n_ctx", n_context},
              {"n_ctx_train", info.context_length},
              {"n_embd", info.width},
              {"n_layer", info.n_layers},
              {"n_params", n_parameters},
              {"size", size_bytes},
              {"ftype", info.weight_type}}}};
}

Json ModelCard::list_json() const {
    std::vector<std::string> names = {id};
    names.insert(names.end(), preset_ids.begin(), preset_ids.end());
    Json data = Json::array();
    Json models = Json::array();
    Json capabilities = Json::array({"completion"});
    if (has_vision) capabilities.push_back("multimodal");
    for (const std::string& name : names) {
        data.push_back(entry_json(name));
        models.push_back({{"name", name},
                          {"model", name},
                          {"modified_at", modified_at()},
                          {"size", size_bytes},
                          {"digest", digest},
                          {"type", "model"},
                          {"capabilities", capabilities},
                          {"details", details_json()}});
    }
    return {{"object", "list"}, {"data", data}, {"models", models}};
}

ModelCard make_model_card(const Engine& engine, const ServeOptions& options) {
    ModelCard card;
    card.id = options.model_id;
    card.info = engine.info();
    card.has_vision = engine.info().vision_blocks > 0;
    card.n_context =
        options.context > 0 ? std::min(options.context, card.info.context_length) : card.info.context_length;
    const model::TextModel& text = *engine.state().text;
    card.vocabulary_type = static_cast<std::int32_t>(llama_vocab_type(text.vocabulary()));
    card.n_vocabulary = llama_vocab_n_tokens(text.vocabulary());
    card.n_parameters = static_cast<std::size_t>(llama_model_n_params(text.handle()));
    card.chat_template = text.chat_template().value_or("");
    struct stat file = {};
    if (stat(options.model_file.c_str(), &file) == 0) {
        card.created_s = static_cast<std::int64_t>(file.st_mtime);
        card.size_bytes = static_cast<std::size_t>(file.st_size);
    }
    card.digest = base::sha256_hex(options.model_id + " " + std::to_string(card.size_bytes) + " " +
                                   std::to_string(card.created_s));
    if (options.lists_presets) {
        for (const char* preset : {"64", "25%", "50%", "vanilla", "auto"}) {
            card.preset_ids.push_back(card.id + ":" + preset);
        }
        for (const auto& [name, clasp] : options.presets) card.preset_ids.push_back(card.id + ":" + name);
    }
    return card;
}

}  // namespace clasp::serve
