// clasp-vlm cache: what --cache keeps on disk, and how to get rid of it.
#include <filesystem>
#include <ostream>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/progress_line.h"
#include "cli/request_rows.h"
#include "engine/cache_folder.h"
#include "request/cache_folder.h"

namespace clasp::cli {

namespace {

std::string megabytes(std::size_t n_bytes) {
    return fixed(static_cast<double>(n_bytes) / 1e6, 1) + " MB";
}

void print(const std::string& folder, const std::vector<engine::CacheFile>& files, std::size_t n_bytes,
           Console& console) {
    for (const engine::CacheFile& file : files) {
        console.out << base::printable(file.name) << "  " << megabytes(file.n_bytes) << "  "
                    << duration_text(file.age_seconds) << " old\n";
    }
    console.out << files.size() << (files.size() == 1 ? " file, " : " files, ") << megabytes(n_bytes)
                << " in " << base::printable(folder) << '\n';
}

Json as_json(const std::vector<engine::CacheFile>& files) {
    Json list = Json::array();
    for (const engine::CacheFile& file : files) {
        list.push_back({{"file", file.name}, {"bytes", file.n_bytes}, {"age_seconds", file.age_seconds}});
    }
    return list;
}

Status run(const Arguments& arguments, Console& console) {
    CLASP_ASSIGN_OR_RETURN(const std::string folder, request::cache_folder(arguments.text("cache")));
    const bool clears = arguments.positional("ACTION").front() == "clear";
    // Nothing was ever kept in the usual folder: that is no failure.
    std::error_code error;
    const bool is_empty =
        arguments.text("cache") == request::kUsualCache && !std::filesystem::exists(folder, error);
    std::vector<engine::CacheFile> files;
    if (!is_empty) {
        CLASP_ASSIGN_OR_RETURN(files, clears ? engine::clear_cache(folder) : engine::list_cache(folder));
    }
    std::size_t n_bytes = 0;
    for (const engine::CacheFile& file : files) n_bytes += file.n_bytes;
    if (arguments.flag("json")) {
        write_json(console, {{"cache", folder},
                             {clears ? "removed" : "files", as_json(files)},
                             {"count", files.size()},
                             {"bytes", n_bytes}});
    } else if (clears) {
        console.out << "removed " << files.size() << (files.size() == 1 ? " file, " : " files, ")
                    << megabytes(n_bytes) << ", from " << base::printable(folder) << '\n';
    } else {
        print(folder, files, n_bytes, console);
    }
    return ok_status();
}

}  // namespace

Command cache_command() {
    Option cache = option_with_help("cache", "folder of 'ask --cache', or auto for the usual one");
    cache.fallback = request::kUsualCache;
    return {
        .name = "cache",
        .summary = "List or remove the vision layers that 'ask --cache' keeps",
        .positionals = {{.name = "ACTION", .help = "what to do", .choices = {"list", "clear"}}},
        .options = {cache},
        .notes =
            "Only files that clasp-vlm wrote are listed and removed; whatever else is in the folder stays.",
        .examples = {"clasp-vlm cache list", "clasp-vlm cache clear --cache layers"},
        .run = run,
    };
}

}  // namespace clasp::cli
