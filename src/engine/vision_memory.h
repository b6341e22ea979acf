// What an engine remembers of the pictures it was asked about: their vision layers, the last of them decoded
// and preprocessed, and what requests have needed of the encoder.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/image.h"
#include "engine/feature_cache.h"
#include "engine/single_flight.h"
#include "model/vision_types.h"

namespace clasp::engine {

struct PreparedPicture {
    model::VisionPlan plan;
    std::vector<model::PiecePixels> pieces;            // as the tower takes them
    std::uint64_t number = 0;                          // made from the pixels: the same picture has the same
    std::vector<FeatureKey> keys;                      // of the pieces' vision layers
    std::string name;                                  // under which they stay and go together
    std::vector<std::string> warnings;                 // of a picture that is damaged but readable
    std::shared_ptr<const Image> image;                // if somebody wants to draw on it, else null
    std::vector<std::shared_ptr<const Image>> frames;  // the same of a clip, all that were sampled
};

// Thread safe.
class VisionMemory {
   public:
    // model_id names the vision file's content and how its matrices are kept. gathers: see to_encode().
    // max_bytes: of layers in memory; max_file_bytes: of what the folder keeps; 0: no limit.
    VisionMemory(std::string model_id, std::size_t max_images, std::string dir, bool gathers, LogSink log,
                 std::size_t max_bytes = 0, std::size_t max_file_bytes = 0);

    [[nodiscard]] FeatureCache& layers() { return layers_; }
    [[nodiscard]] SingleFlight& flights() { return flights_; }
    [[nodiscard]] const std::string& model_id() const { return model_id_; }

    // The last picture, if it has this name; else null.
    std::shared_ptr<const PreparedPicture> find_picture(const std::string& name);
    void keep_picture(std::string name, std::shared_ptr<const PreparedPicture> picture);

    // What is to be encoded of a new image for a request that needs this: what all requests so far needed if
    // the memory gathers, so that methods which take turns on many images encode each once; else just this.
    model::EncodeRequest to_encode(const model::EncodeRequest& needed);
    // To be called when the tower could give it.
    void note_encoded(const model::EncodeRequest& needed);

   private:
    std::string model_id_;
    FeatureCache layers_;
    SingleFlight flights_;
    bool gathers_;
    std::mutex mutex_;
    std::string name_;
    std::shared_ptr<const PreparedPicture> picture_;
    model::EncodeRequest gathered_;
};

// The digest of an encoded picture and of how it is to be treated.
std::string picture_name(std::string_view bytes, const model::PlanOptions& planning);

// Joins two lists of blocks; the result rises and names each once.
void add_blocks(std::vector<std::size_t>& blocks, const std::vector<std::size_t>& more);

}  // namespace clasp::engine
