#include "base/text.h"
#include "convert/family.h"
#include "convert/vocabulary.h"

namespace clasp::convert {

std::vector<Family> families() {
    return {
        {"Video-LLaVA", is_video_llava, plan_video_llava},
        {"Video-LLaVA (Hugging Face)", is_video_llava_port, plan_video_llava_port},
        {"LLaVA (Hugging Face)", is_llava_port, plan_llava_port},
        {"LLaVA", is_llava, plan_llava},
        {"InternVL", is_internvl, plan_internvl},
    };
}

Status plan_conversion(const FamilyInput& input, ConversionPlan& plan) {
    std::string names;
    for (const Family& family : families()) {
        if (family.matches(input.config)) {
            plan.family = std::string(family.name);
            CLASP_RETURN_IF_ERROR(family.plan(input, plan));
            return input.pool->check_all_used();
        }
        names += (names.empty() ? "" : ", ") + std::string(family.name);
    }
    const std::string type = input.config.json()["model_type"].get<std::string>().value_or("");
    return {Code::Unsupported, base::path_in_quotes(input.folder) + " is of the type " +
                                   base::in_quotes(type) +
                                   (input.config.architecture().empty()
                                        ? ""
                                        : " and the class " + base::in_quotes(input.config.architecture())) +
                                   "; what can be converted is " + names};
}

Status plan_text(const FamilyInput& input, const TextPart& part, ConversionPlan& plan) {
    const std::string type = part.source.config.json()["model_type"].get<std::string>().value_or("llama");
    CLASP_ASSIGN_OR_RETURN(const TextDecoder decoder, find_text_decoder(part.class_name, type));
    CLASP_RETURN_IF_ERROR(decoder.plan(part.source, decoder, *input.pool, plan));
    plan.architecture = std::string(decoder.architecture);
    plan.text.keys.set_text("general.name", input.name);
    VocabularyRequest request;
    request.folder = input.folder;
    request.gguf = input.tokenizer_from;
    request.architecture = std::string(decoder.architecture);
    request.text = &part.source.config;
    request.keeps_template = part.keeps_template;
    for (const PlannedTensor& tensor : plan.text.tensors) {
        if (tensor.place.name == "token_embd.weight") request.n_rows = tensor.place.shape.back();
    }
    return add_vocabulary(request, plan.text.keys, plan.notes);
}

void set_vision_start(const FamilyInput& input, std::string_view projector, GgufKeys& keys) {
    keys.set_text("general.architecture", "clip");
    keys.set_text("general.type", "mmproj");
    keys.set_text("general.name", input.name);
    keys.set_flag("clip.has_vision_encoder", true);
    keys.set_text("clip.projector_type", projector);
}

Colours clip_colours() {
    return {{0.48145466F, 0.4578275F, 0.40821073F}, {0.26862954F, 0.26130258F, 0.27577711F}};
}

Colours imagenet_colours() {
    return {{0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F}};
}

Status set_colours(const FamilyInput& input, const Colours& fallback, GgufKeys& keys) {
    CLASP_ASSIGN_OR_RETURN(const auto file, read_json_file(input.folder, "preprocessor_config.json"));
    const ModelConfig config("preprocessor_config.json", file.value_or(base::Json::object()));
    Colours colours = fallback;
    for (const auto& [key, values] :
         {std::pair("image_mean", &colours.mean), std::pair("image_std", &colours.std)}) {
        if (!config.has(key)) continue;
        CLASP_ASSIGN_OR_RETURN(const auto numbers, config.numbers(key, 3));
        if (numbers.size() != 3) return config.wrong(key, "has not 3 numbers");
        values->assign(numbers.begin(), numbers.end());
    }
    keys.set_floats("clip.vision.image_mean", colours.mean);
    keys.set_floats("clip.vision.image_std", colours.std);
    return ok_status();
}

}  // namespace clasp::convert
