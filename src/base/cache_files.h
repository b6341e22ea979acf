// Files that are kept for the user between runs: where, and how ours are told from all others.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace clasp::base {

// ${XDG_CACHE_HOME:-~/.cache}/clasp/<name>; empty when neither variable names an absolute path.
std::string usual_cache_folder(std::string_view name);

// A sort of files by how their names end and how they begin, the last character being the version of the
// format.
struct CacheFormat {
    std::string_view suffix;
    std::string_view magic;
};

// "<64 hexadecimal digits><suffix>", and the same with ".tmp-..." behind it for a write that never ended.
enum class CacheName : std::uint8_t { Foreign, Whole, Unfinished };
CacheName cache_name(std::string_view name, const CacheFormat& format);

// In whatever version of the format: files of older ones are ours too, and of no use any more.
bool begins_as(const std::string& path, const CacheFormat& format);

}  // namespace clasp::base
