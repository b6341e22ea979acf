// Families of checkpoints: from a folder's config.json and tensors to the plan of two GGUF files. A new one
// is a file with its two functions and a line in families.cpp.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "convert/checkpoint.h"
#include "convert/model_config.h"
#include "convert/tensor_pool.h"
#include "convert/text_plan.h"

namespace clasp::convert {

struct FamilyInput {
    std::string folder;
    std::string name;            // of the model: the folder's
    std::string tokenizer_from;  // a GGUF file; empty: the folder's own tokenizer
    std::string
        vision_tower;  // a folder with the tower's config and, where the checkpoint lacks them, weights
    ModelConfig config;
    TensorPool* pool = nullptr;
    // Towers that are not in the checkpoint: they live as long as the plan.
    std::vector<std::unique_ptr<Checkpoint>>* others = nullptr;
};

struct Family {
    std::string_view name;
    bool (*matches)(const ModelConfig& config);
    Status (*plan)(const FamilyInput& input, ConversionPlan& plan);
};

std::vector<Family> families();

// The plan of the family that config.json names.
Status plan_conversion(const FamilyInput& input, ConversionPlan& plan);

bool is_llava(const ModelConfig& config);
Status plan_llava(const FamilyInput& input, ConversionPlan& plan);
bool is_llava_port(const ModelConfig& config);
Status plan_llava_port(const FamilyInput& input, ConversionPlan& plan);
bool is_video_llava(const ModelConfig& config);
Status plan_video_llava(const FamilyInput& input, ConversionPlan& plan);
bool is_video_llava_port(const ModelConfig& config);
Status plan_video_llava_port(const FamilyInput& input, ConversionPlan& plan);
bool is_internvl(const ModelConfig& config);
Status plan_internvl(const FamilyInput& input, ConversionPlan& plan);

// Shared by families.
struct TextPart {
    TextSource source;
    std::string class_name;
    bool keeps_template = false;
};
// The whole text file, its tokenizer included.
Status plan_text(const FamilyInput& input, const TextPart& part, ConversionPlan& plan);
// The keys that every vision file has.
void set_vision_start(const FamilyInput& input, std::string_view projector, GgufKeys& keys);
// Means and deviations of colours: those of preprocessor_config.json, else the given ones.
struct Colours {
    std::vector<float> mean;
    std::vector<float> std;
};
Status set_colours(const FamilyInput& input, const Colours& fallback, GgufKeys& keys);
Colours clip_colours();
Colours imagenet_colours();

}  // namespace clasp::convert
