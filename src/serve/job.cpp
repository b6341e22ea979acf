#include "serve/job.h"

#include <utility>

namespace clasp::serve {

Job::News Job::wait(std::chrono::milliseconds most) {
    std::unique_lock lock(mutex_);
    has_news_.wait_for(lock, most, [this] { return !text_.empty() || progress_ || outcome_; });
    News news;
    news.text = std::exchange(text_, {});
    news.progress = std::exchange(progress_, std::nullopt);
    news.is_over = outcome_.has_value();
    full_since_.reset();
    return news;
}

void Job::add_text(std::string_view text) {
    const std::lock_guard lock(mutex_);
    text_ += text;
    if (text_.size() > limits_.max_output_bytes && !full_since_) full_since_ = Clock::now();
    has_news_.notify_one();
}

void Job::set_progress(const Progress& progress) {
    const std::lock_guard lock(mutex_);
    progress_ = progress;
    has_news_.notify_one();
}

bool Job::is_stalled() const {
    const std::lock_guard lock(mutex_);
    return full_since_ && Clock::now() - *full_since_ > limits_.max_stall;
}

void Job::start() {
    queue_ms_.store(std::chrono::duration<double, std::milli>(Clock::now() - arrived_).count());
}

void Job::finish(std::variant<Answer, Refusal> outcome) {
    const std::lock_guard lock(mutex_);
    outcome_ = std::move(outcome);
    has_news_.notify_one();
}

}  // namespace clasp::serve
