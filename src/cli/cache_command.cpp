// clasp-vlm cache: what --cache and --packed keep on disk, and how to get rid of it.
#include <filesystem>
#include <ostream>

#include "base/cache_files.h"
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

// One folder and what is in it, or was.
struct CacheContent {
    std::string folder;
    std::vector<engine::CacheFile> files;

    [[nodiscard]] std::size_t n_bytes() const {
        std::size_t total = 0;
        for (const engine::CacheFile& file : files) total += file.n_bytes;
        return total;
    }
};

void print(const CacheContent& content, bool clears, Console& console) {
    if (!clears) {
        for (const engine::CacheFile& file : content.files) {
            console.out << base::printable(file.name) << "  " << megabytes(file.n_bytes) << "  "
                        << duration_text(file.age_seconds) << " old\n";
        }
    }
    console.out << (clears ? "removed " : "") << content.files.size()
                << (content.files.size() == 1 ? " file, " : " files, ") << megabytes(content.n_bytes())
                << (clears ? ", from " : " in ") << base::printable(content.folder) << '\n';
}

void add_json(const CacheContent& content, Json& list) {
    for (const engine::CacheFile& file : content.files) {
        list.push_back({{"folder", content.folder},
                        {"file", file.name},
                        {"bytes", file.n_bytes},
                        {"age_seconds", file.age_seconds}});
    }
}

// The folder that is named, or the usual ones.
Result<std::vector<CacheContent>> read_folders(const std::string& word, bool clears) {
    CLASP_ASSIGN_OR_RETURN(const std::string folder, request::cache_folder(word));
    std::vector<CacheContent> contents = {{folder, {}}};
    if (word == request::kUsualCache) contents.push_back({base::usual_cache_folder("packed"), {}});
    for (CacheContent& content : contents) {
        // Nothing was ever kept in a usual folder: that is no failure.
        std::error_code error;
        if (word == request::kUsualCache && !std::filesystem::exists(content.folder, error)) continue;
        CLASP_ASSIGN_OR_RETURN(
            content.files, clears ? engine::clear_cache(content.folder) : engine::list_cache(content.folder));
    }
    return contents;
}

Status run(const Arguments& arguments, Console& console) {
    const bool clears = arguments.positional("ACTION").front() == "clear";
    CLASP_ASSIGN_OR_RETURN(const auto contents, read_folders(arguments.text("cache"), clears));
    if (!arguments.flag("json")) {
        for (const CacheContent& content : contents) print(content, clears, console);
        return ok_status();
    }
    Json list = Json::array();
    std::size_t n_bytes = 0;
    for (const CacheContent& content : contents) {
        add_json(content, list);
        n_bytes += content.n_bytes();
    }
    const std::size_t count = list.size();
    write_json(console, {{"cache", contents.front().folder},
                         {clears ? "removed" : "files", std::move(list)},
                         {"count", count},
                         {"bytes", n_bytes}});
    return ok_status();
}

}  // namespace

Command cache_command() {
    Option cache =
        option_with_help("cache", "folder of 'ask --cache' or '--packed', or auto for the usual ones");
    cache.fallback = request::kUsualCache;
    return {
        .name = "cache",
        .summary = "List or remove what 'ask --cache' and '--packed' keep on disk",
        .positionals = {{.name = "ACTION", .help = "what to do", .choices = {"list", "clear"}}},
        .options = {cache},
        .notes =
            "Only files that clasp-vlm wrote are listed and removed; whatever else is in the folder stays.",
        .examples = {"clasp-vlm cache list", "clasp-vlm cache clear --cache layers"},
        .run = run,
    };
}

}  // namespace clasp::cli
