#include <array>
#include <string>

#include "model/gguf_metadata.h"
#include "model/vision_clip.h"
#include "model/vision_tower.h"

namespace clasp::model {

namespace {

struct Family {
    std::string_view projector_type;
    Result<std::unique_ptr<VisionTower>> (*open)(const GgufReader&);
};

constexpr std::array<Family, 1> kFamilies = {{
    {"mlp", open_clip_tower},
}};

std::string list_of_types() {
    std::string text;
    for (const Family& family : kFamilies) {
        if (!text.empty()) text += ", ";
        text += family.projector_type;
    }
    return text;
}

// Mixed files (pictures and sound) name the type under the vision prefix.
Result<std::string_view> projector_type(const GgufReader& reader) {
    Result<std::string_view> type = read_string(reader, "clip.projector_type");
    if (!type.ok() && type.status().code() == Code::NotFound) {
        return read_string(reader, "clip.vision.projector_type");
    }
    return type;
}

}  // namespace

std::vector<std::string_view> supported_projector_types() {
    std::vector<std::string_view> types;
    for (const Family& family : kFamilies) types.push_back(family.projector_type);
    return types;
}

Result<std::unique_ptr<VisionTower>> open_vision_tower(const GgufReader& reader) {
    CLASP_ASSIGN_OR_RETURN(const std::string_view architecture, read_string(reader, "general.architecture"));
    if (architecture != "clip") {
        return Status(Code::Unsupported, "the file holds the architecture " + std::string(architecture) +
                                             ", not a vision tower (clip)");
    }
    CLASP_ASSIGN_OR_RETURN(const bool has_vision,
                           value_or(read_flag(reader, "clip.has_vision_encoder"), false));
    if (!has_vision) return Status(Code::Unsupported, "the file has no vision encoder");
    CLASP_ASSIGN_OR_RETURN(const std::string_view type, projector_type(reader));
    for (const Family& family : kFamilies) {
        if (family.projector_type == type) return family.open(reader);
    }
    return Status(Code::Unsupported, "the projector type " + std::string(type) +
                                         " is not supported; supported are: " + list_of_types());
}

}  // namespace clasp::model
