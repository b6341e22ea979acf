#include "engine/decoder_times.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/little_endian.h"
#include "base/sha256.h"
#include "engine/key_hash.h"
#include "engine/measure_decoder.h"

namespace clasp::engine {

namespace {

constexpr std::size_t kMaxTimesBytes = 4096;

Status damaged_times(const char* what) {
    return {Code::Corrupt, std::string("kept times of a decoder: ") + what};
}

bool is_time(double ms) {
    return std::isfinite(ms) && ms >= 0.0;
}

}  // namespace

std::string serialise_times(const std::string& key, const DecoderTimings& timings) {
    std::string out(kTimesMagic);
    out += key;
    base::put_u64(out, std::bit_cast<std::uint64_t>(timings.layer_ms));
    base::put_u64(out, std::bit_cast<std::uint64_t>(timings.token_ms));
    const base::Digest digest = base::sha256(base::as_bytes(out));
    out.append(reinterpret_cast<const char*>(digest.data()), digest.size());
    return out;
}

Result<DecoderTimings> parse_times(const std::string& key, std::string_view bytes) {
    if (!bytes.starts_with(kTimesMagic)) return damaged_times("not a file of them");
    const std::size_t n_body = kTimesMagic.size() + key.size() + 2 * sizeof(std::uint64_t);
    if (bytes.size() != n_body + sizeof(base::Digest)) return damaged_times("the size is wrong");
    const base::Digest digest = base::sha256(base::as_bytes(bytes.substr(0, n_body)));
    if (std::memcmp(digest.data(), bytes.data() + n_body, digest.size()) != 0) {
        return damaged_times("the checksum does not match");
    }
    std::string_view rest = bytes.substr(kTimesMagic.size());
    if (!rest.starts_with(key)) return damaged_times("the file belongs to another model or machine");
    rest.remove_prefix(key.size());
    DecoderTimings timings;
    timings.layer_ms = std::bit_cast<double>(base::take_u64(rest).value_or(0));
    timings.token_ms = std::bit_cast<double>(base::take_u64(rest).value_or(0));
    if (!is_time(timings.layer_ms) || !is_time(timings.token_ms) || timings.token_ms == 0.0) {
        return damaged_times("a time is none");
    }
    return timings;
}

DecoderTimes::DecoderTimes(TimesPlace place, LogSink log)
    : folder_(std::move(place.folder)), log_(std::move(log)) {
    KeyHash hash("times of a decoder");
    hash.add(place.conditions);
    key_ = hash.finish();
    path_ = folder_ + "/" + key_ + std::string(kTimesSuffix);
}

std::optional<DecoderTimings> DecoderTimes::find() {
    const std::lock_guard lock(mutex_);
    if (!times_ && !has_looked_ && !folder_.empty()) read_file();
    return times_;
}

void DecoderTimes::want() {
    const std::lock_guard lock(mutex_);
    is_wanted_ = true;
}

bool DecoderTimes::is_due() const {
    const std::lock_guard lock(mutex_);
    return is_wanted_ && !times_ && !has_tried_;
}

void DecoderTimes::measure(const std::shared_ptr<const model::TextModel>& text, const DecoderShape& shape,
                           Executor& executor) {
    {
        const std::lock_guard lock(mutex_);
        if (!is_wanted_ || times_ || has_tried_) return;
        has_tried_ = true;
    }
    // Requests are planned meanwhile; they do not wait for it.
    const auto measured = measure_decoder(text, shape, executor);
    if (!measured.ok()) {
        log(log_, LogLevel::Warning, measured.status().with_context("timing the decoder").message());
        return;
    }
    const std::lock_guard lock(mutex_);
    ++n_measured_;
    times_ = *measured;
    if (!folder_.empty()) write_file();
}

std::size_t DecoderTimes::n_measured() const {
    const std::lock_guard lock(mutex_);
    return n_measured_;
}

void DecoderTimes::read_file() {
    has_looked_ = true;
    const auto bytes = base::read_file(path_, kMaxTimesBytes);
    if (!bytes.ok()) {
        if (bytes.status().code() != Code::NotFound) log(log_, LogLevel::Warning, bytes.status().message());
        return;
    }
    const auto times = parse_times(key_, *bytes);
    if (times.ok()) {
        times_ = *times;
        return;
    }
    log(log_, LogLevel::Warning, times.status().with_context(path_).message() + "; they are measured again");
}

void DecoderTimes::write_file() const {
    std::error_code error;
    std::filesystem::create_directories(folder_, error);  // the write says what is wrong with it
    const Status written = base::write_file_atomic(path_, serialise_times(key_, *times_));
    if (!written.ok()) log(log_, LogLevel::Warning, written.message());
}

}  // namespace clasp::engine
