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
constexpr std::size_t kMaxLineBytes = std::size_t{1} << 20U;

Status system_error(const std::string& path, const char* what) {
    return {Code::Unavailable,
            base::path_in_quotes(path) + ": " + what + ": " + std::generic_category().message(errno)};
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
    const nlohmann::ordered_json json = {
        {"question_id", record.item},    {"method", record.method},
        {"budget", record.budget},       {"text", record.text},
        {"class", record.class_id},      {"average_tokens", record.average_tokens},
        {"generated", record.generated}, {"stopped_at_limit", record.stopped_at_limit},
        {"ms", record.total_ms},         {"label", record.label},
        {"variant", record.variant}};
    return base::dump_json(json) + "\n";
}

Result<AnswerRecord> parse_record(std::string_view line) {
    CLASP_ASSIGN_OR_RETURN(const nlohmann::json json, base::parse_json(line, {.max_bytes = kMaxLineBytes}));
    AnswerRecord record;
    try {
        json.at("question_id").get_to(record.item);
        json.at("method").get_to(record.method);
        json.at("budget").get_to(record.budget);
        json.at("text").get_to(record.text);
        json.at("class").get_to(record.class_id);
        json.at("average_tokens").get_to(record.average_tokens);
        json.at("generated").get_to(record.generated);
        json.at("stopped_at_limit").get_to(record.stopped_at_limit);
        json.at("ms").get_to(record.total_ms);
        json.at("label").get_to(record.label);
        json.at("variant").get_to(record.variant);
    } catch (const nlohmann::json::exception&) {
        return Status(Code::Corrupt, "not a record of an answer");
    }
    return record;
}

Result<RecordTable> read_records(const std::string& path) {
    RecordTable table;
    auto text = base::read_file(path, kMaxFileBytes);
    if (!text) {
        if (text.status().code() == Code::NotFound) return table;
        return text.status();
    }
    std::size_t number = 0;
    for (std::size_t at = 0; at < text->size();) {
        const std::size_t end = text->find('\n', at);
        if (end == std::string::npos) break;  // cut short by a kill
        ++number;
        auto record = parse_record(std::string_view(*text).substr(at, end - at));
        if (!record) {
            return record.status().with_context(base::path_in_quotes(path) + " line " +
                                                std::to_string(number));
        }
        at = end + 1;
        std::string variant = record->variant;
        std::string item = record->item;
        table[std::move(variant)].insert_or_assign(std::move(item), std::move(record).value());
    }
    return table;
}

Status merge_records(const RecordTable& from, RecordTable& into) {
    for (const auto& [key, records] : from) {
        auto& target = into[key];
        for (const auto& [item, record] : records) {
            const auto [known, is_new] = target.emplace(item, record);
            if (!is_new && known->second.text != record.text) {
                return {Code::InvalidArgument,
                        "question " + base::in_quotes(item) + " has two answers of " +
                            base::in_quotes(record.label) + " at budget " + record.budget + ": " +
                            base::in_quotes(known->second.text) + " and " + base::in_quotes(record.text)};
            }
        }
    }
    return ok_status();
}

Result<ResultsWriter> ResultsWriter::open(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0) return system_error(path, "cannot be opened");
    ResultsWriter writer(file, path);
    if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
        return Status(Code::Unavailable, base::path_in_quotes(path) + " is being written by another run");
    }
    CLASP_ASSIGN_OR_RETURN(const off_t length, whole_lines(file, path));
    if (::ftruncate(file, length) != 0) return system_error(path, "cannot be cut");
    return writer;
}

ResultsWriter::~ResultsWriter() {
    if (file_ >= 0) ::close(file_);
}

ResultsWriter::ResultsWriter(ResultsWriter&& other) noexcept
    : file_(std::exchange(other.file_, -1)), path_(std::move(other.path_)) {}

Status ResultsWriter::append(const AnswerRecord& record) {
    const std::string line = to_json_line(record);
    std::string_view rest = line;
    while (!rest.empty()) {  // one write unless a signal or a full disk interferes
        const ssize_t n = ::write(file_, rest.data(), rest.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return system_error(path_, "cannot be written");
        rest.remove_prefix(static_cast<std::size_t>(n));
    }
    return ok_status();
}

}  // namespace clasp::eval
