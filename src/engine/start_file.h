// The text before a picture on disk, so that a question asked by itself does not pay for it again.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "clasp/log.h"
#include "clasp/status.h"
#include "engine/kept_files.h"
#include "engine/prompt_start.h"

namespace clasp::engine {

// How a file ends and begins.
inline constexpr std::string_view kPrefixSuffix = ".prefix";
inline constexpr std::string_view kPrefixMagic = "CLASPKV1";

// The file format, apart for tests: a header, cells and rows of each layer, a checksum. The layers of the
// start are all of one size.
std::string serialise_start(const std::string& key, const PromptStart& start);
Result<PromptStart> parse_start(const std::string& key, std::string_view bytes);

// Prefixes in a folder in front of what another store has; everything else is the other one's. Thread safe.
class StartFolder : public StartStore {
   public:
    // model_id names the model's content and whose numbers it gives. next may be null; it is borrowed.
    // max_bytes: of what the folder keeps; 0: no limit.
    StartFolder(std::string dir, std::string model_id, StartStore* next, LogSink log,
                std::size_t max_bytes = 0);

    [[nodiscard]] bool keeps(StartPart part) const override {
        return part == StartPart::Prefix || (next_ != nullptr && next_->keeps(part));
    }
    // A file that does not hold together is reported to the log and counts as absent.
    SharedStart find(StartPart part, const std::string& key) override;
    // A file that cannot be written is reported to the log.
    void keep(StartPart part, const std::string& key, SharedStart start) override;

   private:
    [[nodiscard]] std::string name_of(const std::string& key) const;
    std::string model_id_;
    StartStore* next_;
    LogSink log_;
    KeptFiles files_;
};

}  // namespace clasp::engine
