#include "engine/cache_folder.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/text.h"
#include "engine/feature_cache.h"

namespace clasp::engine {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kKeyDigits = 64;
constexpr double kStaleSeconds = 3600.0;

// "<64 hexadecimal digits>.features", and the same with ".tmp-..." behind it for a write that never ended.
enum class Kind : std::uint8_t { Foreign, Features, Unfinished };

Kind kind_of(std::string_view name) {
    if (name.size() < kKeyDigits + kFeatureSuffix.size()) return Kind::Foreign;
    const std::string_view key = name.substr(0, kKeyDigits);
    const bool is_key = std::all_of(key.begin(), key.end(),
                                    [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
    const std::string_view rest = name.substr(kKeyDigits);
    if (!is_key || !rest.starts_with(kFeatureSuffix)) return Kind::Foreign;
    const std::string_view tail = rest.substr(kFeatureSuffix.size());
    if (tail.empty()) return Kind::Features;
    return tail.starts_with(".tmp-") ? Kind::Unfinished : Kind::Foreign;
}

// In whatever version of the format: files of older ones are ours too, and of no use any more.
bool begins_as_features(const fs::path& path) {
    const std::string_view name = kFeatureMagic.substr(0, kFeatureMagic.size() - 1);
    std::string head(name.size(), '\0');
    std::ifstream file(path, std::ios::binary);
    return file.read(head.data(), static_cast<std::streamsize>(head.size())) && head == name;
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
        const Kind kind = kind_of(path.filename().string());
        std::error_code ignored;  // a file that goes meanwhile is not listed
        if (kind == Kind::Foreign || entries->symlink_status(ignored).type() != fs::file_type::regular)
            continue;
        CacheFile file;
        file.name = path.filename().string();
        file.n_bytes = fs::file_size(path, ignored);
        if (!ignored) file.age_seconds = age_of(path, ignored);
        if (ignored) continue;
        const bool is_ours =
            kind == Kind::Features ? begins_as_features(path) : file.age_seconds > kStaleSeconds;
        if (is_ours) files.push_back(std::move(file));
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
