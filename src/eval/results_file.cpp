#include "eval/results_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

namespace clasp::eval {

namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{4} << 30U;

Status system_error(const std::string& path, const char* what) {
    return {Code::Unavailable,
            base::path_in_quotes(path) + ": " + what + ": " + std::generic_category().message(errno)};
}

// A question is answered once. The same answer again does no harm.
Status check_same_answer(const AnswerRecord& first, const AnswerRecord& second) {
    if (first.text == second.text) return ok_status();
    return {Code::InvalidArgument, "question " + base::in_quotes(first.item) + " has two answers of " +
                                       base::in_quotes(first.label) + " at budget " +
                                       base::in_quotes(first.budget) + ": " + base::in_quotes(first.text) +
                                       " and " + base::in_quotes(second.text)};
}

// Whether the path still names the open file.
bool is_in_place(int file, const std::string& path) {
    struct stat held = {};
    struct stat named = {};
    return ::fstat(file, &held) == 0 && ::stat(path.c_str(), &named) == 0 && held.st_dev == named.st_dev &&
           held.st_ino == named.st_ino;
}

// Length of the part that ends with a newline, looking back from the end.
Result<off_t> whole_lines(int file, const std::string& path) {
    struct stat info = {};
    if (::fstat(file, &info) != 0) return system_error(path, "cannot be examined");
    std::array<char, 4096> block = {};
    off_t end = info.st_size;
    while (end > 0) {
        const off_t begin = std::max<off_t>(0, end - static_cast<off_t>(block.size()));
        const ssize_t n = ::pread(file, block.data(), static_cast<std::size_t>(end - begin), begin);
        if (n != end - begin) return system_error(path, "cannot be read");
        for (ssize_t i = n; i > 0; --i) {
            if (block[static_cast<std::size_t>(i - 1)] == '\n') return begin + i;
        }
        end = begin;
    }
    return off_t{0};
}

}  // namespace

std::string to_json_line(const AnswerRecord& record) {
    const base::Json json = {{"question_id", record.item},      {"method", record.method},
                             {"budget", record.budget},         {"text", record.text},
                             {"class", record.class_id},        {"average_tokens", record.average_tokens},
                             {"generated", record.generated},   {"stopped_at_limit", record.stopped_at_limit},
                             {"encode_ms", record.encode_ms},   {"own_encoder", record.has_own_encoder},
                             {"prefill_ms", record.prefill_ms}, {"decode_ms", record.decode_ms},
                             {"label", record.label},           {"variant", record.variant}};
    return base::dump_json(json) + "\n";
}

Result<AnswerRecord> parse_record(std::string_view line) {
    CLASP_ASSIGN_OR_RETURN(const base::Json json, base::parse_json(line, {.max_bytes = kMaxRecordBytes}));
    AnswerRecord record;
    const bool is_record =
        json["question_id"].get_to(record.item) && json["method"].get_to(record.method) &&
        json["budget"].get_to(record.budget) && json["text"].get_to(record.text) &&
        json["class"].get_to(record.class_id) && json["average_tokens"].get_to(record.average_tokens) &&
        json["generated"].get_to(record.generated) &&
        json["stopped_at_limit"].get_to(record.stopped_at_limit) &&
        json["encode_ms"].get_to(record.encode_ms) && json["own_encoder"].get_to(record.has_own_encoder) &&
        json["prefill_ms"].get_to(record.prefill_ms) && json["decode_ms"].get_to(record.decode_ms) &&
        json["label"].get_to(record.label) && json["variant"].get_to(record.variant);
    if (!is_record) return Status(Code::Corrupt, "not a record of an answer");
    return record;
}

Result<RecordTable> parse_records(std::string_view text) {
    RecordTable table;
    std::size_t number = 0;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        if (end == std::string_view::npos) break;  // cut short by a kill
        ++number;
        const std::string where = "line " + std::to_string(number);
        const auto record = parse_record(text.substr(0, end));
        if (!record) return record.status().with_context(where);
        text.remove_prefix(end + 1);
        const auto [first, is_new] = table[record->variant].emplace(record->item, *record);
        if (!is_new) CLASP_RETURN_IF_ERROR(check_same_answer(first->second, *record).with_context(where));
    }
    return table;
}

Result<RecordTable> read_records(const std::string& path) {
    const auto text = base::read_file(path, kMaxFileBytes);
    if (!text && text.status().code() == Code::NotFound) return RecordTable{};
    if (!text) return text.status();
    auto table = parse_records(*text);
    if (!table) return table.status().with_context(base::path_in_quotes(path));
    return table;
}

Status merge_records(const RecordTable& from, RecordTable& into) {
    for (const auto& [key, records] : from) {
        auto& target = into[key];
        for (const auto& [item, record] : records) {
            const auto [known, is_new] = target.emplace(item, record);
            if (!is_new) CLASP_RETURN_IF_ERROR(check_same_answer(known->second, record));
        }
    }
    return ok_status();
}

Result<ResultsWriter> ResultsWriter::open(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0) return system_error(path, "cannot be opened");
    ResultsWriter writer(file, path);
    if (::flock(file, LOCK_EX | LOCK_NB) != 0 || !is_in_place(file, path)) {
        return Status(Code::Unavailable, base::path_in_quotes(path) + " is being written by another run");
    }
    CLASP_ASSIGN_OR_RETURN(const off_t length, whole_lines(file, path));
    if (::ftruncate(file, length) != 0) return system_error(path, "cannot be cut");
    writer.length_ = length;
    return writer;
}

ResultsWriter::~ResultsWriter() {
    if (file_ < 0) return;
    if (length_ == 0) ::unlink(path_.c_str());
    ::close(file_);
}

ResultsWriter::ResultsWriter(ResultsWriter&& other) noexcept
    : file_(std::exchange(other.file_, -1)), path_(std::move(other.path_)), length_(other.length_) {}

Status ResultsWriter::append(const AnswerRecord& record) {
    const std::string line = to_json_line(record);
    if (line.size() - 1 > kMaxRecordBytes) {
        return {Code::TooLarge, "the answer to question " + base::in_quotes(record.item) +
                                    " makes a line of " + std::to_string(line.size() - 1) + " bytes in " +
                                    base::path_in_quotes(path_) + ", more than the limit of " +
                                    std::to_string(kMaxRecordBytes)};
    }
    std::string_view rest = line;
    while (!rest.empty()) {  // one write unless a signal or a full disk interferes
        const ssize_t n = ::write(file_, rest.data(), rest.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            Status failure = system_error(path_, "cannot be written");
            // The part of a line that is there goes; if not even that works, the next reader leaves it out.
            static_cast<void>(::ftruncate(file_, length_) == 0);
            return failure;
        }
        rest.remove_prefix(static_cast<std::size_t>(n));
    }
    length_ += static_cast<std::int64_t>(line.size());
    return ok_status();
}

}  // namespace clasp::eval
