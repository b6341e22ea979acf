#include "engine/kept_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/cache_files.h"
#include "base/file.h"
#include "engine/cache_folder.h"
#include "engine/feature_cache.h"
#include "engine/start_file.h"

namespace clasp::engine {

namespace {

// A folder that overflows is cleared by that part more, so that it is not listed for every file to come.
constexpr std::size_t kSlackParts = 16;

bool is_bounded(const CacheFile& file) {
    return base::cache_name(file.name, {kFeatureSuffix, kFeatureMagic}) != base::CacheName::Foreign ||
           base::cache_name(file.name, {kPrefixSuffix, kPrefixMagic}) != base::CacheName::Foreign;
}

}  // namespace

KeptFiles::KeptFiles(std::string dir, std::size_t max_bytes, LogSink log)
    : dir_(std::move(dir)), max_bytes_(max_bytes), log_(std::move(log)) {}

std::string KeptFiles::path_of(const std::string& name) const {
    return dir_ + "/" + name;
}

std::optional<std::string> KeptFiles::read(const std::string& name, std::size_t limit_bytes) const {
    auto bytes = base::read_file(path_of(name), limit_bytes);
    if (bytes.ok()) return std::move(*bytes);
    if (bytes.status().code() != Code::NotFound) log(log_, LogLevel::Warning, bytes.status().message());
    return std::nullopt;
}

void KeptFiles::touch(const std::string& name) const {
    std::error_code ignored;  // only the order in which files go depends on it
    std::filesystem::last_write_time(path_of(name), std::filesystem::file_time_type::clock::now(), ignored);
}

void KeptFiles::write(const std::string& name, std::string_view bytes) {
    if (max_bytes_ > 0 && bytes.size() > max_bytes_) {
        log(log_, LogLevel::Warning,
            path_of(name) + " is not kept: its " + std::to_string(bytes.size()) +
                " bytes exceed the limit of " + std::to_string(max_bytes_) + " for the folder");
        return;
    }
    const Status written = base::write_file_atomic(path_of(name), bytes);
    if (!written.ok()) {
        log(log_, LogLevel::Warning, written.message());
        return;
    }
    if (max_bytes_ > 0) make_room(bytes.size());
}

void KeptFiles::make_room(std::size_t n_written) {
    const std::lock_guard lock(mutex_);
    const std::size_t slack = max_bytes_ / kSlackParts;
    n_since_ += n_written;
    // Others write there too, so what was counted once does not hold for ever.
    if (n_listed_ && n_since_ <= slack && *n_listed_ + n_since_ <= max_bytes_) return;
    auto files = list_cache(dir_);
    if (!files.ok()) return;
    std::erase_if(*files, [](const CacheFile& file) { return !is_bounded(file); });
    std::size_t n_bytes = 0;
    for (const CacheFile& file : *files) n_bytes += file.n_bytes;
    const std::size_t goal = n_bytes > max_bytes_ ? max_bytes_ - slack : n_bytes;
    // The oldest come first; the last one is what was just written.
    for (std::size_t i = 0; i + 1 < files->size() && n_bytes > goal; ++i) {
        std::error_code ignored;  // somebody else was faster
        std::filesystem::remove(path_of((*files)[i].name), ignored);
        n_bytes -= (*files)[i].n_bytes;
    }
    n_listed_ = n_bytes;
    n_since_ = 0;
}

}  // namespace clasp::engine
