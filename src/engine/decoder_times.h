// The times of the decoder's blocks on this machine (first_token_model.h): measured once, after the answer
// to a request that could not be decided without them, and kept on disk for the next run.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "clasp/log.h"
#include "clasp/schedule.h"
#include "clasp/status.h"
#include "engine/executor.h"
#include "engine/first_token_model.h"

namespace clasp::engine {

// How a file ends and begins.
inline constexpr std::string_view kTimesSuffix = ".times";
inline constexpr std::string_view kTimesMagic = "CLASPDT1";

// The file format, apart for tests: magic, key, two numbers, a checksum.
std::string serialise_times(const std::string& key, const DecoderTimings& timings);
Result<DecoderTimings> parse_times(const std::string& key, std::string_view bytes);

// Where times are kept between runs.
struct TimesPlace {
    std::string folder = {};      // made when something is kept; empty: nothing is
    std::string conditions = {};  // all that times depend on, in words: those of others are of no use
};

// Thread safe.
class DecoderTimes {
   public:
    DecoderTimes(TimesPlace place, LogSink log);

    // Those that were measured, in this run or in one before; nothing is measured for it. A file that does
    // not hold together is reported to the log and counts as absent.
    std::optional<DecoderTimings> find();
    // A request was decided without them that would be decided with them.
    void want();
    // Whether that was said, and they are not known.
    [[nodiscard]] bool is_due() const;
    // Does so if it is due. Takes as long as about 160 tokens in one block, so not while somebody waits for a
    // first token. What fails is reported to the log, and not tried again.
    void measure(const std::shared_ptr<const model::TextModel>& text, const DecoderShape& shape,
                 Executor& executor);
    // In this run.
    [[nodiscard]] std::size_t n_measured() const;

   private:
    // The mutex is held.
    void read_file();
    void write_file() const;

    std::string folder_;
    std::string key_;
    std::string path_;
    LogSink log_;
    mutable std::mutex mutex_;
    std::optional<DecoderTimings> times_;
    bool has_looked_ = false;
    bool is_wanted_ = false;
    bool has_tried_ = false;
    std::size_t n_measured_ = 0;
};

}  // namespace clasp::engine
