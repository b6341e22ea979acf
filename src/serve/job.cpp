#include "serve/job.h"

#include <algorithm>

#include <utility>

namespace clasp::serve {

Job::News Job::wait(std::chrono::milliseconds most) {
    std::unique_lock lock(mutex_);
    has_news_.wait_for(lock, most, [this] { return !text_.empty() || !progress_.empty() || outcome_; });
    News news;
    news.text = std::exchange(text_, {});
    news.progress = std::exchange(progress_, {});
    news.is_over = outcome_.has_value();
    full_since_.reset();
    return news;
}

bool Job::shares_picture(const Job& other) const {
    if (pictures_ == nullptr || other.pictures_ == nullptr) return false;
    return std::any_of(pictures_->begin(), pictures_->end(), [&](const std::string& picture) {
        return std::find(other.pictures_->begin(), other.pictures_->end(), picture) != other.pictures_->end();
    });
}

void Job::add_text(std::string_view text) {
    const std::lock_guard lock(mutex_);
    text_ += text;
    if (text_.size() > limits_.max_output_bytes && !full_since_) full_since_ = Clock::now();
    has_news_.notify_one();
}

void Job::set_progress(const Progress& progress) {
    const std::lock_guard lock(mutex_);
    const bool is_new_phase = !last_phase_ || *last_phase_ != progress.phase;
    // Nobody hears of all steps, but everybody of the first of a phase.
    if (!is_new_phase && !has_begun_phase_ && !progress_.empty()) progress_.pop_back();
    progress_.push_back(progress);
    has_begun_phase_ = is_new_phase;
    last_phase_ = progress.phase;
    has_news_.notify_one();
}

bool Job::is_over() const {
    const std::lock_guard lock(mutex_);
    return outcome_.has_value();
}

bool Job::is_stalled() const {
    const std::lock_guard lock(mutex_);
    return full_since_ && Clock::now() - *full_since_ > limits_.max_stall;
}

void Job::start() {
    queue_ms_.store(std::chrono::duration<double, std::milli>(Clock::now() - arrived_).count());
    has_started_.store(true);
}

void Job::finish(std::variant<Answer, Refusal> outcome) {
    const std::lock_guard lock(mutex_);
    outcome_ = std::move(outcome);
    has_news_.notify_one();
}

}  // namespace clasp::serve
