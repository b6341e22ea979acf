#include "engine/model_info.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string>

#include "ggml.h"

namespace clasp::engine {

namespace {

// The type that most weights of the matrices have: "Q4_0".
std::string weight_type(const model::TextWeights& weights) {
    std::map<ggml_type, std::int64_t> counts;
    const auto count = [&counts](const ggml_tensor* tensor) {
        if (tensor != nullptr) counts[tensor->type] += ggml_nelements(tensor);
    };
    count(weights.token_embedding);
    if (weights.head != weights.token_embedding) count(weights.head);
    for (const model::BlockWeights& block : weights.blocks) {
        for (const ggml_tensor* matrix :
             {block.qkv, block.q, block.k, block.v, block.attention_out, block.gate, block.up, block.down}) {
            count(matrix);
        }
    }
    const auto most = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    std::string name = most == counts.end() ? "" : ggml_type_name(most->first);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return name;
}

}  // namespace

ModelInfo model_info(const model::TextModel& text, const model::VisionInfo* vision) {
    const model::TextConfig& config = text.config();
    ModelInfo info;
    info.name = config.name;
    info.architecture = config.architecture;
    info.weight_type = weight_type(text.weights());
    info.n_layers = static_cast<std::size_t>(config.n_layers);
    info.width = static_cast<std::size_t>(config.width);
    info.context_length = static_cast<std::size_t>(config.context_length);
    if (vision == nullptr) return info;
    info.vision_blocks = vision->n_blocks;
    info.feature_layer = vision->feature_layer;
    info.grid = vision->grid;
    return info;
}

}  // namespace clasp::engine
