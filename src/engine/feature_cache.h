// Vision layers of the pieces of pictures seen before, so that another question about the same picture skips
// the encoder. In memory the least recently used picture goes first, with all its pieces; on disk the least
// recently used file.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/log.h"
#include "clasp/status.h"
#include "engine/kept_files.h"
#include "model/vision_types.h"

namespace clasp::engine {

// How a file on disk ends and begins.
inline constexpr std::string_view kFeatureSuffix = ".features";
inline constexpr std::string_view kFeatureMagic = "CLASPVL3";

// A key names the pixels of a piece, its shape, the model and its numbers: 64 hexadecimal digits of a
// SHA-256.
using FeatureKey = std::string;

// What is remembered is handed out as it is: readers hold on to it however the cache goes on.
using SharedLayers = std::shared_ptr<const model::VisionLayers>;
// Of the pieces that are encoded together: one each, or none when nothing is known of one of them.
using SharedGroup = std::vector<SharedLayers>;

// Thread safe.
class FeatureCache {
   public:
    // dir empty: memory only. max_bytes: in memory, though one picture always stays; max_file_bytes: in the
    // folder; 0: no limit.
    FeatureCache(std::size_t max_images, std::string dir, LogSink log, std::size_t max_bytes = 0,
                 std::size_t max_file_bytes = 0);

    // The layers if every one that is asked for is there, else null. A file that does not hold together is
    // reported to the log and counts as absent.
    SharedLayers find(const FeatureKey& key, const std::vector<std::size_t>& layers,
                      const std::string& picture = {});
    // In memory the layers join those that are there; a file is replaced. A file that cannot be written is
    // reported to the log; the answer goes on. Pieces with the same name of a picture stay and go together;
    // empty: a picture of its own.
    void store(const FeatureKey& key, const SharedLayers& layers, const std::string& picture = {});
    // In memory; a file stays until it is replaced or has to make room.
    void forget(const FeatureKey& key);
    // Of all layers in memory.
    [[nodiscard]] std::size_t bytes() const;

   private:
    struct Entry {
        FeatureKey key;
        std::string picture;
        SharedLayers layers;
    };
    SharedLayers known(const FeatureKey& key);
    void remember(const FeatureKey& key, SharedLayers layers, const std::string& picture);

    [[nodiscard]] std::size_t held_bytes() const;

    std::size_t max_images_;
    std::size_t max_bytes_;
    KeptFiles files_;
    LogSink log_;
    mutable std::mutex mutex_;
    std::list<Entry> entries_;  // most recently used first
};

// The file format, apart for tests: a header, the layer numbers, the values as float32 and a checksum.
std::string serialise_layers(const FeatureKey& key, const model::VisionLayers& layers);
Result<model::VisionLayers> parse_layers(const FeatureKey& key, std::string_view bytes);

}  // namespace clasp::engine
