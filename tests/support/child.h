// Runs something in a child process, so that an abort is a failure of one case and not the end of all.
#pragma once

#include <functional>
#include <string>

namespace clasp::test {

struct ChildResult {
    bool ended_well = false;  // left by itself with exit code 0
    std::string how;          // "exit 0", "signal 6", "still running after 60 s"
    std::string text;         // what the function returned
};

// The child has no threads of the parent's: the parent must not have started any that matter to the function.
ChildResult run_in_child(const std::function<std::string()>& function, int limit_seconds = 60);

// The same of a function that may end its process.
struct Ending {
    int status = -1;   // the exit code, or minus the signal
    std::string said;  // on standard error
};
Ending end_of(const std::function<void()>& function, int limit_seconds = 60);

}  // namespace clasp::test
