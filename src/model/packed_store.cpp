#include "model/packed_store.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <numeric>
#include <system_error>
#include <utility>

#include "base/cache_files.h"
#include "base/text.h"

namespace clasp::model {

namespace {

namespace fs = std::filesystem;

constexpr base::CacheFormat kPackedFormat = {kPackedSuffix, kPackedMagic};
// How often whoever waits looks.
constexpr std::chrono::milliseconds kGlance{100};

struct KeptFile {
    fs::path path;
    std::size_t n_bytes;
    fs::file_time_type used;
};

// Files of ours in the folder, the one that was not used for longest first.
std::vector<KeptFile> kept_files(const std::string& folder) {
    std::vector<KeptFile> files;
    std::error_code error;
    fs::directory_iterator entries(folder, error);
    for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
        const fs::path& path = entries->path();
        if (base::cache_name(path.filename().string(), kPackedFormat) != base::CacheName::Whole) continue;
        if (!base::begins_as(path.string(), kPackedFormat)) continue;
        std::error_code ignored;  // a file that goes meanwhile
        const KeptFile file = {path, fs::file_size(path, ignored), fs::last_write_time(path, ignored)};
        if (!ignored) files.push_back(file);
    }
    std::sort(files.begin(), files.end(),
              [](const KeptFile& a, const KeptFile& b) { return a.used < b.used; });
    return files;
}

std::string gigabytes(std::size_t n_bytes) {
    return base::format_number(static_cast<double>(n_bytes) / 1e9, 1) + " GB";
}

}  // namespace

PackedStore::PackedStore(PackedFolder folder, PackedKey key, LogSink log)
    : folder_(std::move(folder)), key_(std::move(key)), log_(std::move(log)) {}

PackedStore::~PackedStore() {
    if (!writer_.joinable()) return;
    {
        std::unique_lock lock(mutex_);
        ended_.wait_for(lock, folder_.patience, [this] { return has_ended_; });
    }
    writing_.stop = true;
    if (end().ok()) return;
    log(log_, LogLevel::Warning,
        "the packed weights are not kept for the next start: writing them takes longer than the end of this "
        "program waits, " +
            base::format_number(std::chrono::duration<double>(folder_.patience).count(), 1) + " s");
}

bool PackedStore::takes(const PackedSizes& sizes) const {
    if (folder_.path.empty() || key_.empty()) return false;
    return std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}) >= folder_.min_bytes;
}

std::string PackedStore::path() const {
    return folder_.path + "/" + key_ + std::string(kPackedSuffix);
}

Result<std::optional<PackedFile>> PackedStore::find(const PackedSizes& sizes, ThreadPool& pool,
                                                    const LoadWatch* watch) const {
    if (!takes(sizes)) return std::optional<PackedFile>();
    auto file = PackedFile::open(path(), key_, sizes, pool, watch);
    if (file.ok()) {
        // Used now: others make room before it does. A wish, as the folder may be somebody else's.
        ::utimensat(AT_FDCWD, path().c_str(), nullptr, 0);
        return std::optional<PackedFile>(std::move(*file));
    }
    if (file.status().code() == Code::Cancelled) return file.status();
    if (file.status().code() != Code::NotFound) {
        log(log_, LogLevel::Warning,
            file.status().with_context(path()).message() + "; the weights are packed again");
    }
    return std::optional<PackedFile>();
}

Status PackedStore::make_room(std::size_t n_bytes) const {
    if (n_bytes > folder_.max_bytes) {
        return {Code::TooLarge,
                gigabytes(n_bytes) + " exceed the " + gigabytes(folder_.max_bytes) + " of the folder"};
    }
    std::vector<KeptFile> files = kept_files(folder_.path);
    std::size_t total = n_bytes;
    for (const KeptFile& file : files) total += file.path == path() ? 0 : file.n_bytes;
    for (const KeptFile& file : files) {
        if (total <= folder_.max_bytes) break;
        if (file.path == path()) continue;
        std::error_code error;
        if (fs::remove(file.path, error)) total -= file.n_bytes;
        if (error)
            return {Code::Unavailable, base::path_in_quotes(file.path.string()) + ": " + error.message()};
    }
    // The disk is the user's: as much as this takes stays free beside it.
    std::error_code error;
    const fs::space_info space = fs::space(folder_.path, error);
    if (!error && space.available / 2 < n_bytes) {
        return {Code::Unavailable, "they take " + gigabytes(n_bytes) + " and the disk has " +
                                       gigabytes(space.available) + " left"};
    }
    return ok_status();
}

Status PackedStore::begin(std::vector<std::span<const std::byte>> matrices) {
    std::error_code error;
    fs::create_directories(folder_.path, error);
    if (error) return {Code::Unavailable, base::path_in_quotes(folder_.path) + ": " + error.message()};
    std::size_t n_bytes = 0;
    for (const auto& matrix : matrices) n_bytes += matrix.size();
    CLASP_RETURN_IF_ERROR(make_room(n_bytes));
    CLASP_ASSIGN_OR_RETURN(base::AtomicFile file, base::AtomicFile::create(path()));
    has_ended_ = false;
    n_bytes_ = n_bytes;
    try {
        writer_ = std::thread([this, file = std::move(file), matrices = std::move(matrices)]() mutable {
            // Answers come first.
            ::setpriority(PRIO_PROCESS, 0, 19);
            Status outcome = write_packed(file, key_, matrices, writing_);
            // A file that a power cut tore does not pass its checksums, so nobody waits for the disk.
            if (outcome.ok()) outcome = file.commit(base::Flush::LeaveToSystem);
            const std::lock_guard lock(mutex_);
            outcome_ = std::move(outcome);
            has_ended_ = true;
            ended_.notify_all();
        });
    } catch (const std::system_error& failure) {
        has_ended_ = true;
        return {Code::Unavailable, std::string("no thread to write them: ") + failure.what()};
    }
    return ok_status();
}

void PackedStore::keep(std::vector<std::span<const std::byte>> matrices) {
    PackedSizes sizes;
    for (const auto& matrix : matrices) sizes.push_back(matrix.size());
    if (!takes(sizes)) return;
    Status begun = begin(std::move(matrices));
    if (begun.ok()) return;
    outcome_ = std::move(begun);
    static_cast<void>(end());
}

Status PackedStore::wait(const LoadWatch& watch) {
    std::unique_lock lock(mutex_);
    while (!has_ended_) {
        if (watch.is_cancelled()) writing_.stop = true;
        if (ended_.wait_for(lock, kGlance, [this] { return has_ended_; })) break;
        lock.unlock();
        watch.tell(static_cast<double>(writing_.n_bytes) /
                   static_cast<double>(std::max(n_bytes_, std::size_t{1})));
        lock.lock();
    }
    lock.unlock();
    return end();
}

Status PackedStore::end() {
    if (writer_.joinable()) writer_.join();
    Status outcome = std::exchange(outcome_, ok_status());
    if (outcome.ok() || outcome.code() == Code::Cancelled) return outcome;
    log(log_, LogLevel::Warning,
        "the packed weights are not kept for the next start: " + std::string(outcome.message()));
    return ok_status();
}

}  // namespace clasp::model
