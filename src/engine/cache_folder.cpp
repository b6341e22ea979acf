#include "engine/cache_folder.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <system_error>

#include "base/cache_files.h"
#include "base/text.h"
#include "engine/decoder_times.h"
#include "engine/feature_cache.h"
#include "engine/start_file.h"
#include "model/packed_file.h"

namespace clasp::engine {

namespace {

namespace fs = std::filesystem;

constexpr double kStaleSeconds = 3600.0;

constexpr std::array<base::CacheFormat, 4> kCacheFormats = {{{kFeatureSuffix, kFeatureMagic},
                                                             {kPrefixSuffix, kPrefixMagic},
                                                             {kTimesSuffix, kTimesMagic},
                                                             {model::kPackedSuffix, model::kPackedMagic}}};

// Whether a regular file of this age is one that the program wrote, or what an interrupted write left.
bool is_of_cache(const fs::path& path, double age_seconds) {
    const std::string name = path.filename().string();
    return std::any_of(kCacheFormats.begin(), kCacheFormats.end(), [&](const base::CacheFormat& format) {
        switch (base::cache_name(name, format)) {
            case base::CacheName::Whole: return base::begins_as(path.string(), format);
            case base::CacheName::Unfinished: return age_seconds > kStaleSeconds;
            default: return false;
        }
    });
}

double age_of(const fs::path& path, std::error_code& error) {
    const auto written = fs::last_write_time(path, error);
    if (error) return 0.0;
    const std::chrono::duration<double> age = fs::file_time_type::clock::now() - written;
    return std::max(0.0, age.count());
}

Status unreadable(const std::string& folder, const std::error_code& error) {
    const bool is_absent = error == std::errc::no_such_file_or_directory;
    return {is_absent ? Code::NotFound : Code::Unavailable,
            base::path_in_quotes(folder) + ": " + error.message()};
}

}  // namespace

Result<std::vector<CacheFile>> list_cache(const std::string& folder) {
    std::error_code error;
    if (fs::exists(folder, error) && !fs::is_directory(folder, error)) {
        return Status(Code::InvalidArgument, base::path_in_quotes(folder) + " is no folder");
    }
    std::vector<CacheFile> files;
    fs::directory_iterator entries(folder, error);
    for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
        const fs::path& path = entries->path();
        std::error_code ignored;  // a file that goes meanwhile is not listed
        if (entries->symlink_status(ignored).type() != fs::file_type::regular) continue;
        CacheFile file;
        file.name = path.filename().string();
        file.n_bytes = fs::file_size(path, ignored);
        if (!ignored) file.age_seconds = age_of(path, ignored);
        if (!ignored && is_of_cache(path, file.age_seconds)) files.push_back(std::move(file));
    }
    if (error) return unreadable(folder, error);
    std::sort(files.begin(), files.end(), [](const CacheFile& a, const CacheFile& b) {
        return a.age_seconds != b.age_seconds ? a.age_seconds > b.age_seconds : a.name < b.name;
    });
    return files;
}

Result<std::vector<CacheFile>> clear_cache(const std::string& folder) {
    CLASP_ASSIGN_OR_RETURN(std::vector<CacheFile> files, list_cache(folder));
    for (const CacheFile& file : files) {
        std::error_code error;
        fs::remove(fs::path(folder) / file.name, error);
        if (error) return unreadable((fs::path(folder) / file.name).string(), error);
    }
    return files;
}

}  // namespace clasp::engine
