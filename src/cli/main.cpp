#include <unistd.h>

#include <csignal>
#include <iostream>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/process_guard.h"

int main(int argc, char** argv) {
    clasp::cli::fill_standard_streams();
    clasp::cli::guard_against_sudden_ends();
    std::ios::sync_with_stdio(false);
    // A limit on the size of files is an error of the write that meets it, not the end of the program.
    std::signal(SIGXFSZ, SIG_IGN);
    const std::vector<std::string_view> words(argv + (argc > 0 ? 1 : 0), argv + argc);
    clasp::cli::Console console{.out = std::cout,
                                .err = std::cerr,
                                .err_is_terminal = isatty(STDERR_FILENO) == 1,
                                .out_is_terminal = isatty(STDOUT_FILENO) == 1,
                                .in = &std::cin,
                                .in_is_terminal = isatty(STDIN_FILENO) == 1};
    return clasp::cli::run_program(words, console);
}
