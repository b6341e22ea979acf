// Where the packed matrices of a model are kept between runs (packed_file.h): found, or written beside the
// first answers.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "clasp/log.h"
#include "model/packed_file.h"

namespace clasp::model {

struct PackedFolder {
    std::string path = {};  // made if it is not there; empty: nothing is kept
    // Bytes of a model's matrices. Fewer are packed about as fast as they are read.
    std::size_t min_bytes = std::size_t{256} << 20U;
    // Bytes of all files in the folder; those that were not used for longest make room.
    std::size_t max_bytes = std::size_t{32} << 30U;
    // How long the end of a program that waits for nothing waits for a file that is being written.
    std::chrono::milliseconds patience = std::chrono::seconds(8);
};

class PackedStore {
   public:
    PackedStore(PackedFolder folder, PackedKey key, LogSink log);
    // A file that is being written is waited for as long as the folder says; then it is given up, with a
    // warning.
    ~PackedStore();
    PackedStore(const PackedStore&) = delete;
    PackedStore& operator=(const PackedStore&) = delete;

    // The matrices, if they are there. What is damaged counts as absent, with a warning. Error: cancelled.
    Result<std::optional<PackedFile>> find(const PackedSizes& sizes, ThreadPool& pool,
                                           const LoadWatch* watch) const;

    // Begins to write matrices on a thread of its own. They must stay as they are until this object is gone.
    // What prevents it is a warning, at once or at the end.
    void keep(std::vector<std::span<const std::byte>> matrices);
    // Until they are written, or cannot be, which is a warning. The watch hears how far they are every now
    // and then. Error: cancelled, and nothing is left of the file.
    Status wait(const LoadWatch& watch);

   private:
    [[nodiscard]] bool takes(const PackedSizes& sizes) const;
    [[nodiscard]] std::string path() const;
    [[nodiscard]] Status make_room(std::size_t n_bytes) const;
    Status begin(std::vector<std::span<const std::byte>> matrices);
    // Ends the thread that writes and says what it has to say, but for being cancelled.
    Status end();

    PackedFolder folder_;
    PackedKey key_;
    LogSink log_;
    PackedWriting writing_;
    std::size_t n_bytes_ = 0;  // of what is being written
    std::mutex mutex_;
    std::condition_variable ended_;
    bool has_ended_ = true;
    Status outcome_ = ok_status();
    std::thread writer_;
};

}  // namespace clasp::model
