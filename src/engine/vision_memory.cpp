#include "engine/vision_memory.h"

#include <algorithm>

#include "base/sha256.h"

namespace clasp::engine {

namespace {

void add_request(model::EncodeRequest& request, const model::EncodeRequest& more) {
    add_blocks(request.layers, more.layers);
    add_blocks(request.class_attention, more.class_attention);
    add_blocks(request.class_query, more.class_query);
    add_blocks(request.keys, more.keys);
}

}  // namespace

VisionMemory::VisionMemory(std::string model_id, std::size_t max_images, std::string dir, bool gathers,
                           LogSink log, std::size_t max_bytes, std::size_t max_file_bytes)
    : model_id_(std::move(model_id)),
      layers_(max_images, std::move(dir), std::move(log), max_bytes, max_file_bytes),
      gathers_(gathers) {}

std::shared_ptr<const PreparedPicture> VisionMemory::find_picture(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return name == name_ ? picture_ : nullptr;
}

void VisionMemory::keep_picture(std::string name, std::shared_ptr<const PreparedPicture> picture) {
    const std::lock_guard lock(mutex_);
    name_ = std::move(name);
    picture_ = std::move(picture);
}

model::EncodeRequest VisionMemory::to_encode(const model::EncodeRequest& needed) {
    model::EncodeRequest all = needed;
    const std::lock_guard lock(mutex_);
    add_request(all, gathered_);
    return all;
}

void VisionMemory::note_encoded(const model::EncodeRequest& needed) {
    if (!gathers_) return;
    const std::lock_guard lock(mutex_);
    add_request(gathered_, needed);
}

std::string picture_name(std::string_view bytes, const model::PlanOptions& planning) {
    base::Sha256 hash;
    hash.update(planning.compat == Compat::Original ? "original" : "llama.cpp");
    const PictureDetail& detail = planning.detail;
    for (const std::size_t limit : {detail.min_tokens, detail.max_tokens, detail.max_tiles}) {
        hash.update(" " + std::to_string(limit));
    }
    hash.update(" " + detail.preset + " " + detail.tile_merge + " " + detail.newline + " ");
    hash.update(bytes);
    return base::to_hex(hash.finish());
}

void add_blocks(std::vector<std::size_t>& blocks, const std::vector<std::size_t>& more) {
    blocks.insert(blocks.end(), more.begin(), more.end());
    std::sort(blocks.begin(), blocks.end());
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
}

}  // namespace clasp::engine
