// The text before a picture on disk, so that a question asked by itself does not pay for it again.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "clasp/log.h"
#include "clasp/status.h"
#include "engine/prompt_start.h"

namespace clasp::engine {

// How a file ends and begins.
inline constexpr std::string_view kPrefixSuffix = ".prefix";
inline constexpr std::string_view kPrefixMagic = "CLASPKV1";

// What the files of a folder may take together; the least recently used go first.
inline constexpr std::size_t kMaxPrefixBytes = std::size_t{1} << 30U;

// The file format, apart for tests: a header, cells and rows of each layer, a checksum. The layers of the
// start are all of one size.
std::string serialise_start(const std::string& key, const PromptStart& start);
Result<PromptStart> parse_start(const std::string& key, std::string_view bytes);

// Prefixes in a folder in front of what another store has; everything else is the other one's. Thread safe.
class StartFolder : public StartStore {
   public:
    // model_id names the model's content and whose numbers it gives. next may be null; it is borrowed.
    StartFolder(std::string dir, std::string model_id, StartStore* next, LogSink log,
                std::size_t max_bytes = kMaxPrefixBytes);

    [[nodiscard]] bool keeps(StartPart part) const override {
        return part == StartPart::Prefix || (next_ != nullptr && next_->keeps(part));
    }
    // A file that does not hold together is reported to the log and counts as absent.
    SharedStart find(StartPart part, const std::string& key) override;
    // A file that cannot be written is reported to the log.
    void keep(StartPart part, const std::string& key, SharedStart start) override;

   private:
    [[nodiscard]] std::string name_of(const std::string& key) const;
    [[nodiscard]] std::string path_of(const std::string& name) const;
    void make_room() const;

    std::string dir_;
    std::string model_id_;
    StartStore* next_;
    LogSink log_;
    std::size_t max_bytes_;
};

}  // namespace clasp::engine
