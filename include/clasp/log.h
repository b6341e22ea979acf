// The library never prints. Whoever wants its messages passes a sink in.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace clasp {

enum class LogLevel : std::uint8_t { Debug, Info, Warning, Error };

// Called from any thread that runs library code; must be thread safe. May be empty.
using LogSink = std::function<void(LogLevel level, std::string_view message)>;

inline void log(const LogSink& sink, LogLevel level, std::string_view message) {
    if (sink) sink(level, message);
}

}  // namespace clasp
