// Ctrl-C as a flag: the first one asks for a clean stop, a second one ends the program as usual.
#pragma once

#include <atomic>

namespace clasp::cli {

// Installs the handler on first use. The flag lives as long as the program.
const std::atomic<bool>& interrupted();

// As if no signal had come: the next Ctrl-C asks for a clean stop again. For programs that go on after it.
void forget_interrupt();

// The signal that set the flag; 0: none did.
int interrupt_signal();

}  // namespace clasp::cli
