// Vision layers of images seen before, so that another question about the same image skips the encoder.
// In memory the least recently used image goes first; on disk files stay until the user removes them.
#pragma once

#include <cstddef>
#include <list>
#include <mutex>
#include <optional>
#include <string>

#include "clasp/log.h"
#include "clasp/status.h"
#include "model/vision_types.h"

namespace clasp::engine {

// A key names pixels, preprocessing, model and numbers: 64 hexadecimal digits of a SHA-256.
using FeatureKey = std::string;

// Thread safe.
class FeatureCache {
   public:
    // dir empty: memory only.
    FeatureCache(std::size_t max_images, std::string dir, LogSink log);

    // The layers if every one that is asked for is there. A file that does not hold together is reported
    // to the log and counts as absent.
    std::optional<model::VisionLayers> find(const FeatureKey& key, const std::vector<std::size_t>& layers);
    // In memory the layers join those that are there; a file is replaced. A file that cannot be written is
    // reported to the log; the answer goes on.
    void store(const FeatureKey& key, const model::VisionLayers& layers);

   private:
    struct Entry {
        FeatureKey key;
        model::VisionLayers layers;
    };
    [[nodiscard]] std::string path_of(const FeatureKey& key) const;
    void remember(const FeatureKey& key, const model::VisionLayers& layers);

    std::size_t max_images_;
    std::string dir_;
    LogSink log_;
    std::mutex mutex_;
    std::list<Entry> entries_;  // most recently used first
};

// The file format, apart for tests: a header, the layer numbers, the values as float32 and a checksum.
std::string serialise_layers(const FeatureKey& key, const model::VisionLayers& layers);
Result<model::VisionLayers> parse_layers(const FeatureKey& key, std::string_view bytes);

}  // namespace clasp::engine
