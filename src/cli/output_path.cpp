#include "cli/output_path.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/atomic_file.h"
#include "base/text.h"

namespace clasp::cli {

namespace {

namespace fs = std::filesystem;

Status refused(const Option& option, const std::string& path, const std::string& reason) {
    return {Code::InvalidArgument,
            "--" + std::string(option.name) + " " + base::path_in_quotes(path) + ": " + reason};
}

std::string folder_in_quotes(const fs::path& folder) {
    return base::path_in_quotes(folder.string());
}

// Why nothing can be written into a folder that is there; empty when it can.
std::string why_not_writable(const fs::path& folder) {
    if (::access(folder.c_str(), W_OK | X_OK) == 0) return "";
    return "the folder " + folder_in_quotes(folder) +
           " cannot be written to: " + std::generic_category().message(errno);
}

}  // namespace

std::string extension_of(const std::string& path) {
    return base::lower(fs::path(path).extension().string());
}

Status check_output_file(const Option& option, const std::string& path) {
    if (!option.extensions.empty()) {
        const std::string extension = extension_of(path);
        const auto known = std::find(option.extensions.begin(), option.extensions.end(), extension);
        if (known == option.extensions.end()) {
            return refused(option, path, "the name must end with " + base::join(option.extensions));
        }
    }
    const fs::path file(path);
    std::error_code error;
    const fs::file_status target = fs::status(file, error);
    if (fs::is_directory(target)) return refused(option, path, "a folder is in its place");
    if (fs::exists(target) && !fs::is_regular_file(target)) {
        return refused(option, path, "something that is not a regular file is in its place");
    }
    if (!file.has_filename()) return refused(option, path, "the name of a file is missing");
    if (fs::exists(target) && ::access(path.c_str(), W_OK) != 0) {
        return refused(option, path,
                       "the file there cannot be written to: " + std::generic_category().message(errno));
    }
    const fs::path end(base::write_target(path));
    const fs::path folder = end.has_parent_path() ? end.parent_path() : fs::path(".");
    const fs::file_status parent = fs::status(folder, error);
    if (!fs::exists(parent)) {
        return refused(option, path, "there is no folder " + folder_in_quotes(folder));
    }
    if (!fs::is_directory(parent)) return refused(option, path, folder_in_quotes(folder) + " is no folder");
    const std::string reason = why_not_writable(folder);
    return reason.empty() ? ok_status() : refused(option, path, reason);
}

Status check_output_folder(const Option& option, const std::string& path) {
    // The nearest folder that is there: what is missing below it will be made.
    fs::path folder(path);
    std::error_code error;
    while (!fs::exists(fs::status(folder, error)) && folder.has_parent_path() &&
           folder.parent_path() != folder) {
        folder = folder.parent_path();
    }
    if (!fs::exists(fs::status(folder, error))) folder = ".";
    if (!fs::is_directory(folder, error)) {
        return refused(option, path, folder_in_quotes(folder) + " is no folder");
    }
    const std::string reason = why_not_writable(folder);
    return reason.empty() ? ok_status() : refused(option, path, reason);
}

Status check_output_paths(std::span<const Option> options, const Arguments& arguments) {
    for (const Option& option : options) {
        for (const std::string& path : arguments.all(option.name)) {
            if (option.writes == Writes::File) CLASP_RETURN_IF_ERROR(check_output_file(option, path));
            if (option.writes == Writes::Folder) CLASP_RETURN_IF_ERROR(check_output_folder(option, path));
        }
    }
    return ok_status();
}

}  // namespace clasp::cli
