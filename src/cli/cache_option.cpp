#include "cli/cache_option.h"

#include <cstdlib>

namespace clasp::cli {

namespace {

// Absolute paths only, as the base directory specification wants it.
std::string folder_variable(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && value[0] == '/' ? value : "";
}

}  // namespace

Option cache_option(std::string_view help) {
    return {.name = "cache",
            .type = OptionType::File,
            .value = "DIR|auto",
            .help = help,
            .group = OptionGroup::Performance};
}

Result<std::string> read_cache_option(const Arguments& arguments) {
    const auto folder = arguments.text_if("cache");
    if (!folder) return std::string();
    if (*folder != kUsualCache) return *folder;
    const std::string cache = folder_variable("XDG_CACHE_HOME");
    if (!cache.empty()) return cache + "/clasp/features";
    const std::string home = folder_variable("HOME");
    if (!home.empty()) return home + "/.cache/clasp/features";
    return Status(Code::InvalidArgument,
                  "--cache auto needs XDG_CACHE_HOME or HOME to be set; name a folder instead");
}

}  // namespace clasp::cli
