#include "base/cache_files.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace clasp::base {

namespace {

constexpr std::size_t kKeyDigits = 64;

// Absolute paths only, as the base directory specification wants it.
std::string folder_variable(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && value[0] == '/' ? value : "";
}

}  // namespace

std::string usual_cache_folder(std::string_view name) {
    const std::string cache = folder_variable("XDG_CACHE_HOME");
    if (!cache.empty()) return cache + "/clasp/" + std::string(name);
    const std::string home = folder_variable("HOME");
    if (!home.empty()) return home + "/.cache/clasp/" + std::string(name);
    return {};
}

CacheName cache_name(std::string_view name, const CacheFormat& format) {
    if (name.size() < kKeyDigits + format.suffix.size()) return CacheName::Foreign;
    const std::string_view key = name.substr(0, kKeyDigits);
    const bool is_key = std::all_of(key.begin(), key.end(),
                                    [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
    const std::string_view rest = name.substr(kKeyDigits);
    if (!is_key || !rest.starts_with(format.suffix)) return CacheName::Foreign;
    const std::string_view tail = rest.substr(format.suffix.size());
    if (tail.empty()) return CacheName::Whole;
    return tail.starts_with(".tmp-") ? CacheName::Unfinished : CacheName::Foreign;
}

bool begins_as(const std::string& path, const CacheFormat& format) {
    const std::string_view magic = format.magic.substr(0, format.magic.size() - 1);
    std::string head(magic.size(), '\0');
    std::ifstream file(path, std::ios::binary);
    return file.read(head.data(), static_cast<std::streamsize>(head.size())) && head == magic;
}

}  // namespace clasp::base
