#include "cli/ask_progress.h"

#include <cmath>
#include <ostream>

#include "cli/interrupt.h"
#include "cli/progress_line.h"

namespace clasp::cli {

namespace {

constexpr std::chrono::milliseconds kPause(100);
// Before this much of a phase is done, what is left is a guess.
constexpr double kLeastShare = 0.02;

std::string_view words_for(Progress::Phase phase) {
    switch (phase) {
        case Progress::Phase::Load: return "loading the model";
        case Progress::Phase::Encode: return "looking at the picture";
        case Progress::Phase::Prefill: return "reading the question";
        case Progress::Phase::Keep: return "writing packed weights for the next start (Ctrl-C skips)";
    }
    return "";
}

}  // namespace

ProgressSink AskProgress::sink() {
    const std::lock_guard lock(mutex_);
    phase_.reset();
    if (!console_.err_is_terminal) return {};
    return [this](const Progress& progress) { show(progress); };
}

LogSink AskProgress::log_sink() {
    return [this, sink = console_.log_sink()](LogLevel level, std::string_view message) {
        if (level >= LogLevel::Warning) aside([&] { sink(level, message); });
    };
}

void AskProgress::show(const Progress& progress) {
    const std::lock_guard lock(mutex_);
    const Clock::time_point now = Clock::now();
    const bool is_new = phase_ != progress.phase;
    if (is_new) {
        phase_ = progress.phase;
        phase_start_ = now;
    } else if (now - last_ < kPause) {
        return;
    }
    last_ = now;
    const double share = progress.total > 0.0 ? progress.done / progress.total : 0.0;
    std::string line(words_for(progress.phase));
    line += " " + std::to_string(std::lround(100.0 * share)) + " %";
    if (share >= kLeastShare) {
        const std::chrono::duration<double> elapsed = now - phase_start_;
        line += ", " + duration_text(elapsed.count() * (1.0 - share) / share) + " left";
    }
    console_.terminal() << '\r' << line << "\x1b[K" << std::flush;
    is_open_ = true;
}

Status AskProgress::finish_keeping(const Engine& engine, const Status& outcome) {
    if (!outcome.ok()) {
        const std::atomic<bool> at_once{true};
        static_cast<void>(engine.finish_keeping({}, &at_once));
        return outcome;
    }
    Status kept = engine.finish_keeping(sink(), &interrupted());
    clear();
    if (kept.ok()) return kept;
    return {kept.code(), "stopped before the packed weights were written; the next start packs them again"};
}

void AskProgress::clear() {
    const std::lock_guard lock(mutex_);
    hide();
}

void AskProgress::hide() {
    if (is_open_) console_.terminal() << "\r\x1b[K" << std::flush;
    is_open_ = false;
}

}  // namespace clasp::cli
