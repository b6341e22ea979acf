#include <unistd.h>

#include <iostream>
#include <string_view>
#include <vector>

#include "cli/command.h"

int main(int argc, char** argv) {
    std::ios::sync_with_stdio(false);
    const std::vector<std::string_view> words(argv + (argc > 0 ? 1 : 0), argv + argc);
    clasp::cli::Console console{std::cout, std::cerr, isatty(STDERR_FILENO) == 1};
    return clasp::cli::run_program(words, console);
}
