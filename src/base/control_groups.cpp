#include "base/control_groups.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/text.h"

namespace clasp::base {

std::string kernel_text(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<GroupFolder> group_folders(std::string_view groups, std::string_view controller,
                                       const std::string& root) {
    std::vector<GroupFolder> folders;
    for (const std::string_view line : split(groups, '\n')) {
        // number:controllers:path; version 2 has no controllers
        const std::size_t first = line.find(':');
        if (first == std::string_view::npos) continue;
        const std::size_t second = line.find(':', first + 1);
        if (second == std::string_view::npos) continue;
        const std::string_view controllers = line.substr(first + 1, second - first - 1);
        const std::vector<std::string_view> names = split(controllers, ',');
        const bool is_v2 = controllers.empty();
        if (!is_v2 && std::find(names.begin(), names.end(), controller) == names.end()) continue;
        const std::string base = is_v2 ? root : root + "/" + std::string(controller);
        std::string path(line.substr(second + 1));
        while (true) {
            while (!path.empty() && path.back() == '/') path.pop_back();
            folders.push_back({base + path, is_v2});
            if (path.empty()) break;
            const std::size_t slash = path.rfind('/');
            path.erase(slash == std::string::npos ? 0 : slash);
        }
    }
    return folders;
}

std::optional<double> memory_quota(std::string_view groups, const std::string& root) {
    std::optional<double> smallest;
    for (const GroupFolder& folder : group_folders(groups, "memory", root)) {
        const std::string text =
            kernel_text(folder.path + (folder.is_v2 ? "/memory.max" : "/memory.limit_in_bytes"));
        const auto bytes = parse_double(std::string_view(text).substr(0, text.find('\n')));
        if (bytes && (!smallest || *bytes < *smallest)) smallest = bytes;
    }
    return smallest;
}

}  // namespace clasp::base
