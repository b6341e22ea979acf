#include "eval/data_folder.h"

#include <filesystem>
#include <system_error>

#include "base/text.h"

namespace clasp::eval {

namespace fs = std::filesystem;

std::string in_folder(const std::string& folder, std::string_view name) {
    return name.empty() ? folder : (fs::path(folder) / name).string();
}

bool is_file(const std::string& path) {
    std::error_code error;
    return fs::is_regular_file(path, error);
}

bool is_folder(const std::string& path) {
    std::error_code error;
    return fs::is_directory(path, error);
}

Result<std::string> find_file(const std::string& folder, const std::vector<std::string>& names) {
    if (!is_folder(folder)) {
        return Status(Code::NotFound, "the data folder " + base::path_in_quotes(folder) + " does not exist");
    }
    std::string list;
    for (const std::string& name : names) {
        std::string path = in_folder(folder, name);
        if (is_file(path)) return path;
        if (!list.empty()) list += &name == &names.back() ? " or " : ", ";
        list += name;
    }
    return Status(Code::NotFound, "the data folder " + base::path_in_quotes(folder) + " has no " + list);
}

std::string find_image_folder(const std::string& folder, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
        std::string path = in_folder(folder, name);
        if (is_folder(path)) return path;
    }
    return in_folder(folder, names.front());
}

}  // namespace clasp::eval
