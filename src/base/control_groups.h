// Where the limits of this process's control groups stand.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace clasp::base {

struct GroupFolder {
    std::string path;
    bool is_v2 = false;
};

// The folders of the groups that a controller ("cpu", "memory") puts this process into, and of those around
// them, innermost first. `groups` is the text of /proc/self/cgroup, `root` where control groups are mounted.
// In a container the path may be the host's; folders that are not there have no limits.
std::vector<GroupFolder> group_folders(std::string_view groups, std::string_view controller,
                                       const std::string& root);

// The text of a file of the kernel; empty when it cannot be read. Only for paths that no user gives.
std::string kernel_text(const std::string& path);

// The bytes of memory that control groups allow this process; nothing without a limit.
std::optional<double> memory_quota(std::string_view groups, const std::string& root);

}  // namespace clasp::base
