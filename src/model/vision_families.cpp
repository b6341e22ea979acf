#include <algorithm>
#include <array>
#include <mutex>
#include <string>
#include <vector>

#include "base/check.h"
#include "model/foreign_projectors.h"
#include "model/gguf_metadata.h"
#include "model/vision_clip.h"
#include "model/vision_internvl.h"
#include "model/vision_mtmd.h"
#include "model/vision_qwen.h"
#include "model/vision_siglip.h"
#include "model/vision_tower.h"
#include "model/vision_videollava.h"

namespace clasp::model {

namespace {

struct Family {
    std::string_view projector_type;
    OpenTower open;
};

// The format's own rule. Smaller ones would have numbers read across their natural places.
constexpr std::size_t kMinAlignment = 8;

constexpr std::array<Family, 9> kVisionFamilies = {{
    {"mlp", open_clip_tower},
    {"internvl", open_internvl_tower},
    {"qwen2vl_merger", open_qwen2_tower},
    {"qwen2.5vl_merger", open_qwen25_tower},
    {"qwen2.5o", open_qwen25_omni_tower},
    {"qwen3vl_merger", open_qwen3_tower},
    {"idefics3", open_smolvlm_tower},
    {"gemma3", open_gemma3_tower},
    {"videollava", open_videollava_tower},
}};

// Those from outside.
struct Registry {
    std::mutex mutex;
    std::vector<Family> families;
};

Registry& registry() {
    static Registry all;
    return all;
}

std::vector<Family> all_families() {
    std::vector<Family> families(kVisionFamilies.begin(), kVisionFamilies.end());
    const std::lock_guard lock(registry().mutex);
    families.insert(families.end(), registry().families.begin(), registry().families.end());
    return families;
}

std::string list_of_types() {
    std::string text;
    for (const std::string_view type : supported_projector_types()) {
        if (!text.empty()) text += ", ";
        text += type;
    }
    for (const std::string_view type : mtmd_projector_types()) text += ", " + std::string(type);
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
    for (const Family& family : all_families()) types.push_back(family.projector_type);
    return types;
}

void register_vision_family(std::string_view projector_type, OpenTower open) {
    const std::vector<std::string_view> known = supported_projector_types();
    CLASP_CHECK(std::find(known.begin(), known.end(), projector_type) == known.end());
    const std::lock_guard lock(registry().mutex);
    registry().families.push_back({projector_type, open});
}

Result<std::unique_ptr<VisionTower>> open_vision_tower(const GgufReader& reader) {
    CLASP_ASSIGN_OR_RETURN(const std::string_view architecture, read_string(reader, "general.architecture"));
    if (architecture != "clip") {
        return Status(Code::Unsupported, "the file holds the architecture " + std::string(architecture) +
                                             ", not a vision tower (clip)");
    }
    if (reader.alignment() < kMinAlignment) {
        return Status(Code::Corrupt, "general.alignment is " + std::to_string(reader.alignment()) +
                                         "; it must be at least " + std::to_string(kMinAlignment));
    }
    CLASP_ASSIGN_OR_RETURN(const bool has_vision,
                           value_or(read_flag(reader, "clip.has_vision_encoder"), false));
    if (!has_vision) return Status(Code::Unsupported, "the file has no vision encoder");
    CLASP_ASSIGN_OR_RETURN(const std::string_view type, projector_type(reader));
    for (const Family& family : all_families()) {
        if (family.projector_type == type) return family.open(reader);
    }
    if (is_mtmd_projector(type)) return open_mtmd_tower(reader, type);
    const std::string why = why_foreign(type);
    return Status(Code::Unsupported, "the projector type " + std::string(type) + " is not supported" +
                                         (why.empty() ? "" : ", because " + why) +
                                         "; supported are: " + list_of_types());
}

}  // namespace clasp::model
