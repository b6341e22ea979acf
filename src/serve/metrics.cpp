#include "serve/metrics.h"

#include <algorithm>

#include "base/text.h"

namespace clasp::serve {

namespace {

std::string number(double value) {
    return base::format_exact(value);
}

std::string number(std::size_t value) {
    return std::to_string(value);
}

std::string head(const std::string& name, const char* type, const std::string& help) {
    return "# HELP " + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
}

template <typename Value>
std::string one(const std::string& name, const char* type, const std::string& help, Value value) {
    return head(name, type, help) + name + " " + number(value) + "\n";
}

// A name of a class in a label: quotes and backslashes would end it.
std::string label(const std::string& text) {
    std::string safe = base::printable(text, 128);
    std::replace_if(
        safe.begin(), safe.end(), [](char c) { return c == '"' || c == '\\'; }, '_');
    return safe;
}

}  // namespace

void Histogram::add(double seconds) {
    for (std::size_t i = 0; i < kBounds.size(); ++i) {
        if (seconds <= kBounds[i]) ++counts_[i];
    }
    ++n_;
    sum_ += seconds;
}

std::string Histogram::text(const std::string& name, const std::string& help) const {
    std::string lines = head(name, "histogram", help);
    for (std::size_t i = 0; i < kBounds.size(); ++i) {
        lines += name + "_bucket{le=\"" + number(kBounds[i]) + "\"} " + number(counts_[i]) + "\n";
    }
    lines += name + "_bucket{le=\"+Inf\"} " + number(n_) + "\n";
    return lines + name + "_sum " + number(sum_) + "\n" + name + "_count " + number(n_) + "\n";
}

void Metrics::count_reply(const std::string& route, int status) {
    const std::lock_guard lock(mutex_);
    ++replies_[{route, status}];
}

void Metrics::count_answer(const Answer& answer, const PlannedRequest& planned, double queue_ms) {
    const std::lock_guard lock(mutex_);
    n_prompt_ += planned.n_prompt;
    n_generated_ += answer.generated;
    n_visual_ += answer.tokens.visual;
    n_kept_ += answer.tokens.final;
    longest_ = std::max(longest_, planned.n_prompt + answer.generated);
    if (answer.cache_hit) ++(*answer.cache_hit ? n_cache_hits_ : n_cache_misses_);
    prompt_s_ += answer.timings.first_token_ms / 1000.0;
    generate_s_ += answer.timings.decode_ms / 1000.0;
    ++classes_[{answer.chosen_class.name, answer.chosen_class.by}];
    first_token_.add(answer.timings.first_token_ms / 1000.0);
    queue_.add(queue_ms / 1000.0);
    whole_.add(answer.timings.total_ms / 1000.0);
}

std::string Metrics::text(const SchedulerCounts& counts) const {
    const std::lock_guard lock(mutex_);
    const auto share = [](double n, double seconds) { return seconds > 0.0 ? n / seconds : 0.0; };
    const auto per_step =
        share(static_cast<double>(counts.n_decode_tokens), static_cast<double>(counts.n_decode_steps));
    std::string text;
    text +=
        one("llamacpp:prompt_tokens_total", "counter", "Tokens of prompts, with nothing pruned", n_prompt_);
    text += one("llamacpp:prompt_seconds_total", "counter", "Seconds until first tokens", prompt_s_);
    text += one("llamacpp:tokens_predicted_total", "counter", "Tokens written", n_generated_);
    text += one("llamacpp:tokens_predicted_seconds_total", "counter", "Seconds of writing", generate_s_);
    text += one("llamacpp:n_decode_total", "counter", "Steps of writing, of one or several requests",
                counts.n_decode_steps);
    text += one("llamacpp:n_tokens_max", "counter", "Longest request with its answer", longest_);
    text += one("llamacpp:prompt_tokens_seconds", "gauge", "Tokens of prompts in a second, on average",
                share(static_cast<double>(n_prompt_), prompt_s_));
    text += one("llamacpp:predicted_tokens_seconds", "gauge", "Tokens written in a second, on average",
                share(static_cast<double>(n_generated_), generate_s_));
    text += one("llamacpp:requests_processing", "gauge", "Requests that run", counts.n_running);
    text += one("llamacpp:requests_deferred", "gauge", "Requests that wait", counts.n_waiting);
    text += one("llamacpp:n_busy_slots_per_decode", "gauge", "Requests in a step of writing, on average",
                per_step);
    text += one("clasp_kv_bytes", "gauge", "Bytes of keys and values of requests that run", counts.kv_bytes);
    text += one("clasp_cancelled_total", "counter", "Requests whose client left, or that took too long",
                counts.n_cancelled);
    text += one("clasp_image_cache_hits_total", "counter", "Requests whose pictures were encoded before",
                n_cache_hits_);
    text += one("clasp_image_cache_misses_total", "counter", "Requests whose pictures were encoded",
                n_cache_misses_);
    text +=
        head("clasp_visual_tokens_total", "counter", "Visual tokens of requests, and those left in the end");
    text += "clasp_visual_tokens_total{kind=\"all\"} " + number(n_visual_) + "\n";
    text += "clasp_visual_tokens_total{kind=\"kept\"} " + number(n_kept_) + "\n";
    text += head("clasp_requests_total", "counter", "Replies by path and status");
    for (const auto& [key, n] : replies_) {
        text += "clasp_requests_total{route=\"" + key.first + "\",status=\"" + std::to_string(key.second) +
                "\"} " + number(n) + "\n";
    }
    text += head("clasp_class_total", "counter", "Answers by class of the question and by who named it");
    for (const auto& [key, n] : classes_) {
        text += "clasp_class_total{class=\"" + label(key.first) + "\",by=\"" + label(key.second) + "\"} " +
                number(n) + "\n";
    }
    text +=
        first_token_.text("clasp_time_to_first_token_seconds", "From a request's arrival to its first token");
    text += queue_.text("clasp_queue_seconds", "From a request's arrival to its turn");
    text += whole_.text("clasp_request_seconds", "From a request's arrival to its last token");
    return text;
}

}  // namespace clasp::serve
