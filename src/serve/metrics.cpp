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

std::string Histogram::lines(const std::string& name, const std::string& label) const {
    const std::string more = label.empty() ? "" : label + ",";
    const std::string alone = label.empty() ? "" : "{" + label + "}";
    const std::string bucket = name + "_bucket{" + more + "le=\"";
    std::string lines;
    for (std::size_t i = 0; i < kBounds.size(); ++i) {
        lines.append(bucket)
            .append(number(kBounds[i]))
            .append("\"} ")
            .append(number(counts_[i]))
            .append("\n");
    }
    lines.append(bucket).append("+Inf\"} ").append(number(n_)).append("\n");
    return lines + name + "_sum" + alone + " " + number(sum_) + "\n" + name + "_count" + alone + " " +
           number(n_) + "\n";
}

std::string Histogram::text(const std::string& name, const std::string& help) const {
    return head(name, "histogram", help) + lines(name);
}

void Metrics::count_reply(const std::string& route, const ReplyFacts& facts) {
    const std::lock_guard lock(mutex_);
    ++replies_[{route, facts.status}];
    if (!facts.code.empty()) ++rejected_[facts.code];
}

void Metrics::count_answer(const Answer& answer, const PlannedRequest& planned, double queue_ms,
                           const std::vector<double>& gaps_ms) {
    const std::lock_guard lock(mutex_);
    const std::size_t n_cached = std::min(planned.n_prompt, answer.history.n_tokens);
    n_prompt_ += planned.n_prompt - n_cached;
    n_cached_ += n_cached;
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
    for (const double gap : gaps_ms) between_tokens_.add(gap / 1000.0);
    const AskTimings& times = answer.timings;
    for (const auto& [name, ms] :
         {std::pair{"route", times.route_ms}, std::pair{"image", times.image_ms},
          std::pair{"encode", times.encode_ms}, std::pair{"fuse", times.fuse_ms},
          std::pair{"project", times.project_ms}, std::pair{"gram", times.gram_ms},
          std::pair{"select", times.select_ms}, std::pair{"prefill", times.prefill_ms},
          std::pair{"decode", times.decode_ms}}) {
        stages_[name].add(ms / 1000.0);
    }
}

std::string Metrics::text(const SchedulerCounts& counts, std::size_t image_cache_bytes) const {
    const std::lock_guard lock(mutex_);
    const auto share = [](double n, double seconds) { return seconds > 0.0 ? n / seconds : 0.0; };
    const auto per_step =
        share(static_cast<double>(counts.n_decode_tokens), static_cast<double>(counts.n_decode_steps));
    std::string text;
    text += one("llamacpp:prompt_tokens_total", "counter",
                "Tokens of prompts that were read, with nothing pruned", n_prompt_);
    text += one("llamacpp:prompt_tokens_cached_total", "counter",
                "Tokens of prompts that were not read again", n_cached_);
    text += one("llamacpp:prompt_seconds_total", "counter", "Seconds until first tokens", prompt_s_);
    text += one("llamacpp:tokens_predicted_total", "counter", "Tokens written", n_generated_);
    text += one("llamacpp:tokens_predicted_seconds_total", "counter", "Seconds of writing", generate_s_);
    text += one("llamacpp:n_decode_total", "counter", "Steps of writing, of one or several requests",
                counts.n_decode_steps);
    text += one("llamacpp:n_tokens_max", "counter", "Longest request with its answer", longest_);
    for (const char* name : {"draft_tokens", "accepted_tokens", "drafts"}) {
        text += one("llamacpp:spec_decode_num_" + std::string(name) + "_total", "counter",
                    "Of guesses ahead, which this server does not make", std::size_t{0});
    }
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
        one("clasp_image_cache_bytes", "gauge", "Bytes of vision layers that are kept", image_cache_bytes);
    text +=
        head("clasp_visual_tokens_total", "counter", "Visual tokens of requests, and those left in the end");
    text += "clasp_visual_tokens_total{kind=\"all\"} " + number(n_visual_) + "\n";
    text += "clasp_visual_tokens_total{kind=\"kept\"} " + number(n_kept_) + "\n";
    text += head("clasp_requests_total", "counter", "Replies by path and status");
    for (const auto& [key, n] : replies_) {
        text += "clasp_requests_total{route=\"" + key.first + "\",status=\"" + std::to_string(key.second) +
                "\"} " + number(n) + "\n";
    }
    text += head("clasp_rejected_total", "counter", "Requests that were refused, by code");
    for (const auto& [code, n] : rejected_) {
        text += "clasp_rejected_total{code=\"" + code + "\"} " + number(n) + "\n";
    }
    text += head("clasp_class_total", "counter", "Answers by class of the question and by who named it");
    for (const auto& [key, n] : classes_) {
        text += "clasp_class_total{class=\"" + label(key.first) + "\",by=\"" + label(key.second) + "\"} " +
                number(n) + "\n";
    }
    text +=
        first_token_.text("clasp_time_to_first_token_seconds", "From a request's arrival to its first token");
    text += queue_.text("clasp_queue_seconds", "From a request's arrival to its turn");
    text += between_tokens_.text("clasp_inter_token_seconds", "Between two tokens of an answer");
    text += head("clasp_stage_seconds", "histogram", "Parts of answers");
    for (const auto& [stage, histogram] : stages_)
        text += histogram.lines("clasp_stage_seconds", "stage=\"" + stage + "\"");
    text += whole_.text("clasp_request_seconds", "From a request's arrival to its last token");
    return text;
}

}  // namespace clasp::serve
